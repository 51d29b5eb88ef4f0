"""Clarabel by its own interface: a primal-dual interior point method. Goulart, Chen (2024).

    min 1/2 x'Px + q'x   subject to   Ax + s = b,  s in a cone;   Px + q + A'z = 0,  z in the dual cone

A ladder: one cold solve per tolerance, which is used for feasibility and for both gaps.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from marginbench.harness.model.adapters import Ladder
from marginbench.harness.model.programs import ConeProgram, Program, QuadraticProgram
from marginbench.harness.model.solver import Iterate


@dataclass(frozen=True)
class ClarabelQp(Ladder):
    """tolerances: the rungs; 1e-8 is the library's own default."""

    tolerances: Sequence[float] = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12)

    accepts = (QuadraticProgram, ConeProgram)
    requires: ClassVar = {"clarabel": ""}
    licence = "Apache-2.0"
    claims: ClassVar = {
        "Solved": "converged",
        "AlmostSolved": "inaccurate",
        "InsufficientProgress": "inaccurate",
        "MaxIterations": "limit",
        "PrimalInfeasible": "infeasible",
        "AlmostPrimalInfeasible": "infeasible",
        "DualInfeasible": "unbounded",
        "AlmostDualInfeasible": "unbounded",
    }

    def solve(self, program: Program, tolerance: float) -> Iterate:
        import clarabel

        assert isinstance(program, QuadraticProgram | ConeProgram)
        P, (cone, S) = sp.csc_array(sp.triu(program.P)), program.conic()
        cones = [clarabel.ZeroConeT(cone.zero), clarabel.NonnegativeConeT(cone.nonnegative)]
        cones += [clarabel.SecondOrderConeT(size) for size in cone.cones]
        settings = clarabel.DefaultSettings()
        settings.tol_feas = settings.tol_gap_abs = settings.tol_gap_rel = tolerance
        settings.max_threads = 1
        settings.verbose = False
        solution = clarabel.DefaultSolver(P, cone.c, cone.A, cone.b, cones, settings).solve()
        info = {"library_iterations": solution.iterations, "library_seconds": solution.solve_time}
        return self.answer(str(solution.status), solution.x, S.T @ np.array(solution.z), info)
