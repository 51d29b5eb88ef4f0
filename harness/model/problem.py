"""The canonical max-margin problem, its dual, and the moves between the two.

    P(w, b)  = 1/2 ||w||^2 + sum_i C_i max(0, 1 - m_i)                       minimise
    D(alpha) = sum_i alpha_i - 1/2 ||w(alpha)||^2,   0 <= alpha_i <= C_i     maximise

with m_i = y_i (w.x_i + b), w(alpha) = sum_i alpha_i y_i x_i and C_i = C * weight_i.

Weak duality, P(w, b) >= D(alpha) for every (w, b) and every feasible alpha, is what everything else rests on.

The bias is a property of the problem. `none`: b = 0. `free`: b is not penalised, and the dual gains
sum_i alpha_i y_i = 0. `augmented`: x gains a constant feature s, so that b = s w_{d+1} is penalised by b^2 / (2 s^2).
The squared hinge is another problem: P has C_i max(0, 1 - m_i)^2; D loses alpha_i^2 / (4 C_i) and the upper bound.
C = inf is the hard margin: minimise 1/2 ||w||^2 subject to m_i >= 1.
"""

import hashlib
import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp

from marginbench.harness.errors import InputError as InputError
from marginbench.harness.matrices import as_matrix

Array = np.ndarray
Matrix: TypeAlias = Any  # a dense array or a csr_array; scipy has no types that a checker could tell apart
Bias = Literal["none", "free", "augmented"]
Loss = Literal["hinge", "squared_hinge"]


class Point(NamedTuple):
    """A proposed answer to a Problem: a hyperplane, and multipliers and slacks where the method has them."""

    w: Array
    b: float = 0.0
    alpha: Array | None = None
    xi: Array | None = None


class Samples:
    """Whatever has rows x_i of X with labels y_i: n samples, d features."""

    X: Matrix
    y: Array

    @property
    def n(self) -> int:
        return self.X.shape[0]

    @property
    def d(self) -> int:
        return self.X.shape[1]

    @property
    def nnz(self) -> int:
        return self.X.nnz if sp.issparse(self.X) else self.X.size


@dataclass(frozen=True, eq=False)
class Problem(Samples):
    X: Matrix
    y: Array
    C: float = 1.0
    bias: Bias = "free"
    loss: Loss = "hinge"
    weight: Array | None = None
    s: float = 1.0

    def __post_init__(self) -> None:
        if self.bias not in ("none", "free", "augmented"):
            raise InputError(f"problem.bias={self.bias}: possible are none, free, augmented")
        if self.loss not in ("hinge", "squared_hinge"):
            raise InputError(f"problem.loss={self.loss}: possible are hinge, squared_hinge")
        if isinstance(self.C, bool) or not isinstance(self.C, int | float) or not self.C > 0:
            raise InputError(f"problem.C={self.C}: C must be a number above 0, or inf for the hard margin")
        if not isinstance(self.s, int | float) or not 0 < self.s < np.inf:
            raise InputError(f"problem.s={self.s}: the constant feature must be a finite number above 0")
        object.__setattr__(self, "X", as_matrix(self.X))
        if self.X.ndim != 2 or 0 in self.X.shape:
            raise InputError(f"data: shape {self.X.shape}; needs rows and columns, at least one of each")
        if not np.isfinite(self.X.data if sp.issparse(self.X) else self.X).all():
            raise InputError("data: has NaN or infinite entries; every entry must be finite")
        object.__setattr__(self, "y", as_labels(self.y, self.X.shape[0]))
        if self.weight is not None:
            weight = np.ascontiguousarray(self.weight, dtype=float)
            if weight.shape != (self.n,) or not (np.isfinite(weight).all() and (weight > 0).all()):
                raise InputError(f"weight: needs {self.n} finite numbers above 0")
            object.__setattr__(self, "weight", weight)

    # -- prices and bounds ---------------------------------------------------------------------------------------

    @property
    def hard(self) -> bool:
        return np.isinf(self.C)

    @cached_property
    def penalty(self) -> Array:
        """C_i, the price of a unit of slack."""
        return np.full(self.n, self.C) if self.weight is None else self.C * self.weight

    @cached_property
    def upper(self) -> Array:
        """The largest feasible alpha_i."""
        return self.penalty if self.loss == "hinge" else np.full(self.n, np.inf)

    @cached_property
    def curvature(self) -> Array:
        """gamma_i of the term -1/2 sum gamma_i alpha_i^2 that the squared hinge adds to the dual."""
        return np.zeros(self.n) if self.loss == "hinge" else 1.0 / (2.0 * self.penalty)

    @cached_property
    def features(self) -> Matrix:
        """X, with the constant feature as its last column when the bias is augmented."""
        if self.bias != "augmented":
            return self.X
        column = np.full((self.n, 1), self.s)
        if sp.issparse(self.X):
            return as_matrix(sp.hstack([self.X, sp.csr_array(column)], format="csr"))
        return np.hstack([self.X, column])

    @cached_property
    def row_norms(self) -> Array:
        """Upper bounds of ||x_i||, a few units in the last place above it; inf where its square overflows."""
        X, step, norms = self.X, 65536, np.empty(self.n)
        for start in range(0, self.n, step):  # the squares of all entries at once would take the memory of X
            end = min(start + step, self.n)
            with np.errstate(all="ignore"):
                if sp.issparse(X):
                    some, offsets = slice(X.indptr[start], X.indptr[end]), X.indptr[start : end + 1] - X.indptr[start]
                    squares = sp.csr_array((X.data[some] ** 2, X.indices[some], offsets), shape=(end - start, self.d))
                    norms[start:end] = squares @ np.ones(self.d)
                else:
                    norms[start:end] = np.einsum("ij,ij->i", X[start:end], X[start:end])
        # d + 4 roundings at most; of squares below the smallest float only that their roots are below 2^-536 is known.
        return np.sqrt(norms) * (1.0 + (self.d + 4) * 2.0**-52) + 2.0**-500

    @cached_property
    def radius(self) -> float:
        """max_i ||x_i|| with the constant feature where there is one, rounded up."""
        largest = float(self.row_norms.max())
        return math.hypot(largest, self.s) * (1.0 + 2.0**-50) if self.bias == "augmented" else largest

    # -- between coefficients on `features` and (w, b) -----------------------------------------------------------

    def split(self, v: Array, b: float = 0.0) -> tuple[Array, float]:
        """(w, b) from coefficients v on `features` and, for a free bias, its intercept."""
        v = np.asarray(v)
        if self.bias == "augmented":
            return v[:-1], float(self.s * v[-1])
        return v, float(b) if self.bias == "free" else 0.0

    def join(self, w: Array, b: float) -> Array:
        """Coefficients on `features` from (w, b); the inverse of `split`."""
        return np.append(w, b / self.s) if self.bias == "augmented" else w

    # -- primal --------------------------------------------------------------------------------------------------

    def margins(self, w: Array, b: float = 0.0) -> Array:
        """m_i = y_i (w.x_i + b)"""
        return self.y * (self.X @ w + b)

    def norm2(self, w: Array, b: float = 0.0) -> float:
        """||w||^2, with (b/s)^2 when the bias is augmented."""
        constant = b / self.s if self.bias == "augmented" else 0.0
        return float(w @ w) + constant * constant

    def primal(self, w: Array, b: float = 0.0) -> float:
        """P(w, b); inf when the hard margin is violated."""
        slack = np.maximum(0.0, 1.0 - self.margins(w, b))
        if self.hard:
            return 0.5 * self.norm2(w, b) if slack.max() == 0.0 else np.inf
        return 0.5 * self.norm2(w, b) + float(self.penalty @ (slack if self.loss == "hinge" else slack**2))

    def best_bias(self, w: Array) -> float:
        """The b that minimises P(w, b), exactly.

        P(w, .) is convex; its derivative is piecewise linear with break points t_i = y_i - w.x_i, where row i
        becomes active. Sort them, sum the derivative from the left, find where it changes sign. Where P is flat,
        the middle of the interval. Hard margin: of all b with m_i >= 1 the one that makes the smallest margin
        largest (free) or costs least (augmented); where there is none, the one that violates least.
        """
        if self.bias == "none":
            return 0.0
        t = self.y - self.X @ w
        if not np.isfinite(t).all():
            return np.nan
        if self.hard:
            low, high = t[self.y > 0].max(initial=-np.inf), t[self.y < 0].min(initial=np.inf)
            if self.bias == "augmented" and low <= high:
                return float(np.clip(0.0, low, high))
            return float(np.mean([end for end in (low, high) if np.isfinite(end)]))
        ridge = 1.0 / self.s**2 if self.bias == "augmented" else 0.0
        return _zero_of_slope(t, self.y, self.penalty, ridge, squared=self.loss == "squared_hinge")

    # -- dual ----------------------------------------------------------------------------------------------------

    def weights(self, alpha: Array) -> Array:
        """w(alpha) = sum_i alpha_i y_i x_i"""
        return self.X.T @ (alpha * self.y)

    def dual(self, alpha: Array) -> float:
        """D(alpha) for a feasible alpha."""
        norm2 = self.norm2(self.weights(alpha), self.s * self.s * float(alpha @ self.y))
        return float(alpha.sum()) - 0.5 * norm2 - 0.5 * float(self.curvature @ alpha**2)

    def feasible_dual(self, alpha: Array) -> Array:
        """The nearest useful feasible alpha: clipped to the box; with a free bias, sum alpha_i y_i = 0 restored.

        The equality is restored by the free multipliers, in proportion to their distance from the bounds: there
        m_i = 1 near the optimum, so that moving them costs nothing to first order. (An interior point's multipliers
        are all inside the box; those about to reach a bound must not move.) What they cannot take is taken from the
        class with the larger sum, which always suffices.
        """
        alpha = np.clip(alpha, 0.0, self.upper)
        if self.bias != "free":
            return alpha
        for _ in range(3):  # the second and third remove what rounding left
            alpha = self._balanced(alpha)
        return alpha

    def _balanced(self, alpha: Array) -> Array:
        excess = float(alpha @ self.y)
        if excess == 0.0 or not np.isfinite(alpha).all():
            return alpha
        room = np.minimum(alpha, self.upper - alpha)
        total = room.sum()
        if total > 0.0:
            alpha = np.clip(alpha - self.y * room * (np.sign(excess) * min(1.0, abs(excess) / total)), 0, self.upper)
        excess = float(alpha @ self.y)
        if abs(excess) > 1e-12 * float(alpha.sum()):
            larger = self.y * excess > 0
            alpha = np.where(larger, alpha * (alpha[~larger].sum() / alpha[larger].sum()), alpha)
        return alpha

    def bias_interval(self, w: Array, alpha: Array) -> tuple[float, float]:
        """(b_lo, b_hi): for an optimal pair (w, alpha) with a free bias, every b between is optimal."""
        return ends_of_bias(self.y - self.X @ w, self.y, alpha, self.upper)

    def point(self, alpha: Array) -> Point:
        """The primal point that belongs to multipliers alpha."""
        w = self.weights(alpha)
        if self.bias == "augmented":
            return Point(w, self.s * self.s * float(alpha @ self.y), alpha)
        return Point(w, self.best_bias(w), alpha)

    # -- relatives -----------------------------------------------------------------------------------------------

    def with_(self, **changes) -> "Problem":
        return replace(self, **changes)


def problem_key(problem: Problem, digest: str) -> str:
    """The name of a problem in records and references: `digest` names the data, the rest names what is asked of them.

    What is at its default is left out: s = 1, weights that are all 1.
    """
    key = f"{digest[:16]}-C{float(problem.C)!r}-{problem.bias}-{problem.loss}"
    if problem.bias == "augmented" and problem.s != 1.0:
        key += f"-s{float(problem.s)!r}"
    if problem.weight is not None and (problem.weight != 1.0).any():
        key += f"-w{hashlib.sha256(problem.weight.astype('<f8').tobytes()).hexdigest()[:16]}"
    return key


def as_labels(y, n: int) -> Array:
    y = np.ascontiguousarray(y, dtype=np.float64)
    if y.shape != (n,) or not np.isin(y, (-1.0, 1.0)).all():
        raise InputError(f"labels: need {n} values, each -1 or +1")
    return y


def ends_of_bias(t: Array, y: Array, alpha: Array, upper: Array) -> tuple[float, float]:
    """(max t_i over rows whose y_i alpha_i can rise, min t_i over those whose y_i alpha_i can fall).

    With t_i = y_i - w.x_i the bounds on b that the rows set; (w, alpha) is optimal once the first is not the larger.
    """
    rises, falls = alpha < upper, alpha > 0.0
    low = t[np.where(y > 0, rises, falls)].max(initial=-np.inf)
    high = t[np.where(y > 0, falls, rises)].min(initial=np.inf)
    return float(low), float(high)


def _zero_of_slope(t: Array, y: Array, c: Array, ridge: float, squared: bool) -> float:
    """argmin_b ridge b^2 / 2 + sum_i c_i h(y_i (t_i - b)), h the hinge or its square.

    Row i is active for b < t_i when y_i = +1 and for b > t_i when y_i = -1. Between break points the slope is
    A b + B with sums A, B over the active rows. They are taken from both ends, so that nothing cancels in A.
    """
    order = np.argsort(t, kind="stable")
    t, c, positive = t[order], c[order], y[order] > 0

    def active(v: Array) -> tuple[Array, Array]:
        """Sums of v over the rows active on each of the n + 1 pieces: y_i = -1 to its left, y_i = +1 to its right."""
        left = np.cumsum(np.where(positive, 0.0, v))
        right = np.cumsum(np.where(positive, v, 0.0)[::-1])[::-1]
        return np.append(0.0, left), np.append(right, 0.0)

    left, right = active(c)
    if squared:
        A, B = ridge + 2.0 * (left + right), -2.0 * np.add(*active(c * t))
    else:
        A = np.full(t.size + 1, ridge)
        B = np.where(np.abs(left - right) <= 1e-14 * (left + right), 0.0, left - right)  # flat in spite of rounding
    ends = np.concatenate([[-np.inf], t, [np.inf]])  # piece k is ends[k] .. ends[k + 1]
    flat = np.flatnonzero((A == 0.0) & (B == 0.0))
    if flat.size > 0:
        piece = ends[flat[0] : flat[0] + 2]
        return float(piece[np.isfinite(piece)].mean())
    reached = A[:-1] * t + B[:-1] >= 0.0
    k = int(np.argmax(reached)) if reached.any() else t.size  # the first piece with a slope >= 0 at its right end
    return float(np.clip(-B[k] / A[k], ends[k], ends[k + 1]) if A[k] > 0.0 else ends[k])


# -- one C, three lambdas ----------------------------------------------------------------------------------------
#   tikhonov          (1/n) sum hinge + lam ||w||^2          lam = 1 / (2 C n)   objective = P / (C n)
#   regularised sum   lam/2 ||w||^2 + sum hinge              lam = 1 / C         objective = P / C
#   pegasos           lam/2 ||w||^2 + (1/n) sum hinge        lam = 1 / (C n)     objective = P / (C n)


def tikhonov_lambda(C: float, n: int) -> float:
    return 1.0 / (2.0 * C * n)


def sum_lambda(C: float) -> float:
    return 1.0 / C


def pegasos_lambda(C: float, n: int) -> float:
    return 1.0 / (C * n)


def C_of_tikhonov(lam: float, n: int) -> float:
    return 1.0 / (2.0 * lam * n)


def C_of_sum(lam: float) -> float:
    return 1.0 / lam


def C_of_pegasos(lam: float, n: int) -> float:
    return 1.0 / (lam * n)
