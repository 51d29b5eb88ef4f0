"""skglm's LinearSVC: coordinate descent with working sets and Anderson extrapolation. Bertrand and others (2022).

    max sum_i a_i - 1/2 ||w(a)||^2,   0 <= a_i <= C,   C = weight / lam, one for all rows

A ladder: one cold solve per tolerance.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from marginbench.harness.model.adapters import RiskLadder, words
from marginbench.harness.model.programs import Hinge, Program, RegularisedRisk
from marginbench.harness.model.solver import Iterate


@dataclass(frozen=True)
class SkglmSvc(RiskLadder):
    """tolerances: the rungs; 1e-4 is the library's own default. max_iter: of working sets in each rung."""

    tolerances: Sequence[float] = (1e-4, 1e-6, 1e-8, 1e-10)
    max_iter: int = 10_000

    requires: ClassVar = {"skglm": "peers"}
    licence = "BSD-3-Clause"
    name, losses, sample_weights = "skglm's LinearSVC", (Hinge,), False

    def warm_up(self, program: Program) -> None:
        """On two rows of the data: a matrix of one column, or of another layout, is another type to its compiler."""
        assert isinstance(program, RegularisedRisk)
        y = np.array([1.0, -1.0])[: program.n]
        self.solve(replace(program.head(2), y=y), self.tolerances[0])

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
            words(heard),
            {"library_iterations": int(model.n_iter_)},
        )
