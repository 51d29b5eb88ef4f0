"""scikit-learn's SGDClassifier: stochastic subgradient descent with the step 1 / (alpha (t0 + t)). Bottou (2010).

    min alpha/2 ||w||^2 + 1/n sum_i v_i h(m_i),   alpha = lam / sum_i weight_i,  v_i = n weight_i / sum_i weight_i

so that alpha = 1 / (C n) where all weights are C. A ladder: one cold solve per tolerance of the progress of its
training loss: "converged" means that it did not fall by so much for five epochs. Its bias is free.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from marginbench.harness.model.adapters import RiskLadder, words
from marginbench.harness.model.programs import Hinge, Program, RegularisedRisk, SquaredHinge
from marginbench.harness.model.solver import Iterate


@dataclass(frozen=True)
class SklearnSgd(RiskLadder):
    """tolerances: the rungs; 1e-3 is the library's own default. max_iter: epochs of each rung; its own default is 1000.
    average: the mean of all w instead of the last. seed: of the order of the rows."""

    tolerances: Sequence[float] = (1e-3, 1e-4, 1e-5, 1e-6)
    max_iter: int = 10_000
    average: bool = False
    seed: int = 0

    requires: ClassVar = {"sklearn": ""}
    licence = "BSD-3-Clause"
    accuracy = 1e-1
    name, losses, bias = "SGDClassifier", (Hinge, SquaredHinge), ""

    def solve(self, program: Program, tolerance: float) -> Iterate:
        from sklearn.linear_model import SGDClassifier

        assert isinstance(program, RegularisedRisk)
        total = float(program.weight.sum())
        model = SGDClassifier(
            loss="hinge" if isinstance(program.loss, Hinge) else "squared_hinge",
            alpha=program.lam / total,
            fit_intercept=program.intercept,
            max_iter=self.max_iter,
            tol=tolerance,
            average=self.average,
            random_state=self.seed,
        )
        with warnings.catch_warnings(record=True, action="always") as heard:
            model.fit(program.X, program.y, sample_weight=program.weight * (program.n / total))
        return Iterate(
            np.append(model.coef_[0], model.intercept_[0]) if program.intercept else model.coef_[0],
            claim="limit" if heard else "converged",
            said=words(heard),
            info={"library_iterations": int(model.n_iter_), "settings": model.get_params()},
        )
