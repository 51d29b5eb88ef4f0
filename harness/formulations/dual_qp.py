"""The soft-margin dual.

    max  sum_i alpha_i - 1/2 ||w(alpha)||^2,   0 <= alpha_i <= C_i   and, for a free bias, sum_i alpha_i y_i = 0

This is the canonical dual, with w = w(alpha). The squared hinge has no upper bound and loses sum_i alpha_i^2 / (4 C_i).
With a kernel, K_ij stands for x_i.x_j (`KernelDual`), plus s^2 where the bias is augmented.
Written with the Gram matrix implied (`BoxDual`) or formed (`QuadraticProgram`, n^2 numbers, billed as building time).
"""

from dataclasses import dataclass
from typing import ClassVar

from marginbench.harness.formulations.common import HARD, box_dual, dual_point, gram_program, kernel_dual
from marginbench.harness.model.formulation import Formulation, Lesson, Route
from marginbench.harness.model.kernel_dual import KernelDual
from marginbench.harness.model.needs import Need, gram_need, kernel_need
from marginbench.harness.model.problem import Point, Problem
from marginbench.harness.model.programs import BoxDual, Program, QuadraticProgram
from marginbench.harness.model.solver import Iterate


@dataclass(frozen=True)
class DualQP(Formulation):
    gives: ClassVar[tuple[type[Program], ...]] = (BoxDual, QuadraticProgram)
    gives_with_kernel: ClassVar[tuple[type[Program], ...]] = (KernelDual, QuadraticProgram)
    route: ClassVar[Route | None] = Route("dual", 10, (BoxDual, QuadraticProgram))
    lesson = Lesson(
        11, "One multiplier after the other, each within its box: every point on the way has a gap that is a proof."
    )

    def refuses(self, problem: Problem) -> str | None:
        return HARD if problem.hard else None

    def needs(self, problem: Problem, kind: type[Program]) -> Need | None:
        if problem.kernel is not None:
            return kernel_need(problem.n, problem.bias == "augmented", kind is QuadraticProgram)
        return gram_need(problem.X, problem.bias == "augmented") if kind is QuadraticProgram else None

    def program(self, problem: Problem, kind: type[Program]) -> Program:
        dual = (box_dual if problem.kernel is None else kernel_dual)(problem, problem.upper, problem.curvature)
        return gram_program(dual) if kind is QuadraticProgram else dual

    def point(self, problem: Problem, program: Program, iterate: Iterate) -> Point:
        return dual_point(problem, program, iterate)
