"""QPALM: a proximal augmented Lagrangian method with semismooth Newton steps. Hermans, Themelis, Patrinos (2022).

    min 1/2 x'Qx + q'x   subject to   bmin <= Ax <= bmax

A ladder: one cold solve per tolerance, absolute and relative. Its tests of infeasibility get a hundredth of it: with
their default, 1e-5, it calls a primal with C = 1e4 infeasible, because multipliers grow to C.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from marginbench.harness.model.adapters import Ladder
from marginbench.harness.model.programs import Program, QuadraticProgram
from marginbench.harness.model.solver import Iterate


@dataclass(frozen=True)
class QpalmQp(Ladder):
    """tolerances: the rungs; 1e-4 is the library's own default, and beyond 1e-3 a point is too infeasible to count."""

    tolerances: Sequence[float] = (1e-4, 1e-6, 1e-8, 1e-10)

    accepts = (QuadraticProgram,)
    requires: ClassVar = {"qpalm": "qp"}
    licence = "LGPL-3.0"
    claims: ClassVar = {
        "solved": "converged",
        "maximum iterations reached": "limit",
        "primal infeasible": "infeasible",
        "dual infeasible": "unbounded",
    }

    def solve(self, program: Program, tolerance: float) -> Iterate:
        import qpalm

        assert isinstance(program, QuadraticProgram)
        m, n = program.A.shape
        data, settings = qpalm.Data(n, m), qpalm.Settings()
        data.Q, data.q, data.A = sp.csc_matrix(program.P), program.q, sp.csc_matrix(program.A)
        data.bmin, data.bmax = np.maximum(program.l, -1e20), np.minimum(program.u, 1e20)  # its infinity
        settings.eps_abs = settings.eps_rel = tolerance
        settings.eps_prim_inf = settings.eps_dual_inf = 1e-2 * tolerance
        settings.verbose = False
        solver = qpalm.Solver(data, settings)
        solver.solve()
        said = solver.info.status
        info = {"library_iterations": solver.info.iter, "library_seconds": solver.info.run_time}
        claim, x, z = self.claims.get(said), solver.solution.x, solver.solution.y
        x = solver.dual_inf_certificate if claim == "unbounded" else x
        z = solver.prim_inf_certificate if claim == "infeasible" else z
        return self.answer(said, np.array(x), np.array(z), info)
