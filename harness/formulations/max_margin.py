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

from marginbench.harness.formulations.common import as_certificate, hard_margin, margin_columns, split_primal, vector
from marginbench.harness.model.formulation import Formulation
from marginbench.harness.model.problem import Array, Point, Problem
from marginbench.harness.model.programs import ConeProgram, Program
from marginbench.harness.model.solver import Iterate


@dataclass(frozen=True)
class MaxMargin(Formulation):
    gives: ClassVar[tuple[type[Program], ...]] = (ConeProgram,)
    always_solvable: ClassVar[bool] = True

    def judged(self, problem: Problem) -> Problem:
        return hard_margin(problem)

    def program(self, problem: Problem, kind: type[Program]) -> ConeProgram:
        n, d, free = problem.n, problem.features.shape[1], int(problem.bias == "free")
        rows = sp.hstack([*(-column for column in margin_columns(problem)), sp.csc_array(np.ones((n, 1)))])
        ball = sp.eye_array(d + 1, d + free + 1, k=-1)  # (1, v): its first row is the constant
        A = sp.vstack([rows, -ball], format="csc")
        b = np.concatenate([np.zeros(n), [1.0], np.zeros(d)])
        c = np.append(np.zeros(d + free), -1.0)
        return ConeProgram(c, sp.csc_array(A), b, nonnegative=n, cones=(d + 1,))

    def point(self, problem: Problem, program: Program, iterate: Iterate) -> Point:
        """(v, c) / beta; where beta <= 0 nothing is separated and the plane is returned as it is."""
        d = problem.features.shape[1]
        w, b, rest = split_primal(problem, vector("x", iterate.x, d + (problem.bias == "free") + 1))
        beta = rest[0] if rest[0] > 0.0 else 1.0
        if iterate.dual is None:
            return Point(w / beta, b / beta)
        mu = vector("multipliers", iterate.dual, problem.n + d + 1)[: problem.n]
        return Point(w / beta, b / beta, mu / beta**2)

    def infeasibility(self, problem: Problem, program: Program, iterate: Iterate) -> Array | None:
        if iterate.dual is None:
            return None
        size = problem.n + problem.features.shape[1] + 1
        return as_certificate(vector("multipliers", iterate.dual, size)[: problem.n])
