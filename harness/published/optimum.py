"""What bounds of P* prove of the optimum itself: of w*, of its margins, of its multipliers, of what it predicts.

Let L <= P* <= U, proven by a point (w, b, alpha). P is strongly convex in w and D strongly concave in w(alpha), so that

    ||w - w*|| <= r  and  ||w(alpha) - w*|| <= r,     r = sqrt(2 (U - L)),

and w* is unique. A free bias is known to lie where P(w, b) <= U + K r, K a Lipschitz constant of P in w: an interval of
a convex function. So each margin m_i is known to within e_i, and by complementarity, for EVERY optimal alpha,

    m_i - e_i > 1  gives  alpha_i = 0,       m_i + e_i < 1  gives  alpha_i = C_i.

The rows between are on the margin: `multipliers.py` says what is known of theirs. Rounding errors here are far below r
and are not bounded.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from marginbench.harness.model.bounds import Bounds
from marginbench.harness.model.problem import Array, Matrix, Point, Problem
from marginbench.harness.published.claim import Range
from marginbench.harness.published.multipliers import Multipliers

MOST_ON_MARGIN = 4000
"""Rows on the margin up to which their multipliers are looked at."""


@dataclass(frozen=True)
class Optimum:
    """The optimum of a soft-margin problem, near `point`, which proves `bounds`.

    Of a free bias with the squared hinge nothing is stated: its range is infinite.
    """

    problem: Problem
    bounds: Bounds
    point: Point

    @cached_property
    def radius(self) -> float:
        return math.sqrt(2.0 * max(0.0, self.bounds.upper - self.bounds.lower))

    @property
    def objective(self) -> Range:
        return Range(self.bounds.lower, self.bounds.upper)

    @property
    def _norm(self) -> float:
        """||w||"""
        return math.sqrt(self.problem.norm2(self.point.w))

    @property
    def norm(self) -> Range:
        """||w*||"""
        norm = self._norm
        return Range(max(0.0, norm - self.radius), norm + self.radius)

    @cached_property
    def bias_error(self) -> float:
        """|b - b*| at most, for every optimal b*."""
        problem, (w, b, *_) = self.problem, self.point
        if problem.bias != "free":
            return problem.s * self.radius if problem.bias == "augmented" else 0.0
        if problem.loss != "hinge":
            return math.inf
        r = self.radius
        change = r * (self._norm + r + float(problem.penalty @ problem.row_norms))
        level = self.bounds.upper + change
        return max(_reach(lambda t: problem.primal(w, b + t), level), _reach(lambda t: problem.primal(w, b - t), level))

    def _errors(self, norms: Array) -> Array:
        """Of w.x + b, for rows of these norms."""
        return norms * self.radius + self.bias_error

    @cached_property
    def _sides(self) -> tuple[Array, Array]:
        """(inside, on the margin): rows with m_i < 1 for certain, and rows that may have m_i = 1."""
        m, error = self.problem.margins(self.point.w, self.point.b), self._errors(self.problem.row_norms)
        return m + error < 1.0, np.abs(m - 1.0) <= error

    @cached_property
    def _multipliers(self) -> Multipliers | None:
        """Of the rows on the margin; None where they are too many."""
        inside, on = self._sides
        problem, alpha = self.problem, np.asarray(self.point.alpha)
        rows = np.flatnonzero(on)
        if rows.size > MOST_ON_MARGIN:
            return None
        off = np.abs(alpha - np.where(inside, problem.upper, 0.0))[~on]
        norms = np.hypot(problem.row_norms, {"augmented": problem.s, "free": 1.0, "none": 0.0}[problem.bias])
        gram = products(problem, rows) + (problem.bias == "free")
        gram *= np.outer(problem.y[rows], problem.y[rows])
        return Multipliers(gram, alpha[rows], problem.upper[rows], self.radius + float(off @ norms[~on]))

    @property
    def unique(self) -> bool | None:
        """Whether there is one optimal alpha only; None where nobody looked."""
        return None if self._multipliers is None else self._multipliers.unique

    @property
    def support_vectors(self) -> Range:
        """How many alpha_i > 0 an optimal alpha has."""
        inside, on = self._sides
        found = Range(0, float(on.sum())) if self._multipliers is None else self._multipliers.positive
        return Range(found.low + float(inside.sum()), found.high + float(inside.sum()))

    @property
    def at_bound(self) -> Range:
        """How many alpha_i = C_i an optimal alpha has."""
        inside, on = self._sides
        found = Range(0, float(on.sum())) if self._multipliers is None else self._multipliers.at_bound
        return Range(found.low + float(inside.sum()), found.high + float(inside.sum()))

    def accuracy(self, X: Matrix, y: Array) -> Range:
        """Percent of the rows of X on the right side, with f > 0 for y = +1."""
        norms = np.sqrt(squares(self.problem, X))
        f, error = y * (self.problem.scores_of(X, self.point.w) + self.point.b), self._errors(norms)
        return Range(*(100.0 * float(np.mean(one)) for one in (f > error, f > -error)))


def products(problem: Problem, rows: Array) -> Array:
    """x_i.x_j of some rows, with the constant feature."""
    if problem.kernel is not None:
        constant = problem.s**2 if problem.bias == "augmented" else 0.0
        return problem.gram[np.ix_(rows, rows)] + constant
    Z = problem.features[rows]
    return np.asarray((Z @ Z.T).toarray() if sp.issparse(Z) else Z @ Z.T)


def squares(problem: Problem, X: Matrix) -> Array:
    """||x||^2 of other rows."""
    if problem.kernel is not None:
        return np.array([float(problem.kernel.between(X[[i]], X[[i]])[0, 0]) for i in range(X.shape[0])])
    return np.asarray((X * X).sum(axis=1), dtype=float).ravel()


def _reach(value: Callable[[float], float], level: float) -> float:
    """The largest t >= 0 with value(t) <= level, rounded up, of a convex function with value(0) <= level."""
    high = 1e-12
    while value(high) <= level:
        high *= 2.0
        if high > 1e12:
            return math.inf
    low = high / 2.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if value(middle) <= level else (low, middle)
    return high
