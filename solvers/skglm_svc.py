"""skglm's LinearSVC: coordinate descent with working sets and Anderson extrapolation. Bertrand and others (2022).

    max sum_i a_i - 1/2 ||w(a)||^2,   0 <= a_i <= C,   C = weight / lam, one for all rows

A ladder: one cold solve per tolerance.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from marginbench.harness.model.programs import Hinge, Program, RegularisedRisk
from marginbench.harness.model.solver import Iterate, Ladder


@dataclass(frozen=True)
class SkglmSvc(Ladder):
    """tolerances: the rungs; 1e-4 is the library's own default. max_iter: of working sets in each rung."""

    tolerances: Sequence[float] = (1e-2, 1e-4, 1e-6, 1e-8, 1e-10)
    max_iter: int = 10_000

    accepts = (RegularisedRisk,)
    requires: ClassVar = {"skglm": "peers"}

    def refuses(self, program: Program) -> str | None:
        assert isinstance(program, RegularisedRisk)
        if not isinstance(program.loss, Hinge):
            return "skglm's LinearSVC has the hinge only"
        if program.intercept:
            return "skglm's LinearSVC has no bias; the problem's is free"
        if np.ptp(program.weight) > 0:
            return "skglm's LinearSVC has no sample weights"
        if np.unique(program.y).size < 2:
            return "skglm needs both classes"
        return None

    def warm_up(self, program: Program) -> None:
        """It compiles one kernel for dense X and one for sparse."""
        X, y = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
        assert isinstance(program, RegularisedRisk)
        X = sp.csr_array(X) if sp.issparse(program.X) else X
        next(self.iterates(RegularisedRisk(X, y, 1.0, np.ones(2), Hinge())))

    def solve(self, program: Program, tolerance: float) -> Iterate:
        with warnings.catch_warnings(record=True, action="always") as heard:
            from skglm.estimators import LinearSVC

            assert isinstance(program, RegularisedRisk)
            C = float(program.weight[0] / program.lam)
            model = LinearSVC(C=C, tol=tolerance, max_iter=self.max_iter, fit_intercept=False)
            model.fit(program.X, program.y)
        return Iterate(
            np.ravel(model.coef_),
            np.ravel(model.dual_coef_),
            "converged" if model.stop_crit_ <= tolerance else "limit",
            "; ".join(str(warning.message) for warning in heard),
            {"tolerance": tolerance, "library_iterations": int(model.n_iter_)},
        )
