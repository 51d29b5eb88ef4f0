"""Programs: what an algorithm is given. A formulation writes a Problem as one of these; a solver accepts some of them.

Each program states its own residual: how far a proposed x is from solving *this* program, whatever it is worth for
the canonical problem. `None` means that the program has no residual that can be computed from x alone.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
import scipy.sparse as sp

from marginbench.harness.matrices import times, transposed_times
from marginbench.harness.model.problem import Array, Matrix, Samples
from marginbench.harness.rowops import CSR, Dense, rows_of, squared_norms


def _first(X: Matrix, k: int) -> Matrix:
    """The first k rows as views: same layout, index type and flags (read-only is another type to numba)."""
    if not sp.issparse(X):
        return X[:k]
    end = X.indptr[: k + 1][-1]
    rows = sp.csr_array((min(k, X.shape[0]), X.shape[1]))
    rows.data, rows.indices, rows.indptr = X.data[:end], X.indices[:end], X.indptr[: k + 1]
    return rows


def two_samples(like: Matrix) -> tuple[Matrix, Array]:
    """x = 1 and x = -1 with these labels, dense or CSR as `like` is."""
    X, y = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
    return sp.csr_array(X) if sp.issparse(like) else X, y


@dataclass(frozen=True, eq=False)
class Program:
    """Base of all programs, so that a solver can say `accepts: tuple[type[Program], ...]`.

    threads: how many a solver may use. One that knows only one thread need not look.
    """

    threads: int = field(default=1, kw_only=True)

    def residual(self, x: Array, dual: Array | None) -> float | None:
        return None

    def smallest(self) -> "Program":
        """A program of the same kind, solved in no time: what a library is warmed up with."""
        return self


@dataclass(frozen=True, eq=False)
class QuadraticProgram(Program):
    """min 1/2 x'Px + q'x  subject to  l <= Ax <= u.

    Multipliers z: Px + q + A'z = 0, z_i <= 0 at l_i, z_i >= 0 at u_i.
    """

    P: sp.csc_array
    q: Array
    A: sp.csc_array
    l: Array
    u: Array

    def objective(self, x: Array) -> float:
        return 0.5 * float(x @ (self.P @ x)) + float(self.q @ x)

    def conic(self) -> tuple["ConeProgram", sp.csr_array]:
        """The constraints with one side each, and the matrix S (entries +-1) that chose them.

        Rows: l_i = u_i as equalities, then a_i x <= u_i, then -a_i x <= -l_i, finite bounds only; so that
        b - SAx lies in the cone, and multipliers z of these rows are S'z of the two-sided ones.
        """
        equal = self.l == self.u
        kinds = [np.flatnonzero(k) for k in (equal, np.isfinite(self.u) & ~equal, np.isfinite(self.l) & ~equal)]
        rows = np.concatenate(kinds)
        sign = np.repeat([1.0, 1.0, -1.0], [k.size for k in kinds])
        S = sp.csr_array((sign, (np.arange(rows.size), rows)), shape=(rows.size, self.l.size))
        b = np.where(sign > 0, self.u[rows], -self.l[rows])
        zero = kinds[0].size
        return ConeProgram(self.q, sp.csc_array(S @ self.A), b, zero, rows.size - zero), S

    def by_kind(self) -> tuple[Array, sp.csr_array, sp.csr_array]:
        """(equal, E, G): which rows have l_i = u_i, these rows of A, and the others."""
        equal, A = self.l == self.u, self.A.tocsr()
        return equal, A[equal], A[~equal]

    def smallest(self) -> "QuadraticProgram":
        return smallest_qp()

    def residual(self, x: Array, dual: Array | None) -> float | None:
        """The largest of primal residual, dual residual and complementarity, each relative to its own terms."""
        if dual is None:
            return None
        Ax, Px, Az = self.A @ x, self.P @ x, self.A.T @ dual
        outside = np.maximum(0.0, np.maximum(self.l - Ax, Ax - self.u))
        primal = outside.max(initial=0.0) / (1.0 + np.abs(Ax).max(initial=0.0))
        scale = 1.0 + max(np.abs(Px).max(initial=0.0), np.abs(Az).max(initial=0.0), np.abs(self.q).max(initial=0.0))
        stationarity = np.abs(Px + self.q + Az).max(initial=0.0) / scale
        # z_i > 0 is only allowed at u_i and z_i < 0 only at l_i: their products with the distance must vanish.
        up, low = np.maximum(dual, 0.0), np.maximum(-dual, 0.0)
        to_u = np.where(up > 0.0, np.where(np.isinf(self.u), 1.0, self.u - Ax), 0.0)
        to_l = np.where(low > 0.0, np.where(np.isinf(self.l), 1.0, Ax - self.l), 0.0)
        slackness = float(up @ np.abs(to_u) + low @ np.abs(to_l)) / (1.0 + abs(self.objective(x)))
        return float(np.max([primal, stationarity, slackness]))  # np.max, unlike max, keeps NaN


def smallest_qp() -> QuadraticProgram:
    """min 1/2 x^2 + x, 0 <= x <= 1"""
    eye = sp.csc_array(np.eye(1))
    return QuadraticProgram(eye, np.ones(1), eye, np.zeros(1), np.ones(1))


@dataclass(frozen=True, eq=False)
class OnSamples(Samples, Program):
    """A program that keeps the samples as they are: rows x_i of X with labels y_i."""

    X: Matrix
    y: Array

    per_sample: ClassVar[tuple[str, ...]]
    """Fields that hold a number for each sample."""

    @cached_property
    def rows(self) -> Dense | CSR:
        """X for compiled kernels (`marginbench.harness.rowops`)."""
        return rows_of(self.X)

    def head(self, k: int = 2) -> Self:
        """The program of the first k samples, on views: kernels compiled for it are compiled for this one."""
        return replace(self, X=_first(self.X, k), **{name: getattr(self, name)[:k] for name in self.per_sample})


RAY = 1e-8
"""||w(alpha)|| / (sum_i alpha_i max ||x_i||) from which on a hard margin is called impossible."""


@dataclass(frozen=True, eq=False)
class BoxDual(OnSamples):
    """max sum_i a_i - 1/2 ||sum_i a_i y_i x_i||^2 - 1/2 sum_i curvature_i a_i^2,  0 <= a_i <= upper_i
    and, where `equality`, sum_i a_i y_i = 0.

    The dual of every loss here: hinge (curvature 0), squared hinge (upper inf), smoothed hinge (both finite).
    The Gram matrix is never formed. x is alpha; the optional dual of the dual is (w, b).
    """

    upper: Array
    curvature: Array
    equality: bool = False

    per_sample = ("y", "upper", "curvature")

    def smallest(self) -> "BoxDual":
        X, y = two_samples(self.X)
        return replace(self, X=X, y=y, upper=np.ones(2), curvature=np.zeros(2))

    def gradient(self, alpha: Array, b: float = 0.0) -> Array:
        """Gradient of the negated objective: m_i - 1 + curvature_i alpha_i at w(alpha)."""
        return self.y * (self.scores(self.image(alpha)) + b) - 1.0 + self.curvature * alpha

    def squares(self) -> Array:
        """||x_i||^2"""
        return squared_norms(self.rows, self.n)

    def image(self, alpha: Array) -> Array:
        """w(alpha)"""
        return transposed_times(self.X, alpha * self.y)

    def scores(self, w: Array) -> Array:
        """w.x_i"""
        return times(self.X, w)

    def norm2(self, alpha: Array, w: Array) -> float:
        """||w(alpha)||^2"""
        return float(w @ w)

    def falls_without_end(self, alpha: Array, w: Array, radius: float) -> bool:
        """Hard margin, and w(alpha) is 0 beside sum_i alpha_i max ||x_i||: alpha / sum alpha shows that the hulls meet.

        w: w(alpha). radius: max ||x_i||.
        """
        total = float(alpha.sum())
        endless = total > 0.0 and bool(np.isinf(self.upper).any())
        return endless and float(np.linalg.norm(w)) <= RAY * radius * total

    def residual(self, x: Array, dual: Array | None) -> float | None:
        """`box_residual`; None where the b of the equality is not known."""
        b = float(dual[-1]) if self.equality and dual is not None else 0.0
        if self.equality and dual is None:
            return None
        return box_residual(x, self.gradient(x, b), self.y, self.upper, self.equality)


def box_residual(x: Array, gradient: Array, y: Array, upper: Array, equality: bool) -> float:
    """||alpha - clip(alpha - gradient)||_inf, the violation of the optimality conditions. Relative to the box where
    that is smaller than 1: with a small C every alpha is small, right or wrong."""
    scale = np.minimum(upper, 1.0)
    step = (x - np.clip(x - scale * gradient, 0.0, upper)) / scale
    balance = abs(float(x @ y)) / scale.max() if equality else 0.0
    return float(np.max([np.abs(step).max(), balance]))


@dataclass(frozen=True)
class Hinge:
    """h(z) = max(0, z), z = 1 - m."""

    def value(self, m: Array) -> Array:
        return np.maximum(0.0, 1.0 - m)

    def slope(self, m: Array) -> Array:
        """-dh/dm, an element of [0, 1]."""
        return (m < 1.0).astype(float)


@dataclass(frozen=True)
class SmoothedHinge:
    """One-sided Huber: h(z) = 0 for z <= 0, z^2/(2 delta) for z <= delta, z - delta/2 beyond; z = 1 - m."""

    delta: float

    def value(self, m: Array) -> Array:
        z = np.maximum(0.0, 1.0 - m)
        return np.where(z <= self.delta, z**2 / (2.0 * self.delta), z - self.delta / 2.0)

    def slope(self, m: Array) -> Array:
        return np.clip((1.0 - m) / self.delta, 0.0, 1.0)


@dataclass(frozen=True)
class SquaredHinge:
    """h(z) = max(0, z)^2, z = 1 - m."""

    def value(self, m: Array) -> Array:
        return np.maximum(0.0, 1.0 - m) ** 2

    def slope(self, m: Array) -> Array:
        return 2.0 * np.maximum(0.0, 1.0 - m)


@dataclass(frozen=True)
class PerceptronLoss:
    """h = max(0, gamma - m): the perceptron criterion (gamma = 0) and its version with a margin."""

    gamma: float = 0.0

    def value(self, m: Array) -> Array:
        return np.maximum(0.0, self.gamma - m)

    def slope(self, m: Array) -> Array:
        return (m <= self.gamma).astype(float)


Loss = Hinge | SmoothedHinge | SquaredHinge | PerceptronLoss


@dataclass(frozen=True, eq=False)
class RegularisedRisk(OnSamples):
    """min lam/2 ||w||^2 + sum_i weight_i h(m_i), m_i = y_i (w.x_i + b); b = 0 unless `intercept`.

    x is w, followed by b where `intercept`.
    """

    lam: float
    weight: Array
    loss: Loss
    intercept: bool = False

    per_sample = ("y", "weight")

    def smallest(self) -> "RegularisedRisk":
        X, y = two_samples(self.X)
        return replace(self, X=X, y=y, lam=1.0, weight=np.ones(2))

    def margins(self, x: Array) -> Array:
        return self.y * (times(self.X, x[: self.d]) + (x[-1] if self.intercept else 0.0))

    def objective(self, x: Array) -> float:
        w = x[: self.d]
        return 0.5 * self.lam * float(w @ w) + float(self.weight @ self.loss.value(self.margins(x)))

    def gradient(self, x: Array) -> Array:
        """The gradient, or for a loss with a kink the subgradient that the loss chooses there."""
        pull = self.weight * self.y * self.loss.slope(self.margins(x))
        g = self.lam * x[: self.d] - transposed_times(self.X, pull)
        return np.append(g, -pull.sum()) if self.intercept else g

    def residual(self, x: Array, dual: Array | None) -> float | None:
        """Gradient norm relative to that of its two terms, where the loss is smooth; share of mistakes (perceptron)."""
        if isinstance(self.loss, PerceptronLoss):
            return float(1.0 - (self.margins(x) > self.loss.gamma).mean())  # NaN is a mistake
        if isinstance(self.loss, Hinge):
            return None
        g = self.gradient(x)
        scale = self.lam * float(np.linalg.norm(x[: self.d])) + float(np.linalg.norm(self.gradient(0.0 * x)))
        return 0.0 if scale == 0.0 else float(np.linalg.norm(g)) / scale


@dataclass(frozen=True, eq=False)
class ConeProgram(Program):
    """min c'x  subject to  b - Ax in the product of `zero` equalities, `nonnegative` rows and second-order cones.

    Rows come in that order; `cones` lists the sizes of the second-order cones {(t, v): ||v|| <= t}.
    Multipliers z: c + A'z = 0 with z in the dual cone.
    """

    c: Array
    A: sp.csc_array
    b: Array
    zero: int = 0
    nonnegative: int = 0
    cones: tuple[int, ...] = ()

    @property
    def P(self) -> sp.csc_array:
        """The objective has no quadratic term: 0."""
        return sp.csc_array((self.c.size, self.c.size))

    def conic(self) -> tuple["ConeProgram", sp.csr_array]:
        """Itself, as `QuadraticProgram.conic`."""
        return self, sp.csr_array(sp.eye_array(self.b.size))

    def smallest(self) -> "ConeProgram":
        """min x, x >= 0"""
        return ConeProgram(np.ones(1), sp.csc_array(-np.eye(1)), np.zeros(1), nonnegative=1)

    def residual(self, x: Array, dual: Array | None) -> float | None:
        """The largest of: distance to the cone and to its dual, dual residual, gap; each relative to its terms.

        The dual cone is the cone itself, but for the equalities, whose multipliers are free.
        """
        if dual is None:
            return None
        slack = self.b - self.A @ x
        free = np.where(np.arange(slack.size) < self.zero, 0.0, dual)
        primal = self._outside(slack) / (1.0 + np.abs(slack).max(initial=0.0))
        signs = self._outside(free) / (1.0 + np.abs(free).max(initial=0.0))
        Az = self.A.T @ dual
        stationarity = np.abs(self.c + Az).max() / (1.0 + max(np.abs(self.c).max(), np.abs(Az).max()))
        gap = abs(float(self.c @ x + self.b @ dual)) / (1.0 + abs(float(self.c @ x)))
        return float(np.max([primal, signs, stationarity, gap]))

    def _outside(self, slack: Array) -> float:
        """The largest violation of a row or cone; NaN when there is one."""
        k = self.zero + self.nonnegative
        worst = [np.abs(slack[: self.zero]).max(initial=0.0), -slack[self.zero : k].min(initial=0.0)]
        for size in self.cones:
            worst.append(np.linalg.norm(slack[k + 1 : k + size]) - slack[k])
            k += size
        return float(np.max([0.0, *worst]))
