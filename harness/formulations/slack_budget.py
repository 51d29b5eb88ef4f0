"""The slack budget, a quadratic program in x = (w, b where free, xi).

    min  1/2 ||w||^2   subject to   y_i (w.x_i + b) + xi_i >= 1,   xi_i >= 0,   sum_i weight_i xi_i <= t

Its Lagrangian has w = w(a) and c weight_i = a_i + r_i, with a, r, c >= 0 the multipliers of the three kinds of rows: so
0 <= a_i <= c weight_i, and with c = C these are the canonical conditions. Hence at t = sum_i weight_i xi_i*, xi* the
slack of the optimum for C, the (w, b) of that optimum is optimal here, and C is a multiplier of the budget.

It need not be the only one: where (w, b) stays put over a range of C, each C of the range is a multiplier, and a
solver may return any. Only where c = C (to 1e-7) are its a_i canonical multipliers; elsewhere the point has none.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import scipy.sparse as sp

from marginbench.harness.formulations.common import (
    diagonal,
    margin_columns,
    needs_soft_hinge,
    sample_weight,
    sizes,
    split_primal,
    vector,
)
from marginbench.harness.model.formulation import Formulation, Lesson
from marginbench.harness.model.needs import Need, rows_need
from marginbench.harness.model.problem import InputError, Point, Problem
from marginbench.harness.model.programs import Program, QuadraticProgram
from marginbench.harness.model.solver import Iterate


@dataclass(frozen=True)
class SlackBudget(Formulation):
    t: float | None = None
    """The budget; None: that of the optimum for the problem's C, which `at` then fills in."""

    gives: ClassVar[tuple[type[Program], ...]] = (QuadraticProgram,)
    lesson = Lesson(7, "The same trade the other way round: so much slack in all, and the widest margin that it buys.")

    def __post_init__(self) -> None:
        if self.t is not None and not (0.0 <= self.t < np.inf):
            raise InputError(f"formulation.t={self.t}: the slack budget must be a finite number, 0 or above")

    def refuses(self, problem: Problem) -> str | None:
        return needs_soft_hinge(problem, "the slack budget")

    def at(self, optimum: Point, problem: Problem) -> Self:
        if self.t is not None:
            return self
        slack = np.maximum(0.0, 1.0 - problem.margins(optimum.w, optimum.b))
        return replace(self, t=float(sample_weight(problem) @ slack))

    def needs(self, problem: Problem, kind: type[Program]) -> Need | None:
        return rows_need(problem.X)

    def program(self, problem: Problem, kind: type[Program]) -> QuadraticProgram:
        if self.t is None:
            raise InputError("formulation.t=null: a slack budget needs t, or a reference optimum to take it from")
        n, d, free = sizes(problem)
        eye, zero = sp.eye_array(n, format="csc"), sp.csc_array((n, d + free))
        budget = sp.csc_array(np.concatenate([np.zeros(d + free), sample_weight(problem)])[None, :])
        A = sp.vstack([sp.hstack([*margin_columns(problem), eye]), sp.hstack([zero, eye]), budget], format="csc")
        l = np.concatenate([np.ones(n), np.zeros(n), [-np.inf]])
        u = np.append(np.full(2 * n, np.inf), self.t)
        P = diagonal(np.ones(d), np.zeros(free + n))
        return QuadraticProgram(P, np.zeros(d + free + n), sp.csc_array(A), l, u)

    def point(self, problem: Problem, program: Program, iterate: Iterate) -> Point:
        n = problem.n
        w, b, xi = split_primal(problem, iterate.x, n)
        if iterate.dual is None:
            return Point(w, b, None, xi)
        z = vector("multipliers", iterate.dual, 2 * n + 1)
        return Point(w, b, -z[:n] if abs(z[-1] - problem.C) <= 1e-7 * problem.C else None, xi)
