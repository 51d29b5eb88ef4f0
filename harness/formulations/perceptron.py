"""The perceptron criterion.

    min  sum_i max(0, -m_i),   m_i = y_i w.x_i

No C, no regulariser, no map to the canonical optimum: the value is 0 when every row is on its side (and at w = 0,
the trivial minimiser, which counts as all mistakes because a mistake is m_i <= 0). What is judged is separation, on
the problem with C = inf. The perceptron learns b through the constant feature s, so that a free bias becomes an
augmented one: the mistake bound (R / gamma)^2 holds in that space.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from marginbench.harness.formulations.common import hard_margin, risk, risk_point
from marginbench.harness.model.formulation import Formulation, Lesson, Route
from marginbench.harness.model.problem import Point, Problem
from marginbench.harness.model.programs import PerceptronLoss, Program, RegularisedRisk
from marginbench.harness.model.solver import Iterate


@dataclass(frozen=True)
class Perceptron(Formulation):
    gives: ClassVar[tuple[type[Program], ...]] = (RegularisedRisk,)
    route: ClassVar[Route | None] = Route("risk", 23, (RegularisedRisk,))
    judge: ClassVar[str] = "separation"
    lesson = Lesson(1, "Any hyperplane that separates will do: the perceptron stops at the first that it meets.")

    def judged(self, problem: Problem) -> Problem:
        return hard_margin(problem).with_(bias="none" if problem.bias == "none" else "augmented")

    def program(self, problem: Problem, kind: type[Program]) -> RegularisedRisk:
        return risk(problem, 0.0, np.ones(problem.n), PerceptronLoss())

    def point(self, problem: Problem, program: Program, iterate: Iterate) -> Point:
        return risk_point(problem, iterate)
