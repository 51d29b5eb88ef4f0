"""The hard-margin primal as a quadratic program in x = (w, b where free).

    min  1/2 ||w||^2   subject to   y_i (w.x_i + b) >= 1

This is the canonical problem at C = inf. Row i has the multiplier z_i = -alpha_i <= 0, with w = w(alpha).
Infeasible iff the classes are not separable; then A'z = 0 with sum_i z_i < 0, and mu = -z / sum(-z) are the weights
of a point that both hulls share.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from marginbench.harness.formulations.common import (
    HardMargin,
    as_certificate,
    diagonal,
    margin_columns,
    sizes,
    split_primal,
    vector,
)
from marginbench.harness.model.formulation import Lesson, Route
from marginbench.harness.model.needs import Need, rows_need
from marginbench.harness.model.problem import Array, Point, Problem
from marginbench.harness.model.programs import Program, QuadraticProgram
from marginbench.harness.model.solver import Iterate


@dataclass(frozen=True)
class HardPrimalQP(HardMargin):
    gives: ClassVar[tuple[type[Program], ...]] = (QuadraticProgram,)
    route: ClassVar[Route | None] = Route("primal", 1, (QuadraticProgram,))
    lesson = Lesson(3, "Of all hyperplanes that separate, the one with the widest margin: there is only one.")

    def needs(self, problem: Problem, kind: type[Program]) -> Need | None:
        return rows_need(problem.X)

    def program(self, problem: Problem, kind: type[Program]) -> QuadraticProgram:
        n, d, free = sizes(problem)
        P = diagonal(np.ones(d), np.zeros(free))
        A = sp.csc_array(sp.hstack(margin_columns(problem), format="csc"))
        return QuadraticProgram(P, np.zeros(d + free), A, np.ones(n), np.full(n, np.inf))

    def point(self, problem: Problem, program: Program, iterate: Iterate) -> Point:
        w, b, _ = split_primal(problem, iterate.x, 0)
        return Point(w, b, None if iterate.dual is None else -vector("multipliers", iterate.dual, problem.n))

    def infeasibility(self, problem: Problem, program: Program, iterate: Iterate) -> Array | None:
        return None if iterate.dual is None else as_certificate(-vector("multipliers", iterate.dual, problem.n))
