"""DAQP: a dual active set method on dense matrices. Arnström, Bemporad, Axehill (2022).

    min 1/2 x'Hx + f'x   subject to   blower <= Ax <= bupper

A ladder: one cold solve per tolerance. A singular H is handled by the library's own proximal steps.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from marginbench.harness.model.adapters import Ladder
from marginbench.harness.model.needs import Need, dense_need
from marginbench.harness.model.programs import Program, QuadraticProgram
from marginbench.harness.model.solver import Iterate

EQUALITY = 5


@dataclass(frozen=True)
class DaqpQp(Ladder):
    """tolerances: the rungs, primal and dual; 1e-6 and 1e-12 are the library's own defaults. iter_limit: of each."""

    tolerances: Sequence[float] = (1e-6, 1e-9)
    iter_limit: int = 1_000_000

    accepts = (QuadraticProgram,)
    requires: ClassVar = {"daqp": "qp"}
    licence = "MIT"
    claims: ClassVar = {2: "inaccurate", 1: "converged", -1: "infeasible", -3: "unbounded", -4: "limit"}

    def needs(self, program: Program) -> Need | None:
        assert isinstance(program, QuadraticProgram)
        return dense_need(program.P, program.A)

    def solve(self, program: Program, tolerance: float) -> Iterate:
        import daqp

        assert isinstance(program, QuadraticProgram)
        x, _, flag, its = daqp.solve(
            program.P.toarray(),
            program.q,
            program.A.toarray(),
            np.minimum(program.u, 1e30),
            np.maximum(program.l, -1e30),
            np.where(program.l == program.u, EQUALITY, 0).astype(np.int32),
            primal_tol=tolerance,
            dual_tol=tolerance,
            iter_limit=self.iter_limit,
        )
        seconds = its["setup_time"] + its["solve_time"]
        info = {"library_iterations": its["iterations"], "library_seconds": seconds}
        return self.answer(flag, x, its["lam"], info, said=f"exit flag {flag}")
