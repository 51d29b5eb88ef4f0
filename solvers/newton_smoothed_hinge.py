"""Newton's method on the smoothed hinge (and the squared hinge, by the same steps).

Program   min_{w,b} F = lam/2 ||w||^2 + sum_i c_i h(z_i), z_i = 1 - y_i (w.x_i + b), c_i the weights; b = 0 without
          an intercept. h'(z) = clip(kappa z, 0, cap): kappa = 1/delta, cap = 1 for the smoothed hinge, kappa = 2,
          cap = inf for the squared one. F is C^1 and piecewise quadratic.
Update    with the curved set {i: 0 < kappa z_i < cap}, of which H is a generalised Hessian: (w, b) -= t H^{-1} F',
              H = lam diag(1, ..., 1, 0) + kappa sum over the curved set of c_i (x_i, 1)(x_i, 1)',
          t an almost exact minimiser along the step: the derivative there is piecewise linear and monotone.
          H is solved by Cholesky, d x d or, by Woodbury's formula, in the size of the curved set; by conjugate
          gradients without forming H where both exceed `direct`.
          Free bias and an empty curved set: H is singular in b; b is moved alone to its minimiser first.
Path      delta starts so large that no sample is far from its curved part and the first step from w = 0 is a ridge
          regression, and falls tenfold, to the program's own, whenever a step gained less than 1e-4 of F. Then
          the first step assumes that the curved set stays, since it is z / delta, not z, that changes little.
Dual      alpha_i = c_i h'(z_i) / lam, inside the canonical box; w = w(alpha) at the optimum of every delta.
Done      when the gradient is at the level of rounding: once the curved set is right, one step is exact.

Keerthi and DeCoste 2005 and Chapelle 2007 (squared and Huber hinge); P(w_delta) - P* <= sum_i C_i delta / 2
in the canonical problem, C_i = c_i / lam.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
import scipy.sparse as sp
from numba import njit
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from harness.kernels.rows import FAST, add, dot, norm2
from harness.problem import Array, InputError
from harness.programs import Program, RegularisedRisk, SmoothedHinge, SquaredHinge
from harness.solver import Claim, Iterate, Solver

BLOCK = 2048  # rows of X copied at a time where BLAS sums the Hessian


@njit(cache=True, fastmath=FAST)
def line_search(z, q, c, kappa, cap, slope, curvature):
    """t > 0 where phi'(t) = slope + t curvature - sum_i c_i q_i h'(z_i - t q_i) is near 0; phi'(0) < 0.

    Newton's method in a bracket from t = 1; ends at |phi'(t)| <= |phi'(0)| / 100, or when t stands still.
    """
    first, lo, hi, t = 0.0, 0.0, np.inf, 0.0
    for trial in range(100):
        f, df = slope + t * curvature, curvature
        for i in range(z.size):
            h = kappa * (z[i] - t * q[i])
            if h > 0.0:
                f -= c[i] * q[i] * min(h, cap)
                if h < cap:
                    df += c[i] * q[i] * q[i] * kappa
        if trial == 0:
            first, t = f, 1.0
            continue
        if abs(f) <= 0.01 * abs(first):
            return t
        if f < 0.0:
            lo = t
        else:
            hi = t
        new = t - f / df if df > 0.0 else np.inf
        if not lo < new < hi:
            new = 2.0 * t if hi == np.inf else 0.5 * (lo + hi)
        if new == t:
            return t
        t = new
    return t


@njit(cache=True, fastmath=FAST)
def mean_square(rows, c):
    """The mean of c_i ||x_i||^2."""
    total = 0.0
    for i in range(c.size):
        total += c[i] * norm2(rows, i)
    return total / c.size


@njit(cache=True, fastmath=FAST)
def hessian_product(rows, curved, weight, lam, intercept, v, out):
    """out = H v; weight_k = kappa c_i of the k-th curved sample."""
    d = v.size - 1 if intercept else v.size
    out[:d] = lam * v[:d]
    out[d:] = 0.0
    for k in range(curved.size):
        f = dot(rows, curved[k], v)
        if intercept:
            f += v[d]
        f *= weight[k]
        add(rows, curved[k], f, out)
        if intercept:
            out[d] += f


@njit(cache=True, fastmath=FAST)
def sparse_hessian(rows, curved, weight, H):
    """H += sum over curved CSR rows of weight x x'."""
    for k in range(curved.size):
        i = curved[k]
        for e in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
            add(rows, i, weight[k] * rows.data[e], H[np.uint64(rows.indices[e])])


@njit(cache=True, fastmath=FAST)
def sparse_diagonal(rows, curved, weight, out):
    """out += the diagonal of the same sum."""
    for k in range(curved.size):
        i = curved[k]
        for e in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
            out[np.uint64(rows.indices[e])] += weight[k] * rows.data[e] ** 2


def diagonal(program: RegularisedRisk, curved: Array, weight: Array) -> Array:
    """The diagonal of H."""
    out = np.full(program.d, program.lam)
    if sp.issparse(program.X):
        sparse_diagonal(program.rows, curved, weight, out)
    else:
        for start in range(0, curved.size, BLOCK):
            part = slice(start, start + BLOCK)
            out += weight[part] @ program.X[curved[part]] ** 2
    return np.append(out, weight.sum()) if program.intercept else out


def gradient(program: RegularisedRisk, x: Array, slope: Array) -> Array:
    """F' where h' has the values `slope`."""
    pull = program.weight * program.y * slope
    g = program.lam * x[: program.d] - program.X.T @ pull
    return np.append(g, -pull.sum()) if program.intercept else g


def cholesky_step(program: RegularisedRisk, curved: Array, weight: Array, g: Array) -> Array:
    """-H^{-1} g by the matrix H itself."""
    X, d = program.X, program.d
    H = np.zeros((g.size, g.size))
    if sp.issparse(X):
        sparse_hessian(program.rows, curved, weight, H)
    else:
        for start in range(0, curved.size, BLOCK):
            part = slice(start, start + BLOCK)
            U = X[curved[part]] * np.sqrt(weight[part, None])
            H[:d, :d] += U.T @ U
    if program.intercept:
        everywhere = np.zeros(program.n)
        everywhere[curved] = weight
        H[d, :d] = H[:d, d] = X.T @ everywhere
        H[d, d] = weight.sum()
    np.einsum("ii->i", H)[:d] += program.lam
    return -positive_solver(H)(g)


def woodbury_step(program: RegularisedRisk, curved: Array, weight: Array, g: Array) -> Array:
    """-H^{-1} g by a system in the size of the curved set.

    With U = sqrt(weight) X and r = sqrt(weight) over it, the step (p, beta) has p = -(g_w + U'q) / lam for
    q = U p + r beta, hence (lam I + U U') q = lam r beta - U g_w, and r'q = -g_b fixes beta.
    """
    d, lam, r = program.d, program.lam, np.sqrt(weight)
    if curved.size == 0:
        return -g / lam if not program.intercept else np.append(-g[:d] / lam, 0.0)
    X = program.X[curved]
    K = X @ X.T
    K = (K.toarray() if sp.issparse(K) else K) * np.outer(r, r)
    np.einsum("ii->i", K)[:] += lam
    solve = positive_solver(K)
    q = -solve(r * (X @ g[:d]))
    if not program.intercept:
        return -(g + X.T @ (r * q)) / lam
    ray = solve(lam * r)
    beta = -(g[d] + r @ q) / (r @ ray)
    return np.append(-(g[:d] + X.T @ (r * (q + beta * ray))) / lam, beta)


def conjugate_gradient_step(program: RegularisedRisk, curved: Array, weight: Array, g: Array, rel: float) -> Array:
    """-H^{-1} g, preconditioned by H's diagonal, to a residual that shrinks with that of the gradient (`rel`)."""
    M = diagonal(program, curved, weight)
    p, r, Hv = np.zeros(g.size), -g, np.empty(g.size)
    v = r / M
    rr = float(r @ v)
    target = min(0.1, np.sqrt(rel)) ** 2 * rr
    for _ in range(1000):
        if rr <= target:
            break
        hessian_product(program.rows, curved, weight, program.lam, program.intercept, v, Hv)
        t = rr / float(v @ Hv)
        p, r = p + t * v, r - t * Hv
        rr, before = float(r @ (r / M)), rr
        v = r / M + rr / before * v
    return p


def positive_solver(H: Array) -> Callable[[Array], Array]:
    """v -> H^{-1} v; where rounding made H indefinite, with as little added to its diagonal as helps."""
    shift = 0.0
    while True:
        try:
            factor = cho_factor(H + shift * np.eye(len(H)) if shift else H, check_finite=False)
            return lambda v: cho_solve(factor, v, check_finite=False)
        except LinAlgError:
            shift = max(100.0 * shift, 1e-15 * float(H.diagonal().max()))


@dataclass(frozen=True)
class NewtonSmoothedHinge(Solver):
    accepts = (RegularisedRisk,)

    direct: int = 2000

    def __post_init__(self) -> None:
        if self.direct < 0:
            raise InputError(f"solver.direct={self.direct}: needs the size of the largest dense system, at least 0")

    def refuses(self, program: Program) -> str | None:
        assert isinstance(program, RegularisedRisk)
        if not isinstance(program.loss, SmoothedHinge | SquaredHinge):
            return f"Newton's method needs a smooth loss, not the {type(program.loss).__name__}"
        if not program.lam > 0.0:
            return f"Newton's method needs lam > 0, not {program.lam}"
        return None

    def warm_up(self, program: Program) -> None:
        assert isinstance(program, RegularisedRisk)
        head = program.head()
        list(islice(self.iterates(head), 2))
        curved, v = np.arange(head.n), np.zeros(head.d + head.intercept)
        conjugate_gradient_step(head, curved, np.ones(head.n), v + 1.0, 1.0)
        if sp.issparse(head.X):
            sparse_hessian(head.rows, curved[:0], np.ones(0), np.empty((2, 2)))

    def iterates(self, program: Program) -> Iterator[Iterate]:
        assert isinstance(program, RegularisedRisk)
        y, c, lam, d = program.y, program.weight, program.lam, program.d
        if isinstance(program.loss, SmoothedHinge):
            target, cap = program.loss.delta, 1.0
        else:
            target, cap = 0.5, np.inf  # (z^2)' = z / 0.5, with no end
        delta = max(target, 2.0, mean_square(program.rows, c) / lam)
        x, z = np.zeros(d + program.intercept), np.ones(program.n)
        scale = float(np.linalg.norm(gradient(program, x, np.clip(z / target, 0.0, cap))))
        best, stalled, gain, value = np.inf, 0, np.inf, 1.0
        while True:
            slope = np.clip(z / delta, 0.0, cap)
            curved = np.flatnonzero((slope > 0.0) & (slope < cap))
            g = gradient(program, x, slope)
            norm = float(np.linalg.norm(g))
            rel = norm / (scale + lam * float(np.linalg.norm(x[:d]))) if norm > 0.0 else 0.0
            best, stalled = min(best, rel), 0 if rel < 0.5 * best else stalled + 1
            at_rest = (stalled > 1 and gain <= 1e-15 * value) or (stalled > 8 and rel <= 1e-6)
            done = delta == target and (rel <= 1e-15 or at_rest)
            claim: Claim = "" if not done else "converged" if rel <= 1e-8 else "inaccurate"
            if done or gain < np.inf:
                yield Iterate(x, c * slope / lam, claim, info={"delta": delta, "curved": curved.size})
            if done:
                return
            p = None
            if delta > target and gain <= 1e-4 * value:  # on to the next delta, as if the curved set stayed
                delta, best = max(target, 0.1 * delta), np.inf
                slope[curved] = z[curved] / delta
                p = self._step(program, curved, c[curved] / delta, gradient(program, x, slope), rel)
                slope = np.clip(z / delta, 0.0, cap)
                curved = np.flatnonzero((slope > 0.0) & (slope < cap))
                g = gradient(program, x, slope)
            if p is None or g @ p >= 0.0:
                p = self._step(program, curved, c[curved] / delta, g, rel)
            q = y * (program.X @ p[:d] + (p[d] if program.intercept else 0.0))
            pull = lam * float(x[:d] @ p[:d]), lam * float(p[:d] @ p[:d])
            x = x + line_search(z, q, c, 1.0 / delta, cap, *pull) * p
            z = 1.0 - program.margins(x)
            gain = -float(g @ p)
            value = 0.5 * lam * float(x[:d] @ x[:d]) + float(c @ np.maximum(z, 0.0))

    def _step(self, program: RegularisedRisk, curved: Array, weight: Array, g: Array, rel: float) -> Array:
        if curved.size == 0 and program.intercept and abs(g[-1]) > 1e-10 * float(program.weight.sum()):
            return np.append(np.zeros(program.d), -np.sign(g[-1]))  # H is singular: b alone
        if min(curved.size, program.d) > self.direct:
            return conjugate_gradient_step(program, curved, weight, g, rel)
        return (woodbury_step if curved.size < program.d else cholesky_step)(program, curved, weight, g)
