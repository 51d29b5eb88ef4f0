"""scikit-learn's Perceptron, one epoch at a time.

    visit the rows in random order, and where m_i <= 0: w <- w + y_i x_i

Done after an epoch that changed nothing: every row is then on its side. Without end on data that cannot be separated.
Its own stopping rule, of the progress of its training loss, plays no part: it says nothing about separation.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from marginbench.harness.model.adapters import Adapter
from marginbench.harness.model.programs import PerceptronLoss, Program, RegularisedRisk
from marginbench.harness.model.solver import Iterate


@dataclass(frozen=True)
class SklearnPerceptron(Adapter):
    """seed: of the order of the rows."""

    seed: int = 0

    accepts = (RegularisedRisk,)
    requires: ClassVar = {"sklearn": ""}
    licence = "BSD-3-Clause"

    def refuses(self, program: Program) -> str | None:
        assert isinstance(program, RegularisedRisk)
        if not isinstance(program.loss, PerceptronLoss) or program.loss.gamma != 0.0:
            return "scikit-learn's Perceptron has the perceptron criterion only, without a margin"
        if program.intercept:
            return "scikit-learn's Perceptron is given the bias as a constant feature (bias=augmented), not a free one"
        return None

    def iterates(self, program: Program) -> Iterator[Iterate]:
        from sklearn.linear_model import Perceptron

        assert isinstance(program, RegularisedRisk)
        model = Perceptron(fit_intercept=False, random_state=np.random.RandomState(self.seed))
        before, epochs = np.zeros(program.d), 0
        while True:
            model.partial_fit(program.X, program.y, classes=[-1.0, 1.0])
            w, epochs = model.coef_[0].copy(), epochs + 1
            rests = epochs > 1 and bool((w == before).all())
            yield Iterate(w, claim="converged" if rests else "", info={"epochs": epochs})
            if rests:
                return
            before = w
