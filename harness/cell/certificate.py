"""Certificates: what a proposed point is worth, computed from the data and from nothing else.

For a point (w, b, alpha) of a Problem: P(w, b), D of the repaired alpha, the relative gap
(P - D) / max(1, |P|, |D|), and each KKT residual. P - D bounds the distance to the optimum by weak duality, so that
neither the solver nor its claim has to be believed.

Hard margin (C = inf). Both sides are scale free: a separating w is scaled to min_i m_i = 1, which gives
P = 1/2 (||w|| / min m)^2; any alpha >= 0 is scaled to its best length, so D = 1/2 (sum alpha / ||w(alpha)||)^2.
No product of an infinite C with a rounding error ever occurs.

Infeasibility of the hard margin. mu >= 0 with sum 1 (and sum mu_i y_i = 0 for a free bias) and
r = ||sum mu_i y_i x_i|| proves that no hyperplane has a geometric margin above r: summing mu_i m_i >= gamma ||w||
over i gives ||w|| r >= gamma ||w||. r at rounding level is reported as infeasible.
"""

import math
from dataclasses import dataclass

import numpy as np

from marginbench.harness.model.bounds import ROUNDING, relative_distance
from marginbench.harness.model.problem import Array, Point, Problem

REPAIRABLE = 1e-3
"""Feasibility residual up to which a point may be repaired; beyond it, it is not the answer that was claimed."""

HULLS_MEET = 1e-9
"""r / max ||x_i|| up to which the two hulls are said to meet."""

LARGEST_ENTRY = 1e100
"""Of entries of a point: their squares and sums of these are numbers."""


class InvalidPoint(ValueError):
    """The proposed point is not a point at all: NaN, wrong shape, wrong type, beyond all numbers."""


@dataclass(frozen=True)
class Certificate:
    """Each number is finite, or None where it has no meaning."""

    primal: float | None
    dual: float | None
    gap: float | None
    dual_source: str = ""
    kkt_primal: float | None = None
    kkt_dual: float | None = None
    kkt_stationarity: float | None = None
    kkt_complementarity: float | None = None
    margin: float | None = None
    mistakes: int = 0
    train_accuracy: float = 0.0
    sv_margin: int = 0
    sv_inside: int = 0
    sv_wrong: int = 0
    violation: float = 0.0
    """The worst of constraint and box, with |sum alpha_i y_i| beside sum |alpha_i|: a sum of n errors grows with n."""

    @property
    def feasible(self) -> bool:
        return self.violation <= REPAIRABLE


def relative_gap(primal: float, dual: float) -> float:
    """(P - D) / max(1, |P|, |D|). Weak duality makes it >= 0 up to rounding, which is shown as 0."""
    gap = relative_distance(primal, dual)
    if gap < -ROUNDING:
        raise AssertionError(f"weak duality violated: P = {primal!r} below D = {dual!r}")
    return max(gap, 0.0)


def validated(problem: Problem, point: Point) -> Point:
    """The point with float64 arrays; InvalidPoint in words where it is none."""
    w = _vector("w", point.w, problem.d)
    b = _vector("b", np.atleast_1d(np.asarray(point.b)), 1)
    alpha = None if point.alpha is None else _vector("alpha", point.alpha, problem.n)
    xi = None if point.xi is None else _vector("xi", point.xi, problem.n)
    return Point(w, float(b[0]), alpha, xi)


def _vector(name: str, value: object, size: int) -> Array:
    array = np.asarray(value)
    if array.dtype.kind not in "fiu":
        raise InvalidPoint(f"{name} has type {array.dtype}, not real numbers")
    if array.shape != (size,):
        raise InvalidPoint(f"{name} has shape {array.shape}, not ({size},)")
    array = array.astype(np.float64, copy=False)
    if not np.isfinite(array).all():
        raise InvalidPoint(f"{name} has {int((~np.isfinite(array)).sum())} entries that are NaN or infinite")
    return array


def _check_size(problem: Problem, point: Point) -> None:
    """InvalidPoint where objectives would overflow; of multipliers at the hard margin only the direction counts."""
    for name, part in point._asdict().items():
        if part is None or (name == "alpha" and problem.hard):
            continue
        if np.abs(part).max(initial=0.0) > LARGEST_ENTRY:
            raise InvalidPoint(f"{name} has entries beyond {LARGEST_ENTRY:g}, of which no objective can be computed")


def certify(problem: Problem, point: Point, lower: float = -math.inf) -> Certificate:
    """The certificate of `point`; `lower` is a proven lower bound of the optimum, for points without multipliers."""
    w, b, alpha, xi = point = validated(problem, point)
    _check_size(problem, point)
    m = problem.margins(w, b)
    primal, margin = _primal(problem, w, b, m)
    kkt_primal = _primal_residual(problem, m, xi)
    dual, source = (lower, "reference") if math.isfinite(lower) else (None, "")
    kkt_dual = stationarity = complementarity = None
    violation = kkt_primal or 0.0
    if alpha is not None:
        outside, balance = _dual_residuals(problem, alpha)
        kkt_dual = max(outside, balance)
        violation = max(violation, outside, balance / max(1.0, _mass(problem, alpha)))
        alpha = problem.feasible_dual(alpha)
        stationarity = _stationarity(problem, w, b, alpha)
        complementarity = _complementarity(problem, m, alpha)
        own = _dual(problem, alpha)
        if own is not None:
            dual, source = own, "own"
    gap = None if primal is None or dual is None else relative_gap(primal, dual)
    mistakes = int((m <= 0.0).sum())
    near = 1e-6 * max(1.0, np.abs(m).max(initial=0.0))
    return Certificate(
        primal=primal,
        dual=dual,
        gap=gap,
        dual_source=source,
        kkt_primal=kkt_primal,
        kkt_dual=kkt_dual,
        kkt_stationarity=stationarity,
        kkt_complementarity=complementarity,
        margin=margin,
        mistakes=mistakes,
        train_accuracy=1.0 - mistakes / problem.n,
        sv_margin=int((np.abs(m - 1.0) <= near).sum()),
        sv_inside=int(((m > 0.0) & (m < 1.0 - near)).sum()),
        sv_wrong=mistakes,
        violation=violation,
    )


def _primal(problem: Problem, w: Array, b: float, m: Array) -> tuple[float | None, float | None]:
    """P and the geometric margin min_i m_i / ||w|| (in the penalised space), the latter where w separates."""
    norm, smallest = np.sqrt(problem.norm2(w, b)), float(m.min())
    margin = smallest / norm if smallest > 0.0 and norm > 0.0 else None
    if not problem.hard:
        return problem.primal(w, b), margin
    return (None if margin is None else 0.5 / margin**2), margin


def _dual(problem: Problem, alpha: Array) -> float | None:
    if not problem.hard:
        return problem.dual(alpha)
    total = float(alpha.sum())  # only the direction counts; along a ray that proves infeasibility it may be 1e+200
    pull = _pull(problem, alpha / total) if total > 0.0 else 0.0
    # A pull within rounding means that the hulls meet: no finite bound can be told from noise.
    if not pull > 1e-14 * np.sqrt(radius2(problem)):
        return None
    return 0.5 / pull**2


def radius2(problem: Problem) -> float:
    """max_i ||x_i||^2, with the constant feature where there is one."""
    square = problem.X.multiply(problem.X) if hasattr(problem.X, "multiply") else problem.X**2
    return float(square.sum(axis=1).max()) + (problem.s**2 if problem.bias == "augmented" else 0.0)


def _primal_residual(problem: Problem, m: Array, xi: Array | None) -> float | None:
    if problem.hard:
        return float(np.maximum(0.0, 1.0 - m).max())
    return None if xi is None else float(np.maximum.reduce([1.0 - m - xi, -xi, np.zeros_like(m)]).max())


def _dual_residuals(problem: Problem, alpha: Array) -> tuple[float, float]:
    """How far alpha is outside the box, and how far from sum alpha_i y_i = 0, both over max(1, C)."""
    scale = _scale(problem, alpha)
    outside = float(np.maximum(-alpha, alpha - problem.upper).max(initial=0.0)) / scale
    return outside, abs(float(alpha @ problem.y)) / scale if problem.bias == "free" else 0.0


def _scale(problem: Problem, alpha: Array) -> float:
    return max(1.0, problem.C if not problem.hard else float(np.abs(alpha).max()))


def _mass(problem: Problem, alpha: Array) -> float:
    """sum |alpha_i|, in units of the same scale."""
    return float(np.abs(alpha).sum()) / _scale(problem, alpha)


def _stationarity(problem: Problem, w: Array, b: float, alpha: Array) -> float:
    difference = np.abs(w - problem.weights(alpha)).max(initial=0.0)
    if problem.bias == "augmented":
        difference = max(difference, abs(b / problem.s - problem.s * float(alpha @ problem.y)))
    return float(difference / max(1.0, np.abs(w).max(initial=0.0)))


def _complementarity(problem: Problem, m: Array, alpha: Array) -> float:
    outside, inside = np.maximum(0.0, m - 1.0), np.maximum(0.0, 1.0 - m)
    worst = float((alpha * outside).max())
    if problem.hard:
        return worst / max(1.0, float(alpha.max()))
    if problem.loss == "hinge":
        worst = max(worst, float(((problem.upper - alpha) * inside).max()))
    else:
        worst = max(worst, float((np.abs(alpha - 2.0 * problem.penalty * inside) * inside).max()))
    return worst / max(1.0, problem.C)


def hull_distance(problem: Problem, mu: Array) -> float:
    """r / max ||x_i|| for the proposed mu, after making it feasible; 0 means that the hulls of the classes meet."""
    mu = _vector("mu", mu, problem.n)
    mu = problem.with_(C=np.inf).feasible_dual(mu)
    if not mu.sum() > 0.0:
        return np.inf
    radius = np.sqrt(radius2(problem))
    return min(_pull(problem, mu / mu.sum()), _pull(problem, sharpened(problem, mu / mu.sum()))) / radius


def _pull(problem: Problem, mu: Array) -> float:
    return float(np.sqrt(problem.norm2(problem.weights(mu), problem.s**2 * float(mu @ problem.y))))


def sharpened(problem: Problem, mu: Array, most: int = 2000) -> Array:
    """The same proof to rounding: non-negative least squares on the rows that carry it."""
    from scipy.optimize import nnls  # takes long to import, and few cells come here

    support = np.argsort(mu)[-min(most, problem.n) :]
    support = support[mu[support] > 0.0]
    if support.size == 0 or support.size * problem.d > 4_000_000:
        return mu
    Z = problem.features[support]
    Z = (Z.toarray() if hasattr(Z, "toarray") else Z).T * problem.y[support]
    scale = np.abs(Z).max() or 1.0
    balance = [problem.y[support] * scale] if problem.bias == "free" else []
    A = np.vstack([Z, *balance, np.full(support.size, scale)])
    target = np.zeros(A.shape[0])
    target[-1] = scale
    try:
        solution, _ = nnls(A, target)
    except RuntimeError:  # did not converge: keep what there was
        return mu
    sharp = np.zeros(problem.n)
    sharp[support] = solution
    sharp = problem.with_(C=np.inf).feasible_dual(sharp)
    return sharp / sharp.sum() if sharp.sum() > 0.0 else mu


def infeasible(problem: Problem, mu: Array) -> bool:
    """Whether mu proves that the hard margin has no solution."""
    return hull_distance(problem, mu) <= HULLS_MEET
