"""The canonical max-margin problem, its dual, and the moves between the two.

    P(w, b)  = 1/2 ||w||^2 + sum_i C_i max(0, 1 - m_i)                       minimise
    D(alpha) = sum_i alpha_i - 1/2 ||w(alpha)||^2,   0 <= alpha_i <= C_i     maximise

with m_i = y_i (w.x_i + b), w(alpha) = sum_i alpha_i y_i x_i and C_i = C * weight_i.

Weak duality, P(w, b) >= D(alpha) for every (w, b) and every feasible alpha, is what everything else rests on.

The bias is a property of the problem. `none`: b = 0. `free`: b is not penalised, and the dual gains
sum_i alpha_i y_i = 0. `augmented`: x gains a constant feature s, so that b = s w_{d+1} is penalised by b^2 / (2 s^2).
The squared hinge is another problem: P has C_i max(0, 1 - m_i)^2; D loses alpha_i^2 / (4 C_i) and the upper bound.
C = inf is the hard margin: minimise 1/2 ||w||^2 subject to m_i >= 1.

With a kernel (`kernel.py`) x_i stands for phi(x_i), which has no coordinates. w = sum_j c_j phi(x_j) is given by its
coefficients c: wherever a w is asked for, it is c, n numbers. With G = `gram` then w.phi(x_i) = (G c)_i and
||w||^2 = c'Gc, and w(alpha) is c_i = alpha_i y_i.
"""

import hashlib
import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp

from marginbench.harness.errors import InputError as InputError
from marginbench.harness.matrices import all_finite, as_matrix, lengths_above, times, transposed_times
from marginbench.harness.model.best_bias import ends_of_bias, zero_of_slope
from marginbench.harness.model.gram import fits, gram_of, scores
from marginbench.harness.model.kernel import Kernel

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
    kernel: Kernel | None = None
    """None: the linear problem."""
    left_out: str = ""
    """Which rows of the data are not in X, as a hash: those of weight 0. Empty where all are."""
    memory_mb: float = math.inf  # for the matrix of a kernel (`within`)

    def __post_init__(self) -> None:
        if self.bias not in ("none", "free", "augmented"):
            raise InputError(f"problem.bias={self.bias}: possible are none, free, augmented")
        if self.loss not in ("hinge", "squared_hinge"):
            raise InputError(f"problem.loss={self.loss}: possible are hinge, squared_hinge")
        C, s = _number(self.C), _number(self.s)
        if not C > 0.0:
            raise InputError(f"problem.C={self.C}: C must be a number above 0, or inf for the hard margin")
        if not 0.0 < s < np.inf:
            raise InputError(f"problem.s={self.s}: the constant feature must be a finite number above 0")
        object.__setattr__(self, "C", C)  # C = 1 is C = 1.0, to kernels too
        object.__setattr__(self, "s", s)
        object.__setattr__(self, "X", as_matrix(self.X, single=self.kernel is None))
        if self.X.ndim != 2 or 0 in self.X.shape:
            raise InputError(f"data: shape {self.X.shape}; needs rows and columns, at least one of each")
        if not all_finite(self.X):
            raise InputError("data: has NaN or infinite entries; every entry must be finite")
        object.__setattr__(self, "y", as_labels(self.y, self.X.shape[0]))
        if self.weight is not None:
            weight = np.ascontiguousarray(self.weight, dtype=float)
            if weight.shape != (self.n,) or not (np.isfinite(weight).all() and (weight > 0).all()):
                raise InputError(f"weight: needs {self.n} finite numbers above 0")
            object.__setattr__(self, "weight", weight)
        if self.kernel is not None:
            _ = self.eps  # data of which K leaves double precision are refused here

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

    @property
    def size(self) -> int:
        """How many numbers a w has."""
        return self.d if self.kernel is None else self.n

    @property
    def scored(self) -> Matrix:
        """The matrix whose product with w is w.x_i: X, or G where there is a kernel."""
        return self.X if self.kernel is None else self.gram

    @cached_property
    def eps(self) -> float:
        """What is added to the diagonal of K, proven to make it positive semidefinite (`kernel.py`)."""
        assert self.kernel is not None
        return self.kernel.eps(self.X, self._lengths)

    def within(self, memory_mb: float) -> "Problem":
        """This problem, told how much memory there is: where `gram` does not fit, its rows are computed."""
        object.__setattr__(self, "memory_mb", memory_mb)
        return self

    @property
    def by_rows(self) -> bool:
        """Whether the matrix of the kernel does not fit (an augmented bias makes a second one)."""
        return self.kernel is not None and not fits(self.n, 1 + (self.bias == "augmented"), self.memory_mb)

    @cached_property
    def gram(self) -> Matrix:
        """G = K + eps I, the diagonal rounded up: an array or, where that does not fit, `KernelRows`."""
        assert self.kernel is not None
        return gram_of(self.kernel, self.X, self.eps, self.memory_mb if self.by_rows else None)

    @cached_property
    def features(self) -> Matrix:
        """X (or G, `scored`), with the constant feature as its last column when the bias is augmented."""
        if self.bias != "augmented":
            return self.scored
        single = self.scored.dtype == np.float32 and abs(self.s) < 1e38 and float(np.float32(self.s)) == self.s
        column = np.full((self.n, 1), self.s, np.float32 if single else np.float64)
        if sp.issparse(self.scored):
            return as_matrix(sp.hstack([self.scored, sp.csr_array(column)], format="csr"), single=True)
        return np.hstack([self.scored, column])

    def with_features(self, features: Matrix | None) -> "Problem":
        """This problem, told what its `features` are, so that it need not make them; None tells nothing."""
        wider = self.bias == "augmented" and self.kernel is None
        if features is not None and features.shape == (self.n, self.d + 1) and wider:
            self.__dict__["features"] = features
        return self

    @cached_property
    def row_norms(self) -> Array:
        """Upper bounds of ||x_i||, or of ||phi(x_i)||; a few units in the last place above it."""
        return self._lengths if self.kernel is None else np.sqrt(self.gram.diagonal()) * (1.0 + 2.0**-50)

    @cached_property
    def _lengths(self) -> Array:
        """Upper bounds of ||x_i||; inf where its square overflows."""
        return lengths_above(self.X)

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
        m = times(self.scored, w)
        m += b
        m *= self.y
        return m

    def norm2(self, w: Array, b: float = 0.0) -> float:
        """||w||^2, with (b/s)^2 when the bias is augmented."""
        constant = b / self.s if self.bias == "augmented" else 0.0
        own = float(w @ w) if self.kernel is None else float(w @ (self.gram @ w))
        return own + constant * constant

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
        t = self.y - times(self.scored, w)
        if not np.isfinite(t).all():
            return np.nan
        if self.hard:
            low, high = t[self.y > 0].max(initial=-np.inf), t[self.y < 0].min(initial=np.inf)
            if self.bias == "augmented" and low <= high:
                return float(np.clip(0.0, low, high))
            return float(np.mean([end for end in (low, high) if np.isfinite(end)]))
        ridge = 1.0 / self.s**2 if self.bias == "augmented" else 0.0
        return zero_of_slope(t, self.y, self.penalty, ridge, squared=self.loss == "squared_hinge")

    def scores_of(self, X: Matrix, w: Array) -> Array:
        """w.x of other rows x, in plain float64."""
        return times(X, w) if self.kernel is None else scores(self.kernel, X, self.X, w)

    # -- dual ----------------------------------------------------------------------------------------------------

    def weights(self, alpha: Array) -> Array:
        """w(alpha) = sum_i alpha_i y_i x_i"""
        return transposed_times(self.X, alpha * self.y) if self.kernel is None else alpha * self.y

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
        return ends_of_bias(self.y - times(self.scored, w), self.y, alpha, self.upper)

    def point(self, alpha: Array) -> Point:
        """The primal point that belongs to multipliers alpha."""
        w = self.weights(alpha)
        if self.bias == "augmented":
            return Point(w, self.s * self.s * float(alpha @ self.y), alpha)
        return Point(w, self.best_bias(w), alpha)

    # -- relatives -----------------------------------------------------------------------------------------------

    def with_(self, **changes) -> "Problem":
        other = replace(self, **changes)
        same = other.X is self.X and (other.kernel, other.by_rows) == (self.kernel, self.by_rows)
        if same and "gram" in self.__dict__:
            other.__dict__["gram"] = self.gram  # made once for all
        return other


def problem_key(problem: Problem, digest: str) -> str:
    """The name of a problem in records and references: `digest` names the data, the rest names what is asked of them.

    What is at its default is left out: s = 1, weights that are all 1, the linear kernel.
    """
    key = f"{digest[:16]}-C{float(problem.C)!r}-{problem.bias}-{problem.loss}"
    if problem.bias == "augmented" and problem.s != 1.0:
        key += f"-s{float(problem.s)!r}"
    if problem.weight is not None and (problem.weight != 1.0).any():
        key += f"-w{hashlib.sha256(problem.weight.astype('<f8').tobytes()).hexdigest()[:16]}"
    if problem.left_out:
        key += f"-x{problem.left_out}"
    return key if problem.kernel is None else f"{key}-{problem.kernel.key}"


def _number(given: object) -> float:
    """The float of a number; NaN for anything else, and for an integer that no float reaches."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        return math.nan
    try:
        return float(given)
    except OverflowError:
        return math.nan


def as_labels(y, n: int) -> Array:
    y = np.ascontiguousarray(y, dtype=np.float64)
    if y.shape != (n,) or not np.isin(y, (-1.0, 1.0)).all():
        raise InputError(f"labels: need {n} values, each -1 or +1")
    return y
