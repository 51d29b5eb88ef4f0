"""The smoothed hinge: the canonical problem with the hinge rounded off by a one-sided Huber function.

    min  1/2 ||w||^2 + sum_i C_i h(1 - m_i),   h(z) = 0 for z <= 0,  z^2 / (2 delta) for z <= delta,  z - delta/2 beyond
    max  D(alpha) - sum_i delta / (2 C_i) alpha_i^2,   0 <= alpha_i <= C_i (and sum_i alpha_i y_i = 0)

The same (w, b) and alpha as the canonical problem, on another function: hinge - delta/2 <= h <= hinge, hence
P(w_delta, b_delta) - P* <= delta/2 sum_i C_i. The answer is judged on the canonical problem, where that gap stays
however well this one is solved. Multipliers follow from the margins: alpha_i = C_i h'(1 - m_i), always in the box.

Of P at 0, which is sum_i C_i, that gap is delta/2. Who promises an accuracy is therefore given delta = accuracy: half
of it for the width, half for the solver. A smaller one would ask for more than the promise; the curvature is 1 / delta.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from marginbench.harness.formulations.common import box_dual, needs_soft_hinge, risk, smooth_point
from marginbench.harness.model import programs
from marginbench.harness.model.formulation import Formulation, Lesson, Route
from marginbench.harness.model.problem import InputError, Point, Problem
from marginbench.harness.model.programs import BoxDual, Program, RegularisedRisk
from marginbench.harness.model.solver import Iterate


@dataclass(frozen=True)
class SmoothedHinge(Formulation):
    delta: float = 1e-3

    gives: ClassVar[tuple[type[Program], ...]] = (RegularisedRisk, BoxDual)
    route: ClassVar[Route | None] = Route("risk", 22, (RegularisedRisk,))
    exact: ClassVar[bool] = False
    lesson = Lesson(12, "With its corner rounded off the loss has a curvature: Newton's method arrives in a few steps.")

    def __post_init__(self) -> None:
        if not (0.0 < self.delta < np.inf):
            raise InputError(f"formulation.delta={self.delta}: the width must be a finite number above 0")

    def refuses(self, problem: Problem) -> str | None:
        return needs_soft_hinge(problem, "the smoothed objective")

    def fields_for(self, accuracy: float) -> dict[str, float]:
        return {"delta": accuracy}

    def program(self, problem: Problem, kind: type[Program]) -> Program:
        if kind is BoxDual:
            return box_dual(problem, problem.upper, self.delta / problem.penalty)
        return risk(problem, 1.0, problem.penalty, programs.SmoothedHinge(self.delta))

    def point(self, problem: Problem, program: Program, iterate: Iterate) -> Point:
        return smooth_point(problem, program, iterate)
