"""P and D of a point with a proven bound of their rounding error: each as two floats with the true value between.

First in float64, with an error bound that costs next to nothing; where that is too wide for what is asked, once more
in balls (exact_objectives.py), about 32 digits. Floats are rational numbers: data, C_i, (w, b) and alpha state one
true value.

The float64 bound. A sum of k products, in any order, is off by at most gamma_k = k u / (1 - k u) times the sum of their
absolute values (Higham, Accuracy and Stability, 3.1), u = 2^-53; here 1.01 k u. Hence:

- a margin of a row with k entries: e_i = gamma_{k+3} (||x_i|| ||w|| + |b|), by Cauchy and Schwarz;
- max(0, .) never magnifies an error, and a row whose margin is above 1 + e_i has no slack for certain;
- long sums are taken in groups of 32, groups of groups and so on: their k is 32 log_32(n), not n;
- D by an identity in which the error of w(alpha), the longest sums of all, enters only squared: for every v = (w, b)

      D(alpha) = sum_i alpha_i (1 - m_i(v)) + 1/2 ||v||^2 - 1/2 ||w(alpha) - v||^2     (hinge; alpha feasible exactly),

  and ||w(alpha) - v|| is small near the optimum. Or as it stands, where that is narrower.
- with a kernel, |G_ij| <= ||phi(x_i)|| ||phi(x_j)|| since G is positive semidefinite. With S = sum_j |c_j| ||phi(x_j)||
  a margin is off by gamma_{n+3} (||phi(x_i)|| S + |b|), and c'Gc by gamma_{2n+6} S^2.
- TINY is added for every product that may underflow. What overflows is inf or NaN, and then nothing is known.
"""

import math
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from marginbench.harness.matrices import both_products
from marginbench.harness.model.problem import Array, Problem

U = 2.0**-53
TINY = 2.0**-1000
LARGEST = 2.0**1023
GROUP = 32


class Interval(NamedTuple):
    """The true value lies in [low, high]."""

    low: float
    high: float

    @property
    def width(self) -> float:
        return self.high - self.low

    def meet(self, other: "Interval") -> "Interval":
        return Interval(max(self.low, other.low), min(self.high, other.high))


UNKNOWN = Interval(-math.inf, math.inf)
NONE = Interval(math.inf, math.inf)
"""P of a hyperplane that does not separate, at the hard margin."""


def gamma(k: int) -> float:
    return 1.01 * k * U


def interval(middle: float, error: float) -> Interval:
    """middle +- error, rounded outwards; UNKNOWN where either is no number."""
    if not (math.isfinite(middle) and math.isfinite(error)):
        return UNKNOWN
    return Interval(
        math.nextafter(middle - 1.01 * error, -math.inf) if error > 0.0 else middle,
        math.nextafter(middle + 1.01 * error, math.inf) if error > 0.0 else middle,
    )


def square(x: float) -> float:
    """x ** 2 would raise where this is inf."""
    return x * x


def total(terms: Array) -> float:
    """The sum of numbers, by groups; `rounded(terms.size)` roundings lie between a term and the result at most."""
    while terms.size > GROUP:
        whole = terms.size // GROUP * GROUP
        groups = terms[:whole].reshape(-1, GROUP).sum(axis=1)
        terms = np.append(groups, terms[whole:].sum()) if whole < terms.size else groups
    return float(terms.sum())


def rounded(n: int) -> int:
    """Additions between one of n terms and their `total`."""
    k = 0
    while n > GROUP:
        n, k = -(-n // GROUP), k + GROUP
    return k + n


class Evaluated(NamedTuple):
    """margins: m_i of float64; error: the largest that one of them has; weights: w(alpha)."""

    primal: Interval
    dual: Interval | None
    margins: Array
    error: float
    weights: Array | None


class _Reach(NamedTuple):
    """|the float64 1 - m_i - the true one| <= slope ||x_i|| + flat + 2 u |1 - m_i| <= most + 2 u |1 - m_i|"""

    slope: float
    flat: float
    most: float


def evaluate(problem: Problem, w: Array, b: float, alpha: Array | None) -> Evaluated:
    """P(w, b) and D(alpha) in float64. alpha is feasible exactly. At the hard margin both are at their best length."""
    if problem.kernel is not None:
        return _evaluate_kernel(problem, w, b, alpha)
    with np.errstate(all="ignore"):
        if alpha is None:
            m, pulled = problem.margins(w, b), None
        else:
            m, pulled = _margins_and_weights(problem, w, b, alpha)
        norm = _norm2(problem, w, b)
        k = _longest(problem) + 3
        slope = gamma(k) * math.sqrt(norm.high)
        flat = gamma(k) * abs(b) + k * TINY
        reach = _Reach(slope, flat, slope * float(problem.row_norms.max()) + flat)
        t = 1.0 - m
        if problem.hard:
            error = problem.row_norms * slope + flat
            primal = hard_primal(norm, m - error, m + error)
        else:
            primal = _soft_primal(problem, norm, t, reach)
        if alpha is None or pulled is None:
            return Evaluated(primal, None, m, reach.most, None)
        pull = _Pull.of(problem, alpha, pulled)
        dual = _dual(problem, alpha, pull)
        if not problem.hard:
            dual = dual.meet(_dual_near(problem, w, b, norm, t, reach, alpha, pulled, pull))
        return Evaluated(primal, dual, m, reach.most, pulled)


def _margins_and_weights(problem: Problem, w: Array, b: float, alpha: Array) -> tuple[Array, Array]:
    """m_i and w(alpha), with the data read once."""
    m, pulled = both_products(problem.X, w, alpha * problem.y)
    m += b
    m *= problem.y
    return m, pulled


class _Pull(NamedTuple):
    """sum alpha_i; sum alpha_i y_i; sum alpha_i ||x_i||; ||w(alpha)|| with the constant feature; how far the computed
    w(alpha) is from the true one at most, and its norm from the true norm."""

    mass: float
    balance: float
    moment: float
    size: float
    error: float

    @classmethod
    def of(cls, problem: Problem, alpha: Array, pulled: Array) -> "_Pull":
        mass, balance, moment = total(alpha), float(alpha @ problem.y), float(alpha @ problem.row_norms)
        constant = problem.s * balance if problem.bias == "augmented" else 0.0
        size = math.sqrt(float(pulled @ pulled) + square(constant))
        lengths = moment + problem.s * mass if problem.bias == "augmented" else moment
        error = gamma(problem.n + 8) * lengths + gamma(problem.d + 8) * size + (problem.n + problem.d) * TINY
        return cls(mass, balance, moment, size, error)


def _evaluate_kernel(problem: Problem, c: Array, b: float, alpha: Array | None) -> Evaluated:
    """The same where w is given by coefficients c (`problem.py`)."""
    with np.errstate(all="ignore"):
        scores = problem.gram @ c
        norm = _form(problem, c, scores, b / problem.s if problem.bias == "augmented" else 0.0)
        k = problem.n + 3
        slope = gamma(k) * _spread(problem, c)
        flat = gamma(k) * abs(b) + k * TINY
        reach = _Reach(slope, flat, slope * float(problem.row_norms.max()) + flat)
        m = problem.y * (scores + b)
        primal = _soft_primal(problem, norm, 1.0 - m, reach)
        if alpha is None:
            return Evaluated(primal, None, m, reach.most, None)
        pulled, mass, (curve, loose) = alpha * problem.y, total(alpha), _curvature(problem, alpha)
        s = problem.s if problem.bias == "augmented" else 0.0
        of_pulled = scores if np.array_equal(pulled, c) else problem.gram @ pulled
        pull = _form(problem, pulled, of_pulled, s * float(pulled.sum()), gamma(k) * s * mass)
        loose += gamma(rounded(problem.n) + 2) * mass + 8.0 * U * (mass + pull.high + curve) + 0.5 * pull.width
        dual = interval(mass - 0.25 * (pull.low + pull.high) - curve, loose)
        return Evaluated(primal, dual, m, reach.most, pulled)


def _spread(problem: Problem, c: Array) -> float:
    """sum_j |c_j| ||phi(x_j)||, rounded up"""
    return float(np.abs(c) @ problem.row_norms) * (1.0 + gamma(problem.n + 2))


def _form(problem: Problem, c: Array, scores: Array, constant: float, error: float = 0.0) -> Interval:
    """c'Gc + constant^2. error: of the constant. scores: G c."""
    spread = _spread(problem, c)
    value = float(c @ scores) + square(constant)
    loose = gamma(2 * problem.n + 6) * square(spread) + 2.0 * error * (abs(constant) + error)
    found = interval(value, loose + 4.0 * U * value + 4 * problem.n * TINY)
    return Interval(max(0.0, found.low), found.high)


def _longest(problem: Problem) -> int:
    """Entries of the longest row."""
    return int(np.diff(problem.X.indptr).max(initial=0)) if sp.issparse(problem.X) else problem.d


def _norm2(problem: Problem, w: Array, b: float) -> Interval:
    """||v||^2"""
    value = problem.norm2(w, b)
    found = interval(value, gamma(problem.d + 6) * value + (problem.d + 2) * TINY)
    return Interval(max(0.0, found.low), found.high)


def _soft_primal(problem: Problem, norm: Interval, t: Array, reach: _Reach) -> Interval:
    slack = np.maximum(t, 0.0)
    touched = ~(t < -2.0 * reach.most)  # elsewhere there is no slack for certain; NaN is touched
    c, largest = (problem.C, problem.C) if problem.weight is None else (problem.penalty, float(problem.penalty.max()))
    squared = problem.loss == "squared_hinge"
    loss = total(c * (slack * slack if squared else slack))
    if problem.weight is None:
        error = problem.C * _errors(problem.row_norms, touched, slack, reach, squared)
    else:
        error = _errors(problem.row_norms, touched, slack, reach, squared, problem.penalty)
    error += gamma(rounded(problem.n) + 4) * loss + 4 * problem.n * TINY * (1.0 + largest)
    value = 0.25 * (norm.low + norm.high) + loss
    found = interval(value, norm.width + error + 4.0 * U * value)
    return Interval(max(0.0, found.low), found.high)


def _errors(norms: Array, touched: Array, slack: Array, reach: _Reach, squared: bool, c: Array | float = 1.0) -> float:
    """sum_i c_i e_i over the touched rows, e_i the error of the slack; of its square, sum_i c_i (2 slack_i + e_i) e_i.

    Of 2 u |1 - m_i| <= 2 u (slack_i + 2 most) the part with the slack is taken by itself.
    """
    c = c * touched
    flat = reach.flat + 4.0 * U * reach.most
    ones = reach.slope * float(c @ norms) + flat * float(c.sum()) + 2.0 * U * float(c @ slack)
    if not squared:
        return ones
    weighted = c * slack
    twice = reach.slope * float(weighted @ norms) + flat * float(weighted.sum()) + 2.0 * U * float(weighted @ slack)
    return 2.0 * twice + (2.0 * reach.most + 2.0 * U * float(slack.max())) * ones


def hard_primal(norm: Interval, low: Array, high: Array) -> Interval:
    """1/2 ||v||^2 / (min m)^2; NONE where a row is on the wrong side for certain, (0, inf) where one may be."""
    least, most = float(low.min()), float(high.min())
    if not (math.isfinite(least) and math.isfinite(most) and norm.high < math.inf):
        return UNKNOWN
    if most <= 0.0:
        return NONE
    upper = 0.5 * square(math.sqrt(norm.high) / least) if least > 0.0 else math.inf
    lower = min(LARGEST, 0.5 * square(math.sqrt(norm.low) / most))  # inf would say that it does not separate
    return Interval(lower * (1.0 - 8.0 * U), upper * (1.0 + 8.0 * U) + TINY)


def _dual(problem: Problem, alpha: Array, pull: _Pull) -> Interval:
    """D(alpha) as it stands."""
    k, a = rounded(problem.n), pull.mass
    top = (pull.size + pull.error) * (1.0 + 4.0 * U)
    bottom = max(0.0, pull.size - pull.error) * (1.0 - 4.0 * U)
    if not problem.hard:
        curve, spread = _curvature(problem, alpha)
        loose = gamma(k + 2) * a + spread + 8.0 * U * (a + top * top + curve)
        low = interval(a - 0.5 * top * top - curve, loose).low
        return Interval(low, interval(a - 0.5 * bottom * bottom - curve, loose).high)
    if not (a > 0.0 and math.isfinite(a) and math.isfinite(top)):
        return Interval(0.0, math.inf if a > 0.0 else 0.0)
    less, more = a * (1.0 - gamma(k)), a * (1.0 + gamma(k))
    low = 0.5 * square(less / top) * (1.0 - 8.0 * U) - TINY if top > 0.0 else math.inf
    return Interval(max(0.0, low), 0.5 * square(more / bottom) * (1.0 + 8.0 * U) if bottom > 0.0 else math.inf)


def _curvature(problem: Problem, alpha: Array) -> tuple[float, float]:
    """sum_i alpha_i^2 / (4 C_i) of the squared hinge, and its error"""
    if problem.loss == "hinge":
        return 0.0, 0.0
    value = total(alpha * (alpha / (4.0 * problem.penalty)))
    return value, gamma(rounded(problem.n) + 5) * value + 4 * problem.n * TINY * (1.0 + float(alpha.max()))


def _dual_near(
    problem: Problem,
    w: Array,
    b: float,
    norm: Interval,
    t: Array,
    reach: _Reach,
    alpha: Array,
    pulled: Array,
    pull: _Pull,
) -> Interval:
    """D(alpha) by the identity with v = (w, b); sum_i alpha_i y_i b = 0 where the bias is free."""
    terms = alpha * t
    value, size = total(terms), float(np.abs(terms, out=terms).sum())
    loose = reach.slope * pull.moment + reach.flat * pull.mass + gamma(rounded(problem.n) + 6) * size
    curve, spread = _curvature(problem, alpha)
    away2 = float((pulled - w) @ (pulled - w))
    if problem.bias == "augmented":
        away2 += square(problem.s * pull.balance - b / problem.s)
    away = math.sqrt(away2)
    error = pull.error + gamma(problem.d + 8) * (math.sqrt(norm.high) + away)
    middle = 0.5 * (norm.low + norm.high)
    loose += norm.width + spread + 8.0 * U * (abs(value) + middle + away2 + curve) + 4 * problem.n * TINY
    value += 0.5 * middle - curve
    far, close = square(away + error), square(max(0.0, away - error))
    low = interval(value - 0.5 * far, loose + 8.0 * U * far).low
    high = interval(value - 0.5 * close, loose + 8.0 * U * away2).high
    return Interval(low, high)
