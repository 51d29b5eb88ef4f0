"""quadprog: the dual active set method of Goldfarb, Idnani (1983), on dense matrices. GPL 2.

    min 1/2 x'Gx - a'x   subject to   C'x >= b, the first `meq` rows with equality

It needs G positive definite, which no matrix here is: `ridge` times the identity is added, and the answer is that of
the changed program, off by ridge/2 ||x||^2. With less of it, rounding in the factors of G costs more than that.
One rung: the method ends at a vertex and has no tolerance.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from marginbench.harness.model.adapters import Adapter
from marginbench.harness.model.programs import Program, QuadraticProgram
from marginbench.harness.model.solver import Iterate


@dataclass(frozen=True)
class QuadprogQp(Adapter):
    """ridge: added to the diagonal of P."""

    ridge: float = 1e-8

    accepts = (QuadraticProgram,)
    requires: ClassVar = {"quadprog": "gpl"}
    restarts = True
    accuracy = 2e-3

    def iterates(self, program: Program) -> Iterator[Iterate]:
        import quadprog

        assert isinstance(program, QuadraticProgram)
        cone, S = program.conic()
        G = program.P.toarray() + self.ridge * np.eye(program.q.size)
        try:
            x, _, _, iterations, z, _ = quadprog.solve_qp(G, -program.q, -cone.A.T.toarray(), -cone.b, cone.zero)
        except ValueError as error:
            said = str(error)
            yield Iterate(None, claim="infeasible" if "inconsistent" in said else "failed", said=said)
            return
        yield Iterate(x, S.T @ z, "converged", info={"library_iterations": int(iterations[0])})
