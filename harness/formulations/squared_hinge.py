"""The squared hinge, a problem of its own.

    min  1/2 ||w||^2 + sum_i C_i max(0, 1 - m_i)^2
    max  D(alpha) - sum_i alpha_i^2 / (4 C_i),   alpha_i >= 0   and, for a free bias, sum_i alpha_i y_i = 0

Both are the canonical pair of a problem with loss = squared_hinge, unscaled. Multipliers follow from the margins:
alpha_i = 2 C_i max(0, 1 - m_i).
"""

from dataclasses import dataclass
from typing import ClassVar

from marginbench.harness.formulations.common import HARD, box_dual, risk, smooth_point
from marginbench.harness.model import programs
from marginbench.harness.model.formulation import Formulation, Lesson, Route
from marginbench.harness.model.problem import Point, Problem
from marginbench.harness.model.programs import BoxDual, Program, RegularisedRisk
from marginbench.harness.model.solver import Iterate


@dataclass(frozen=True)
class SquaredHinge(Formulation):
    gives: ClassVar[tuple[type[Program], ...]] = (RegularisedRisk, BoxDual)
    route: ClassVar[Route | None] = Route("risk", 21, (RegularisedRisk,))
    lesson = Lesson(13, "Slack at the price of its square: another problem, with another hyperplane.")

    def refuses(self, problem: Problem) -> str | None:
        if problem.hard:
            return HARD
        if problem.loss != "squared_hinge":
            return "the squared hinge is another problem than the hinge: set problem.loss=squared_hinge"
        return None

    def program(self, problem: Problem, kind: type[Program]) -> Program:
        if kind is BoxDual:
            return box_dual(problem, problem.upper, problem.curvature)
        return risk(problem, 1.0, problem.penalty, programs.SquaredHinge())

    def point(self, problem: Problem, program: Program, iterate: Iterate) -> Point:
        return smooth_point(problem, program, iterate)
