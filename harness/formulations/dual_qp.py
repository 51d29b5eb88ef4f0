"""The soft-margin dual.

    max  sum_i alpha_i - 1/2 ||w(alpha)||^2,   0 <= alpha_i <= C_i   and, for a free bias, sum_i alpha_i y_i = 0

This is the canonical dual, with w = w(alpha). The squared hinge has no upper bound and loses sum_i alpha_i^2 / (4 C_i).
Written with the Gram matrix implied (`BoxDual`) or formed (`QuadraticProgram`, n^2 numbers, billed as building time).
"""

from dataclasses import dataclass
from typing import ClassVar

from marginbench.harness.formulations.common import HARD, box_dual, dual_point, gram_program
from marginbench.harness.model.formulation import Formulation, Route
from marginbench.harness.model.problem import Point, Problem
from marginbench.harness.model.programs import BoxDual, Program, QuadraticProgram
from marginbench.harness.model.solver import Iterate


@dataclass(frozen=True)
class DualQP(Formulation):
    gives: ClassVar[tuple[type[Program], ...]] = (BoxDual, QuadraticProgram)
    route: ClassVar[Route | None] = Route("dual", 10, (BoxDual, QuadraticProgram))

    def refuses(self, problem: Problem) -> str | None:
        return HARD if problem.hard else None

    def program(self, problem: Problem, kind: type[Program]) -> Program:
        box = box_dual(problem, problem.upper, problem.curvature)
        return box if kind is BoxDual else gram_program(box)

    def point(self, problem: Problem, program: Program, iterate: Iterate) -> Point:
        return dual_point(problem, program, iterate)
