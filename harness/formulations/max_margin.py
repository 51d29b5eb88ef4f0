"""The maximum geometric margin, a cone program in x = (v, c where the bias is free, beta).

    max  beta   subject to   y_i (v.x_i + c) >= beta,   ||v|| <= 1

At the optimum of separable data beta* = 1 / ||w*|| is the largest geometric margin, and (w, b) = (v, c) / beta is the
hard-margin optimum. The multipliers mu of the n rows satisfy sum mu = 1 and ||w(mu)|| = beta*: mu are the nearest
points of the two hulls, and alpha = mu / beta^2. When the classes are not separable beta* = 0 and w(mu) = 0, so that
mu itself proves it.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from marginbench.harness.formulations.common import (
    HardMargin,
    as_certificate,
    margin_columns,
    sizes,
    split_primal,
    vector,
)
from marginbench.harness.model.formulation import Lesson, Route
from marginbench.harness.model.needs import Need, rows_need
from marginbench.harness.model.problem import Array, Point, Problem
from marginbench.harness.model.programs import ConeProgram, Program
from marginbench.harness.model.solver import Iterate


@dataclass(frozen=True)
class MaxMargin(HardMargin):
    gives: ClassVar[tuple[type[Program], ...]] = (ConeProgram,)
    route: ClassVar[Route | None] = Route("margin", 30, (ConeProgram,))
    always_solvable: ClassVar[bool] = True
    lesson = Lesson(4, "The same hyperplane, found by widening the margin of a w of length 1.")

    def needs(self, problem: Problem, kind: type[Program]) -> Need | None:
        return rows_need(problem.X)

    def program(self, problem: Problem, kind: type[Program]) -> ConeProgram:
        n, d, free = sizes(problem)
        rows = sp.hstack([*(-column for column in margin_columns(problem)), sp.csc_array(np.ones((n, 1)))])
        ball = sp.eye_array(d + 1, d + free + 1, k=-1)  # (1, v): its first row is the constant
        A = sp.vstack([rows, -ball], format="csc")
        b = np.concatenate([np.zeros(n), [1.0], np.zeros(d)])
        c = np.append(np.zeros(d + free), -1.0)
        return ConeProgram(c, sp.csc_array(A), b, nonnegative=n, cones=(d + 1,))

    def point(self, problem: Problem, program: Program, iterate: Iterate) -> Point:
        """(v, c) / beta; where beta <= 0 nothing is separated and the plane is returned as it is."""
        w, b, rest = split_primal(problem, iterate.x, 1)
        beta = rest[0] if rest[0] > 0.0 else 1.0
        if iterate.dual is None:
            return Point(w / beta, b / beta)
        return Point(w / beta, b / beta, hull_weights(problem, iterate.dual) / beta**2)

    def infeasibility(self, problem: Problem, program: Program, iterate: Iterate) -> Array | None:
        return None if iterate.dual is None else as_certificate(hull_weights(problem, iterate.dual))


def hull_weights(problem: Problem, dual: Array) -> Array:
    """mu, the multipliers of the n rows; those of the ball follow them."""
    n, d, _ = sizes(problem)
    return vector("multipliers", dual, n + d + 1)[:n]
