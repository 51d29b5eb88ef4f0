"""The regularised sum of hinge losses.

    min  lam/2 ||w||^2 + sum_i weight_i max(0, 1 - m_i),   lam = 1 / C

The objective is P(w, b) / C, in the same (w, b).
"""

from dataclasses import dataclass
from typing import ClassVar

from marginbench.harness.formulations.common import needs_soft_hinge, risk, risk_point, sample_weight
from marginbench.harness.model.formulation import Formulation, Route
from marginbench.harness.model.problem import Point, Problem, sum_lambda
from marginbench.harness.model.programs import Hinge, Program, RegularisedRisk
from marginbench.harness.model.solver import Iterate


@dataclass(frozen=True)
class RegularisedSum(Formulation):
    gives: ClassVar[tuple[type[Program], ...]] = (RegularisedRisk,)
    route: ClassVar[Route | None] = Route("risk", 20, (RegularisedRisk,))

    def refuses(self, problem: Problem) -> str | None:
        return needs_soft_hinge(problem, "the regularised sum")

    def program(self, problem: Problem, kind: type[Program]) -> RegularisedRisk:
        return risk(problem, sum_lambda(problem.C), sample_weight(problem), Hinge())

    def point(self, problem: Problem, program: Program, iterate: Iterate) -> Point:
        return risk_point(problem, iterate)
