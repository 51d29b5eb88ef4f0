"""The perceptron with a margin: an update whenever m_i <= gamma, not only when the row is wrong.

    min  sum_i max(0, gamma - m_i),   m_i = y_i w.x_i

As for the perceptron there is no map to the canonical optimum; separation is judged, with mistakes counted at the
functional margin gamma. A larger gamma leaves a plane with a larger geometric margin.
"""

from dataclasses import dataclass

import numpy as np

from marginbench.harness.formulations.common import risk
from marginbench.harness.formulations.perceptron import Perceptron
from marginbench.harness.model.formulation import Lesson
from marginbench.harness.model.problem import InputError, Problem
from marginbench.harness.model.programs import PerceptronLoss, Program, RegularisedRisk


@dataclass(frozen=True)
class MarginPerceptron(Perceptron):
    lesson = Lesson(2, "Every row is to be a little beyond the hyperplane; it still stops at the first that will do.")
    gamma: float = 1.0

    def __post_init__(self) -> None:
        if not (0.0 < self.gamma < np.inf):
            raise InputError(f"formulation.gamma={self.gamma}: the margin must be a finite number above 0")

    def program(self, problem: Problem, kind: type[Program]) -> RegularisedRisk:
        return risk(problem, 0.0, np.ones(problem.n), PerceptronLoss(self.gamma))
