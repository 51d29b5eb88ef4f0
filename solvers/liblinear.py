"""LIBLINEAR through scikit-learn: Fan, Chang, Hsieh, Wang, Lin (2008), solvers 3, 1 (dual) and 2 (primal).

    min 1/2 ||w||^2 + sum_i C_i h(m_i),   C_i = weight_i / lam

A ladder over its stopping tolerance, with no limit on iterations that matters. The bias is never its own: an augmented
one is a column of X already. It does not return its multipliers: w is all there is.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from marginbench.harness.model.adapters import RiskLadder, words
from marginbench.harness.model.programs import Hinge, Program, RegularisedRisk, SquaredHinge
from marginbench.harness.model.solver import Iterate


@dataclass(frozen=True)
class Liblinear(RiskLadder):
    """tolerances: the rungs; 0.1 is LIBLINEAR's own default in the dual, 1e-4 scikit-learn's. seed: of the order of
    the coordinates. dual: coordinate descent in the dual; without, a trust region method, for the squared hinge."""

    tolerances: Sequence[float] = (1e-1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8, 1e-10)
    max_iter: int = 2_000_000_000
    dual: bool = True
    seed: int = 0

    requires: ClassVar = {"sklearn": ""}
    licence = "BSD-3-Clause"
    name, losses, bias = "LIBLINEAR", (Hinge, SquaredHinge), "penalises its bias"

    def refuses(self, program: Program) -> str | None:
        assert isinstance(program, RegularisedRisk)
        if isinstance(program.loss, Hinge) and not self.dual:
            return "LIBLINEAR's primal method needs the squared hinge"
        return super().refuses(program)

    def solve(self, program: Program, tolerance: float) -> Iterate:
        from sklearn.svm import LinearSVC

        assert isinstance(program, RegularisedRisk)
        model = LinearSVC(
            loss="hinge" if isinstance(program.loss, Hinge) else "squared_hinge",
            dual=self.dual,
            tol=tolerance,
            max_iter=self.max_iter,
            fit_intercept=False,
            random_state=self.seed,
        )
        with warnings.catch_warnings(record=True, action="always") as heard:
            model.fit(program.X, program.y, sample_weight=program.weight / program.lam)
        return Iterate(
            model.coef_[0],
            claim="limit" if heard else "converged",
            said=words(heard),
            info={"library_iterations": int(model.n_iter_)},
        )
