"""The hard-margin dual.

    max  sum_i alpha_i - 1/2 ||w(alpha)||^2,   alpha_i >= 0   and, for a free bias, sum_i alpha_i y_i = 0

This is the canonical dual at C = inf. Unbounded iff the classes are not separable: alpha then grows along a ray with
w(ray) = 0, and mu = alpha / sum alpha tends to the weights of a point that both hulls share.
Written with the Gram matrix implied (`BoxDual`) or formed (`QuadraticProgram`).
"""

from dataclasses import dataclass
from typing import ClassVar

from marginbench.harness.formulations.common import (
    HardMargin,
    as_certificate,
    box_dual,
    dual_point,
    gram_program,
    hard_margin,
    vector,
)
from marginbench.harness.model.formulation import Lesson, Route
from marginbench.harness.model.needs import Need, gram_need
from marginbench.harness.model.problem import Array, Point, Problem
from marginbench.harness.model.programs import BoxDual, Program, QuadraticProgram
from marginbench.harness.model.solver import Iterate


@dataclass(frozen=True)
class HardDualQP(HardMargin):
    gives: ClassVar[tuple[type[Program], ...]] = (BoxDual, QuadraticProgram)
    route: ClassVar[Route | None] = Route("dual", 11, (BoxDual, QuadraticProgram))
    lesson = Lesson(5, "Only the rows on the edge of the margin have a multiplier: the others could be taken away.")

    def needs(self, problem: Problem, kind: type[Program]) -> Need | None:
        return gram_need(problem.X, problem.bias == "augmented") if kind is QuadraticProgram else None

    def program(self, problem: Problem, kind: type[Program]) -> Program:
        hard = hard_margin(problem)
        box = box_dual(problem, hard.upper, hard.curvature)
        return box if kind is BoxDual else gram_program(box)

    def point(self, problem: Problem, program: Program, iterate: Iterate) -> Point:
        return dual_point(problem, program, iterate)

    def infeasibility(self, problem: Problem, program: Program, iterate: Iterate) -> Array | None:
        return None if iterate.x is None else as_certificate(vector("alpha", iterate.x, problem.n))
