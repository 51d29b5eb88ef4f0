"""P and D of a point in balls (exact.py): their width is rounding of the result, unless something over- or underflows.

Rows of data on disk, and of float32, are gone through block by block.
"""

import math
from collections.abc import Callable, Iterable

import numpy as np

from marginbench.harness.cell.objectives import UNKNOWN, Interval, U, hard_primal, square
from marginbench.harness.matrices import LARGE_BLOCK, as_double, is_single, row_blocks, rows_at
from marginbench.harness.model.problem import Array, Problem
from marginbench.harness.pages import on_disk


def evaluate_exactly(problem: Problem, w: Array, b: float, alpha: Array | None) -> tuple[Interval, Interval | None]:
    """P(w, b) and D(alpha)."""
    from marginbench.harness.model import exact  # compiles: most certificates do without

    norm = _norm2(problem, w)
    if problem.bias == "augmented":
        part = exact.times(exact.balls(np.array([b])), exact.inverse(np.array([problem.s])))
        norm = _sum(norm, exact.dot(part, part))
    if problem.hard:
        low, high = np.empty(problem.n), np.empty(problem.n)
        for rows in _blocks(problem):
            low[rows], high[rows] = exact.bounds(_short(problem, rows, 0.0, w, b))
        with np.errstate(all="ignore"):
            primal = hard_primal(_ends(norm), -high, -low)
    else:
        primal = _ends(_sum(_half(norm), _total(problem, lambda rows: _loss(problem, rows, w, b))))
    return primal, None if alpha is None else _dual_exactly(problem, alpha)


def _norm2(problem: Problem, w: Array) -> Array:
    """||w||^2: w'w, or w'Gw"""
    from marginbench.harness.model import exact

    if problem.kernel is None:
        return exact.norm2(w)
    ones = np.ones(problem.n)
    scores = [exact.short_of(0.0, problem.gram[rows], ones[rows], w, 0.0) for rows in _blocks(problem)]
    return exact.dot(exact.balls(-w), np.concatenate(scores))


def _blocks(problem: Problem) -> Iterable[slice]:
    if problem.by_rows:
        return row_blocks(problem.gram, LARGE_BLOCK)
    whole = not (on_disk(problem.X) or is_single(problem.X))
    return [slice(0, problem.n)] if whole else row_blocks(problem.X, LARGE_BLOCK)


def _total(problem: Problem, of: Callable[[slice], Array]) -> Array:
    """The sum of a ball over blocks of rows."""
    found: Array | None = None
    for rows in _blocks(problem):
        found = of(rows) if found is None else _sum(found, of(rows))
    assert found is not None
    return found


def _short(problem: Problem, rows: slice, target: float, w: Array, b: float) -> Array:
    """target - m_i of some rows"""
    from marginbench.harness.model import exact

    return exact.short_of(target, as_double(rows_at(problem.scored, rows)), problem.y[rows], w, b)


def _loss(problem: Problem, rows: slice, w: Array, b: float) -> Array:
    from marginbench.harness.model import exact

    slack, cost = exact.positive_part(_short(problem, rows, 1.0, w, b)), exact.balls(problem.penalty[rows])
    if problem.loss == "squared_hinge":
        cost = exact.times(slack, cost)
    return exact.dot(slack, cost)


def _mass(alpha: Array) -> Array:
    from marginbench.harness.model import exact

    return exact.dot(exact.balls(alpha), exact.balls(np.ones(alpha.size)))


def _dual_exactly(problem: Problem, alpha: Array) -> Interval:

    norm, mass = _pull2(problem, alpha), _total(problem, lambda rows: _mass(alpha[rows]))
    if problem.hard:
        size, sum_ = _ends(norm), _ends(mass)
        if not sum_.low > 0.0 or size == UNKNOWN:
            return Interval(0.0, 0.0 if sum_.high == 0.0 else math.inf)
        low = 0.5 * square(sum_.low / math.sqrt(size.high)) * (1.0 - 8.0 * U) if size.high > 0.0 else math.inf
        high = 0.5 * square(sum_.high / math.sqrt(size.low)) * (1.0 + 8.0 * U) if size.low > 0.0 else math.inf
        return Interval(low, high)
    value = _sum(mass, _half(norm), -1.0)
    if problem.loss == "squared_hinge":
        value = _sum(value, _total(problem, lambda rows: _curved(problem, rows, alpha[rows])), -1.0)
    return _ends(value)


def _pull2(problem: Problem, alpha: Array) -> Array:
    """||w(alpha)||^2, with the constant feature"""
    from marginbench.harness.model import exact

    constant = np.empty((0, 3))
    if problem.bias == "augmented":
        balance = _total(problem, lambda rows: _mass(alpha[rows] * problem.y[rows]))
        constant = exact.times(balance[None], exact.balls(np.array([problem.s])))
    if problem.kernel is not None:
        return _sum(_norm2(problem, alpha * problem.y), exact.dot(constant, constant))
    pulled = np.zeros((problem.d, 3))
    for rows in _blocks(problem):
        exact.add_weights(as_double(rows_at(problem.X, rows)), alpha[rows] * problem.y[rows], pulled)
    pulled = np.vstack([pulled, constant])
    return exact.dot(pulled, pulled)


def _curved(problem: Problem, rows: slice, alpha: Array) -> Array:
    """sum_i alpha_i^2 / (4 C_i) of some rows"""
    from marginbench.harness.model import exact

    a = exact.balls(alpha)
    return exact.dot(a, exact.times(a, exact.inverse(4.0 * problem.penalty[rows])))


def _sum(x: Array, z: Array, sign: float = 1.0) -> Array:
    """x + sign z, of two balls"""
    from marginbench.harness.model import exact

    return exact.dot(exact.balls(np.array([1.0, sign])), np.array([x, z]))


def _half(x: Array) -> Array:
    """A product below 2^-900 would lose its digits; halving a float does not."""
    return 0.5 * x


def _ends(ball: Array) -> Interval:
    from marginbench.harness.model import exact

    low, high = exact.bounds(ball)
    return Interval(float(low), float(high))
