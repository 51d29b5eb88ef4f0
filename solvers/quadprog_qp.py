"""quadprog: the dual active set method of Goldfarb, Idnani (1983), on dense matrices. GPL 2.

    min 1/2 x'Gx - a'x   subject to   C'x >= b, the first `meq` rows with equality

It needs G positive definite, which no matrix here is: r times the identity is added, and the answer is that of the
changed program, off by r/2 ||x||^2. With less of it, rounding in the factors of G costs more than that. So r grows with
G: r = ridge max(1, max_i G_ii / 1000).
One rung: the method ends at a vertex and has no tolerance.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from marginbench.harness.model.adapters import Adapter
from marginbench.harness.model.needs import Need, dense_need
from marginbench.harness.model.programs import Program, QuadraticProgram
from marginbench.harness.model.solver import Iterate


@dataclass(frozen=True)
class QuadprogQp(Adapter):
    """ridge: added to the diagonal of P, times a thousandth of its largest entry where that is above 1."""

    ridge: float = 1e-8

    accepts = (QuadraticProgram,)
    requires: ClassVar = {"quadprog": "gpl"}
    licence = "GPL-2.0-or-later"
    restarts = True
    accuracy = 2e-3

    def needs(self, program: Program) -> Need | None:
        assert isinstance(program, QuadraticProgram)
        return dense_need(program.P, program.A)

    def iterates(self, program: Program) -> Iterator[Iterate]:
        import quadprog

        assert isinstance(program, QuadraticProgram)
        cone, S = program.conic()
        ridge = self.ridge * max(1.0, 1e-3 * float(program.P.diagonal().max()))
        G = program.P.toarray() + ridge * np.eye(program.q.size)
        try:
            x, _, _, iterations, z, _ = quadprog.solve_qp(G, -program.q, -cone.A.T.toarray(), -cone.b, cone.zero)
        except ValueError as error:
            said = str(error)
            yield Iterate(None, claim="infeasible" if "inconsistent" in said else "failed", said=said)
            return
        yield Iterate(
            x, S.T @ z, "converged", info={"library_iterations": int(iterations[0]), "settings": {"ridge": ridge}}
        )
