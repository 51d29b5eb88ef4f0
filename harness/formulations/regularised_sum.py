"""The regularised sum of hinge losses.

    min  lam/2 ||w||^2 + sum_i weight_i max(0, 1 - m_i),   lam = 1 / C

The objective is P(w, b) / C, in the same (w, b).
"""

from dataclasses import dataclass
from typing import ClassVar

from marginbench.harness.formulations.common import HingeRisk, risk, sample_weight
from marginbench.harness.model.formulation import Lesson, Route
from marginbench.harness.model.lambdas import sum_lambda
from marginbench.harness.model.problem import Problem
from marginbench.harness.model.programs import Hinge, Program, RegularisedRisk


@dataclass(frozen=True)
class RegularisedSum(HingeRisk):
    lesson = Lesson(9, "The same once more, as a sum: lambda = 1 / C.")
    objective = "the regularised sum"
    route: ClassVar[Route | None] = Route("risk", 20, (RegularisedRisk,))

    def program(self, problem: Problem, kind: type[Program]) -> RegularisedRisk:
        return risk(problem, sum_lambda(problem.C), sample_weight(problem), Hinge())
