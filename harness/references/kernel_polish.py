"""Polishing with a kernel: Newton steps on the free multipliers, with residuals of 32 digits.

At the optimum the rows fall into three kinds: alpha_i = 0, alpha_i = C_i, or free with m_i = 1 - gamma_i alpha_i,
gamma_i the dual's curvature (0 for the hinge). With the kinds of the given alpha a step solves, on the free rows F,

    (Q_FF + diag(gamma_F)) delta + y_F beta = t_F - gamma_F alpha_F,   y_F . delta = -sum_i alpha_i y_i,   Q = y y' o G

(beta and the last equation with a free bias only; Q + s^2 y y' where it is augmented), and clips alpha to its box. A
row leaves F at a bound; one at a bound whose margin is on the wrong side of 1 enters. t_i = 1 - m_i is evaluated in
balls, so that each step is one of iterative refinement, and w is that of alpha: c_i = alpha_i y_i.
"""

import numpy as np

from marginbench.harness.model import exact
from marginbench.harness.model.feasibility import feasible
from marginbench.harness.model.problem import Array, Point, Problem
from marginbench.harness.references.enclosure import enclose
from marginbench.harness.references.refinement import better, cholesky

STEPS = 60
ENTERS = 1e-11
"""Of a margin: a row at a bound whose margin is on the wrong side of 1 by more becomes free."""


def polish_kernel(problem: Problem, point: Point, target: float) -> Point:
    """The best hyperplane and the best multipliers met on the way, the given ones included."""
    given = np.zeros(problem.n) if point.alpha is None else np.asarray(point.alpha, dtype=float)
    alpha = problem.feasible_dual(given)
    b, best, proven, stalled = float(point.b), point, enclose(problem, point), 0
    for _ in range(STEPS):
        alpha, b = _step(problem, alpha, b)
        before = proven
        for candidate in _points(problem, alpha, b):
            best, proven = better(best, proven, candidate, enclose(problem, candidate))
        stalled = stalled + 1 if proven.width > 0.9 * before.width else 0
        if proven.width <= target or stalled == 5:
            break
    return best


def _points(problem: Problem, alpha: Array, b: float) -> list[Point]:
    """w(alpha) of multipliers that are feasible exactly, with the b of the step and with the best one."""
    alpha = feasible(problem, alpha)
    found = problem.point(alpha)
    return [found, found._replace(b=b)] if problem.bias == "free" else [found]


def _short(problem: Problem, alpha: Array, b: float) -> Array:
    """t_i = 1 - m_i at w(alpha), to its last digit"""
    intercept = b if problem.bias == "free" else problem.s * problem.s * float(alpha @ problem.y)
    ball = exact.short_of(1.0, problem.gram, problem.y, alpha * problem.y, intercept if problem.bias != "none" else 0.0)
    return ball[:, 0] + ball[:, 1]


def _step(problem: Problem, alpha: Array, b: float) -> tuple[Array, float]:
    y, upper, curvature = problem.y, problem.upper, problem.curvature
    slope = _short(problem, alpha, b) - curvature * alpha
    inside = (alpha > 0.0) & (alpha < upper)
    F = np.flatnonzero(inside | ((alpha == 0.0) & (slope > ENTERS)) | ((alpha >= upper) & (slope < -ENTERS)))
    if F.size == 0:
        return alpha, problem.best_bias(alpha * y) if problem.bias == "free" else b
    Q = y[F, None] * problem.gram[np.ix_(F, F)] * y[F]
    if problem.bias == "augmented":
        Q += problem.s * problem.s * np.outer(y[F], y[F])
    solve = cholesky(Q, curvature[F])
    delta, beta = solve(slope[F]), 0.0
    if problem.bias == "free":
        balance = exact.dot(exact.balls(alpha), exact.balls(y))
        column = solve(y[F])
        beta = float(y[F] @ delta + balance[0] + balance[1]) / float(y[F] @ column)
        delta = delta - beta * column
    moved = alpha.copy()
    moved[F] = np.clip(alpha[F] + delta, 0.0, upper[F])
    return moved, b + beta
