"""QTQP: a primal-dual interior point method written in Python. O'Donoghue and others (2025).

    min 1/2 x'Px + c'x   subject to   Ax + s = b,  s = 0 in the first z rows, s >= 0 in the others

A ladder: one cold solve per tolerance, of feasibility and of both gaps.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import scipy.sparse as sp

from marginbench.harness.model.adapters import Ladder
from marginbench.harness.model.programs import Program, QuadraticProgram
from marginbench.harness.model.solver import Iterate


@dataclass(frozen=True)
class QtqpQp(Ladder):
    """tolerances: the rungs; 1e-8 is the library's own default."""

    tolerances: Sequence[float] = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12)

    accepts = (QuadraticProgram,)
    requires: ClassVar = {"qtqp": "qp"}
    licence = "Apache-2.0"
    claims: ClassVar = {
        "solved": "converged",
        "almost_solved": "inaccurate",
        "hit_max_iter": "limit",
        "infeasible": "infeasible",
        "unbounded": "unbounded",
    }

    def solve(self, program: Program, tolerance: float) -> Iterate:
        import qtqp

        assert isinstance(program, QuadraticProgram)
        cone, S = program.conic()
        A, P = sp.csc_matrix(cone.A), sp.csc_matrix(program.P)
        solution = qtqp.QTQP(a=A, b=cone.b, c=cone.c, z=cone.zero, p=P).solve(
            tol_feas=tolerance, tol_gap_abs=tolerance, tol_gap_rel=tolerance, verbose=False
        )
        info = {"library_iterations": solution.iterations}
        return self.answer(solution.status.value, solution.x, S.T @ solution.y, info)
