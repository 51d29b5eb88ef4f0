"""QOCO: a primal-dual interior point method for second-order cone programs. Chari, Acikmese (2025).

    min 1/2 x'Px + c'x   subject to   Ax = b,  Gx + s = h,  s in a cone;   Px + c + A'y + G'z = 0,  z in the same cone

A ladder: one cold solve per tolerance, absolute and relative. It knows no certificates of infeasibility.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from marginbench.harness.model.adapters import Ladder
from marginbench.harness.model.programs import ConeProgram, Program, QuadraticProgram
from marginbench.harness.model.solver import Iterate


@dataclass(frozen=True)
class QocoQp(Ladder):
    """tolerances: the rungs; 1e-7 is the library's own default."""

    tolerances: Sequence[float] = (1e-4, 1e-7, 1e-9, 1e-11)

    accepts = (QuadraticProgram, ConeProgram)
    requires: ClassVar = {"qoco": "qp"}
    licence = "BSD-3-Clause"
    claims: ClassVar = {
        "QOCO_SOLVED": "converged",
        "QOCO_SOLVED_INACCURATE": "inaccurate",
        "QOCO_MAX_ITER": "limit",
    }

    def solve(self, program: Program, tolerance: float) -> Iterate:
        import qoco

        assert isinstance(program, QuadraticProgram | ConeProgram)
        cone, S = program.conic()
        k, rows = cone.zero, cone.A.tocsr()
        settings = {"abstol": tolerance, "reltol": tolerance, "verbose": 0}
        solver = qoco.QOCO()
        solver.setup(
            cone.c.size,
            cone.b.size - k,
            k,
            some(sp.csc_matrix(program.P)),
            cone.c,
            some(sp.csc_matrix(rows[:k])),
            cone.b[:k],
            some(sp.csc_matrix(rows[k:])),
            cone.b[k:],
            cone.nonnegative,
            len(cone.cones),
            np.array(cone.cones, np.int32),
            **settings,
        )
        found = solver.solve()
        info = {
            "library_iterations": found.iters,
            "library_seconds": found.setup_time_sec + found.solve_time_sec,
            "settings": settings,
        }
        z = np.concatenate([np.array(found.y)[:k], np.array(found.z)])
        return self.answer(found.status, np.array(found.x), S.T @ z, info)


def some(M: Any) -> Any:
    """It takes None for a matrix of zeros."""
    return M if M.nnz else None
