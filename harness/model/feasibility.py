"""Multipliers that are feasible exactly, so that D of them is a bound and not nearly one.

The box 0 <= alpha_i <= C_i is a comparison of floats. With a free bias, sum alpha_i y_i = 0 is made to hold in
integers: alpha_i = a_i 2^k with integers 0 <= a_i < 2^53, repaired until sum a_i y_i is the integer 0. Every such
alpha_i is a float.
"""

from collections.abc import Iterator

import numpy as np

from marginbench.harness.model.problem import Array, Problem

UNBALANCED = 1e-9
"""|sum alpha_i y_i| beside sum alpha_i beyond which many multipliers share the repair, not the roomiest alone."""


def feasible(problem: Problem, alpha: Array) -> Array:
    """A feasible alpha near the given one, exactly: inside the box and, with a free bias, sum alpha_i y_i = 0.

    What is feasible already comes back as it is, so that a stored alpha proves the same numbers on every machine.
    """
    alpha = np.clip(alpha, 0.0, _largest(problem))
    if problem.bias != "free":
        return alpha
    with np.errstate(all="ignore"):  # what overflows there is no proposal; _on_grid takes 0 instead
        if not abs(float(alpha @ problem.y)) <= UNBALANCED * float(alpha.sum()):
            alpha = problem.feasible_dual(alpha)
    y = problem.y.astype(np.int64)
    a, top, exponent = _on_grid(problem, alpha)
    if _excess(a, y) != 0:
        a = _balanced(a, top, y)
    return np.ldexp(a.astype(float), exponent)


def _largest(problem: Problem) -> Array | float:
    """`problem.upper`, as one number where all are equal."""
    if problem.weight is not None:
        return problem.upper
    return problem.C if problem.loss == "hinge" else np.inf


def _on_grid(problem: Problem, alpha: Array) -> tuple[Array, Array, int]:
    """(a, top, k): integers 0 <= a_i <= top_i < 2^53 with alpha_i near a_i 2^k and top_i 2^k <= C_i"""
    largest = float(alpha.max(initial=0.0))
    if not 2.0**-1000 < largest < 2.0**1000:  # there are better multipliers than these: 0
        return np.zeros(problem.n, np.int64), np.zeros(problem.n, np.int64), 0
    exponent = int(np.frexp(largest)[1]) - 53
    with np.errstate(over="ignore"):
        top = np.minimum(np.floor(np.ldexp(_largest(problem), -exponent)), 2.0**53 - 1.0)
    a = np.minimum(np.rint(np.ldexp(alpha, -exponent)), top)
    return a.astype(np.int64), np.broadcast_to(np.asarray(top).astype(np.int64), a.shape), exponent


def _excess(a: Array, y: Array) -> int:
    """sum a_i y_i, by two sums of at most n 2^27 each: one sum could leave 64 bits."""
    return (int(np.dot(a >> 26, y)) << 26) + int(np.dot(a & (2**26 - 1), y))


def _balanced(a: Array, top: Array, y: Array) -> Array:
    """Integers 0 <= a_i <= top_i with sum a_i y_i = 0, near the given ones.

    The multipliers strictly inside the box pay first, the roomiest first: their margins are 1 near the optimum, so that
    D changes to second order only. Taking from the class with the larger sum always ends it.
    """
    excess = _excess(a, y)
    room = np.minimum(a, top - a)
    a = a.copy()
    for i in _roomiest_first(room):
        shrinks = int(y[i]) * excess > 0
        move = min(abs(excess), int(a[i] if shrinks else top[i] - a[i]))
        a[i] += -move if shrinks else move
        excess -= move if excess > 0 else -move
        if excess == 0:
            break
    return a


def _roomiest_first(room: Array) -> Iterator[int]:
    """The first nearly always suffices: sorting is put off until it does not."""
    yield int(np.argmax(room))
    yield from np.argsort(-room, kind="stable")
