"""Polishing: from a good point to one that is optimal to the last digits, so that its enclosure is narrow.

Proximal method of multipliers with semismooth Newton steps (Rockafellar 1976; Li, Sun, Toh 2018 for the SVM). With
multipliers alpha, widths rho_i > 0, t_i = 1 - m_i(w, b) and the dual's curvature gamma_i (0 for the hinge), minimise

    1/2 ||w||^2 + sum_i psi_i(t_i),    psi_i'(t) = p_i(t) = clip((rho_i alpha_i + t) / (rho_i + gamma_i), 0, C_i)

over (w, b), set alpha to p, make rho smaller, repeat. Its fixed points are the KKT points. The three kinds of
multipliers sort themselves: p_i = 0, p_i = C_i, or free. On the free rows F a Newton step solves the KKT system

    (diag(rho + gamma) + Z_F Z_F') delta + y_F beta = t_F,      y_F . delta given,     Z = diag(y) X,

which rho keeps regular when rows repeat or depend on each other: the method then moves to the nearest solution. Rows
enter and leave F by the clip, under an exact line search, so that no rule for active sets is needed; F may be empty.
For the squared hinge rho = 0 does: gamma is enough.

Digits. t_i is a difference of nearly equal numbers on F, and w(alpha) a sum that cancels: both are evaluated in balls
(about 32 digits), and w is kept as w + low, so that each Newton step is one step of iterative refinement.
"""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from marginbench.harness.cell.hulls import sharpened
from marginbench.harness.model import exact
from marginbench.harness.model.feasibility import feasible
from marginbench.harness.model.problem import Array, Matrix, Point, Problem
from marginbench.harness.references.enclosure import enclose
from marginbench.harness.references.kernel_polish import polish_kernel
from marginbench.harness.references.refinement import better, cholesky

ROUNDS = 60
NEWTON_STEPS = 100
LARGEST_SYSTEM = 10_000
"""Order of the largest system that is factorised (0.8 GB); where more multipliers are free, nothing is polished."""


def polish(problem: Problem, point: Point, target: float = 2e-15) -> Point:
    """The best hyperplane and the best multipliers met on the way, the given ones included.

    Stops when the enclosure is narrower than `target` times the optimum. Multipliers of a hard margin that nothing
    separates are moved to a vertex, whose few rows can be proven to have meeting hulls.
    """
    if problem.kernel is not None:
        return polish_kernel(problem, point, target)
    if problem.hard and point.alpha is None:
        point = point._replace(alpha=np.full(problem.n, 1.0 / problem.n))
    best, proven = point, enclose(problem, point)
    if problem.hard and np.isinf(proven.upper):
        vertex = Point(point.w, point.b, sharpened(problem, feasible(problem, np.asarray(point.alpha))))
        best, proven = better(best, proven, vertex, enclose(problem, vertex))
        if proven.infeasible or proven.margin <= 1e-12 * problem.radius:
            return best
    state = _State(problem, best, float(np.clip(np.sqrt(proven.width), 1e-6, 1.0)))
    stalled = 0
    for _ in range(ROUNDS):
        steps = state.minimise()
        before = proven
        for candidate in state.points():
            best, proven = better(best, proven, candidate, enclose(problem, candidate))
        last = state.h <= max(1e-8, state.smallest)
        stalled = stalled + 1 if last and proven.width > 0.9 * before.width else 0
        if proven.upper - proven.lower <= target * proven.upper or stalled == 3:
            break
        state.tighten(0.1 if steps <= 8 else 0.35)  # a small h after a hard problem would make a harder one
    return best


def _start(problem: Problem, point: Point) -> tuple[Array, float, Array]:
    """(w, b, alpha), feasible; hard margin: both scaled as they would be at the optimum."""
    w, b = np.array(point.w, dtype=float), float(point.b)
    if point.alpha is None:
        return w, b, problem.feasible_dual(np.where(problem.margins(w, b) < 1.0, problem.penalty, 0.0))
    alpha = problem.feasible_dual(np.asarray(point.alpha, dtype=float))
    if not problem.hard:
        return w, b, alpha
    pull = problem.norm2(problem.weights(alpha), problem.s**2 * float(alpha @ problem.y))
    if pull > 0.0:
        alpha = alpha * (float(alpha.sum()) / pull)
    smallest = float(problem.margins(w, b).min())
    if smallest > 0.0:
        return w / smallest, b / smallest, alpha
    own = problem.point(alpha)
    return own.w, own.b, alpha


class _State:
    """(w + low, b + b_low) on `features`, alpha, and the width h: rho_i = h / C_i."""

    def __init__(self, problem: Problem, point: Point, h: float) -> None:
        self.problem, self.X, self.y = problem, problem.features, problem.y
        self.free_bias = problem.bias == "free"
        w, b, self.alpha = _start(problem, point)
        self.v, self.low = problem.join(w, b), np.zeros(self.X.shape[1])
        self.b, self.b_low = (b if self.free_bias else 0.0), 0.0
        # The squared hinge has a curvature of its own; hard margins have none under any loss.
        self.h = h if problem.hard or problem.loss == "hinge" else 0.0
        self.radius2 = problem.radius * problem.radius
        self.p = self.alpha
        self._measure()

    def _measure(self) -> None:
        """scale: the size multipliers have, C_i or less where the margin and not C holds them down; and the least h."""
        if self.problem.hard:
            self.scale = np.full(self.problem.n, max(float(self.alpha.max()), 1e-300))
        else:
            self.scale = self.problem.penalty * np.clip((self.alpha / self.problem.penalty).max(), 1e-9, 1.0)
        # Below 1e-14 of the Gram matrix Cholesky would not see rho.
        self.smallest = 1e-14 * self.radius2 * float(self.scale.max())

    def short(self) -> Array:
        """t_i = 1 - m_i at w + low, to the last digit of t_i"""
        ball = exact.short_of(1.0, self.X, self.y, self.v, self.b)
        return ball[:, 0] + (ball[:, 1] - self.y * (self.X @ self.low + self.b_low))

    def multipliers(self, t: Array) -> Array:
        rho, gamma = self.h / self.scale, self.problem.curvature
        return np.clip((rho * self.alpha + t) / (rho + gamma), 0.0, self.problem.upper)

    def gradient(self, p: Array) -> Array:
        """(w - w(p), -sum p_i y_i); the last only with a free bias"""
        ball = exact.weights(self.X, p * self.y)
        g = ((self.v - ball[:, 0]) - ball[:, 1]) + self.low
        if not self.free_bias:
            return g
        balance = exact.dot(exact.balls(p), exact.balls(self.y))
        return np.append(g, -(balance[0] + balance[1]))

    def minimise(self) -> int:
        """Newton on the smooth problem until a step changes no digit of w or of the objective; returns its steps."""
        t = self.short()
        p = self.multipliers(t)
        g = self.gradient(p)
        steps = 0
        while steps < NEWTON_STEPS:
            F = np.flatnonzero((p > 0.0) & (p < self.problem.upper))
            if min(F.size, self.X.shape[1]) > LARGEST_SYSTEM:
                break
            step = self._newton_step(F, g)
            size = float(np.linalg.norm(self.v))
            if np.linalg.norm(step) <= 1e-17 * (size + abs(self.b)) and abs(g @ step) <= 1e-18 * size**2:
                break
            theta = self._line_search(t, p, g, step)
            if theta == 0.0:
                break
            self._move(theta * step)
            t = self.short()
            p = self.multipliers(t)
            g = self.gradient(p)
            steps += 1
        self.p = p
        return steps

    def tighten(self, factor: float) -> None:
        self.alpha = self.p
        self._measure()
        self.h = max(factor * self.h, min(self.h, self.smallest))

    def points(self) -> list[Point]:
        """Where it is now; and, if only rounding keeps a row short of its margin, a little longer, without slack.

        The latter are for separable data and a large C, which would multiply the rounding of w.
        """
        v, b = self.v + self.low, self.b + self.b_low
        w, intercept = self.problem.split(v, b)
        here = Point(w, intercept, self.p)
        _, short = exact.bounds(exact.short_of(1.0, self.X, self.y, v, b))
        worst = float(short.max())
        if self.problem.hard or not 0.0 < worst < 1e-9:
            return [here]
        longer = [1.0 + (4.0 * worst + rounding) for rounding in (1e-15, 1e-14)]
        return [here, *(Point(factor * w, factor * intercept, self.p) for factor in longer)]

    def _move(self, step: Array) -> None:
        if self.free_bias:
            self.b, self.b_low = exact.two_sum(self.b, self.b_low + step[-1])
            step = step[:-1]
        low = self.low + step
        v = self.v + low
        self.v, self.low = v, low - (v - self.v)  # exact unless |low| > |v|; the next step finds what is lost then

    def _newton_step(self, F: Array, g: Array) -> Array:
        rho = (self.h / self.scale + self.problem.curvature)[F]
        Z = sp.diags_array(self.y[F]) @ self.X[F] if sp.issparse(self.X) else self.y[F, None] * self.X[F]
        if not self.free_bias:
            return _small_system(Z, rho, g, None) if F.size < Z.shape[1] else _large_system(Z, rho, g, None)
        if F.size == 0:
            return np.append(-g[:-1], -np.sign(g[-1]))  # nothing says how far b should go: the line search will
        return (_small_system if F.size < Z.shape[1] else _large_system)(Z, rho, g, self.y[F])

    def _line_search(self, t: Array, p: Array, g: Array, step: Array) -> float:
        """The zero of the derivative along the step, which is monotone and piecewise linear; 1 when that is near."""
        d = self.X.shape[1]
        dm = self.y * (self.X @ step[:d] + (step[d] if self.free_bias else 0.0))
        slope, square = float(g @ step), float(step[:d] @ step[:d])

        def derivative(theta: float) -> float:
            return slope + theta * square - float((self.multipliers(t - theta * dm) - p) @ dm)

        if not slope < 0.0:
            return 0.0
        at_one = derivative(1.0)
        if abs(at_one) <= 0.5 * abs(slope):
            return 1.0
        return _root(derivative, slope, at_one)


def _root(f: Callable[[float], float], at_zero: float, at_one: float) -> float:
    """The zero of an increasing f with f(0) < 0: bracket, then false position with the Illinois rule."""
    low, high, f_low, f_high = 0.0, 1.0, at_zero, at_one
    while f_high < 0.0:
        low, f_low = high, f_high
        high *= 4.0
        f_high = f(high)
        if high > 1e12:
            return 0.0
    for _ in range(60):
        theta = (low * f_high - high * f_low) / (f_high - f_low)
        value = f(theta)
        if abs(value) <= 1e-3 * abs(at_zero):
            break
        if value < 0.0:
            low, f_low, f_high = theta, value, 0.5 * f_high
        else:
            high, f_high, f_low = theta, value, 0.5 * f_low
    return theta


def _small_system(Z: Matrix, rho: Array, g: Array, y: Array | None) -> Array:
    """The Newton step by the multipliers' change: (diag(rho) + Z Z') delta + y beta = Z g_w, y.delta = g_b."""
    g_w = g if y is None else g[:-1]
    solve = cholesky(_dense(Z @ Z.T), rho)
    delta = solve(Z @ g_w)
    if y is None:
        return Z.T @ delta - g_w
    column = solve(y)
    beta = (y @ delta - g[-1]) / (y @ column)
    return np.append(Z.T @ (delta - beta * column) - g_w, beta)


def _large_system(Z: Matrix, rho: Array, g: Array, y: Array | None) -> Array:
    """The same step by its primal form, I + Z' diag(1 / rho) Z, for more free rows than features."""
    weighted = sp.diags_array(1.0 / rho) @ Z if sp.issparse(Z) else Z / rho[:, None]
    solve = cholesky(_dense(Z.T @ weighted), np.ones(Z.shape[1]))
    if y is None:
        return -solve(g)
    border, corner = weighted.T @ y, float((1.0 / rho).sum())
    column, step = solve(border), -solve(g[:-1])
    beta = -(g[-1] + border @ step) / max(corner - border @ column, 1e-14 * corner)
    return np.append(step - beta * column, beta)


def _dense(K: Matrix) -> Array:
    return K.toarray() if sp.issparse(K) else K
