"""Proven enclosures of the optimum: two floats with lower <= P* <= upper, a theorem about the data as they are stored.

Why it is a theorem. Floats are rational numbers, so that X, y, C_i (the float C * weight_i), w, b and alpha state one
problem and one point exactly. Weak duality says D(alpha) <= P* <= P(w, b) for every (w, b) and every feasible alpha.

- Feasibility is exact. The box 0 <= alpha_i <= C_i is a comparison of floats. With a free bias, sum alpha_i y_i = 0 is
  made to hold in integers: alpha_i = a_i 2^k with integers 0 <= a_i < 2^53, repaired until sum a_i y_i is the integer
  0. Every such alpha_i is a float.
- P and D are evaluated in balls (exact.py): error-free transformations with every discarded term bounded, and
  rounded outwards at the end. Overflow turns into [-inf, inf], underflow into a wider ball; neither into a wrong one.
- An augmented bias is the problem without bias on [x, s], at coefficients (w, fl(b / s)): any such point bounds P*.
- A kernel. G = K + eps I is a matrix of floats, made by the same rules on every machine and positive semidefinite by
  the proof in kernel.py, so that it is the Gram matrix of some rows and weak duality holds. ||w||^2 = c'Gc.
- Hard margin. If all margins of (w, b) are at least m > 0, then (w, b) / m is feasible: P* <= 1/2 ||w||^2 / m^2. If
  alpha >= 0 is feasible, so are its multiples, and the best one gives P* >= 1/2 (sum alpha)^2 / ||w(alpha)||^2. No
  scaled point is ever rounded: only the quotients are, outwards.
- No solution. The last bound says that no hyperplane has a geometric margin above r = ||w(alpha)|| / sum alpha. If r
  is exactly 0 the lower bound is inf: the hard margin is proven infeasible. `hulls_meet` proves the same, in integers,
  where an exact alpha exists but is not made of floats. Without either, what is proven is that bound on the margin.

What is assumed: IEEE binary64 with rounding to nearest, and a compiler that keeps to it.
"""

import numpy as np

from marginbench.harness.cell.hulls import hulls_meet
from marginbench.harness.model import exact
from marginbench.harness.model.bounds import Bounds, round_down, round_up
from marginbench.harness.model.feasibility import feasible
from marginbench.harness.model.problem import Array, Point, Problem
from marginbench.harness.model.validity import validated


def enclose(problem: Problem, point: Point) -> Bounds:
    """The proven bounds that `point` gives; without multipliers, lower is 0 = D(0)."""
    w, b, alpha, _ = validated(problem, point)
    alpha = np.zeros(problem.n) if alpha is None else feasible(problem, alpha)
    if problem.hard:
        lower, upper = _hard_lower(problem, alpha), _hard_upper(problem, w, b)
        return Bounds(np.inf if np.isinf(upper) and hulls_meet(problem, alpha) else lower, upper)
    proven_dual, _ = exact.bounds(dual(problem, alpha))
    _, proven_primal = exact.bounds(primal(problem, w, b))
    return Bounds(max(0.0, float(proven_dual)), float(proven_primal))


# -- P and D as balls --------------------------------------------------------------------------------------------


def primal(problem: Problem, w: Array, b: float) -> Array:
    """P(w, b) of a soft margin, as one ball"""
    v, intercept = _coefficients(problem, w, b)
    slack = exact.positive_part(exact.short_of(1.0, problem.features, problem.y, v, intercept))
    if problem.loss == "squared_hinge":
        slack = exact.times(slack, slack)
    loss = exact.dot(slack, exact.balls(problem.penalty))
    if problem.kernel is not None:
        parts = exact.norm2(v[: problem.n], problem.gram), exact.norm2(v[problem.n :])
        return _combine((0.5, parts[0]), (0.5, parts[1]), (1.0, loss))
    return _combine((0.5, _norm2(exact.balls(v))), (1.0, loss))


def dual(problem: Problem, alpha: Array) -> Array:
    """D(alpha) of a soft margin, as one ball, for an alpha that is feasible exactly"""
    a = exact.balls(alpha)
    total = exact.dot(a, exact.balls(np.ones(problem.n)))
    norm2 = _pull2(problem, alpha)
    if problem.loss == "hinge":
        return _combine((1.0, total), (-0.5, norm2))
    curvature = exact.dot(exact.times(a, a), exact.inverse(4.0 * problem.penalty))
    return _combine((1.0, total), (-0.5, norm2), (-1.0, curvature))


def _pull2(problem: Problem, alpha: Array) -> Array:
    """||w(alpha)||^2, with the constant feature"""
    signed = alpha * problem.y
    if problem.kernel is None:
        return _norm2(exact.weights(problem.features, signed))
    own = exact.norm2(signed, problem.gram)
    if problem.bias != "augmented":
        return own
    constant = exact.weights(np.full((problem.n, 1), problem.s), signed)
    return _combine((1.0, own), (1.0, _norm2(constant)))


def _coefficients(problem: Problem, w: Array, b: float) -> tuple[Array, float]:
    return problem.join(w, b), b if problem.bias == "free" else 0.0


def _norm2(v: Array) -> Array:
    return exact.dot(v, v)


def _combine(*terms: tuple[float, Array]) -> Array:
    """The ball of sum_k c_k x_k"""
    return exact.dot(exact.balls(np.array([c for c, _ in terms])), np.array([x for _, x in terms]))


# -- hard margin -------------------------------------------------------------------------------------------------


def _hard_upper(problem: Problem, w: Array, b: float) -> float:
    """An upper bound of 1/2 ||w||^2 / m^2, m the smallest margin"""
    v, intercept = _coefficients(problem, w, b)
    _, short = exact.bounds(exact.short_of(0.0, problem.features, problem.y, v, intercept))
    smallest = -float(short.max())
    _, norm2 = exact.bounds(_norm2(exact.balls(v)))
    square = round_down(smallest * smallest) if 0.0 < smallest < np.inf else 0.0
    if not square > 0.0:
        return np.inf
    return 0.0 if norm2 == 0.0 else round_up(round_up(0.5 * float(norm2)) / square)


def _hard_lower(problem: Problem, alpha: Array) -> float:
    """A lower bound of 1/2 (sum alpha)^2 / ||w(alpha)||^2; inf where w(alpha) is exactly 0"""
    total = float(exact.bounds(exact.dot(exact.balls(alpha), exact.balls(np.ones(problem.n))))[0])
    norm2 = float(exact.bounds(_norm2(exact.weights(problem.features, alpha * problem.y)))[1])
    if not total > 0.0:
        return 0.0
    return np.inf if norm2 == 0.0 else max(0.0, round_down(round_down(total * total) / round_up(2.0 * norm2)))
