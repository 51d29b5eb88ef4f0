"""The soft-margin primal as a quadratic program in x = (w, b where free, xi).

    min  1/2 ||w||^2 + sum_i C_i xi_i   subject to   y_i (w.x_i + b) + xi_i >= 1,   xi_i >= 0

For given (w, b) the best slack is xi_i = max(0, 1 - m_i), with which the objective is P(w, b): canonical. The
multiplier of margin row i is z_i = -alpha_i, that of xi_i >= 0 is alpha_i - C_i.
With the squared hinge the slack costs C_i xi_i^2 and needs no sign: a negative one is never cheaper than 0.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from marginbench.harness.formulations.common import HARD, diagonal, margin_columns, sizes, split_primal, vector
from marginbench.harness.model.formulation import Formulation, Lesson, Route
from marginbench.harness.model.needs import Need, rows_need
from marginbench.harness.model.problem import Point, Problem
from marginbench.harness.model.programs import Program, QuadraticProgram
from marginbench.harness.model.solver import Iterate


@dataclass(frozen=True)
class PrimalQP(Formulation):
    gives: ClassVar[tuple[type[Program], ...]] = (QuadraticProgram,)
    route: ClassVar[Route | None] = Route("primal", 0, (QuadraticProgram,))
    lesson = Lesson(6, "Rows may be inside the margin, at a price C for each unit of slack.")

    def refuses(self, problem: Problem) -> str | None:
        return HARD if problem.hard else None

    def needs(self, problem: Problem, kind: type[Program]) -> Need | None:
        return rows_need(problem.X)

    def program(self, problem: Problem, kind: type[Program]) -> QuadraticProgram:
        n, d, free = sizes(problem)
        eye = sp.eye_array(n, format="csc")
        A = sp.hstack([*margin_columns(problem), eye], format="csc")
        if problem.loss == "squared_hinge":
            P = diagonal(np.ones(d), np.zeros(free), 2.0 * problem.penalty)
            return QuadraticProgram(P, np.zeros(d + free + n), sp.csc_array(A), np.ones(n), np.full(n, np.inf))
        P = diagonal(np.ones(d), np.zeros(free + n))
        q = np.concatenate([np.zeros(d + free), problem.penalty])
        A = sp.vstack([A, sp.hstack([sp.csc_array((n, d + free)), eye])], format="csc")
        l = np.concatenate([np.ones(n), np.zeros(n)])
        return QuadraticProgram(P, q, sp.csc_array(A), l, np.full(2 * n, np.inf))

    def point(self, problem: Problem, program: Program, iterate: Iterate) -> Point:
        n = problem.n
        w, b, xi = split_primal(problem, iterate.x, n)
        if iterate.dual is None:
            return Point(w, b, None, xi)
        rows = n if problem.loss == "squared_hinge" else 2 * n
        return Point(w, b, -vector("multipliers", iterate.dual, rows)[:n], xi)
