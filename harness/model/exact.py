"""Balls: numbers with a proven error, in vectors, at about twice the precision of float64.

A ball (h, l, r) stands for one real number t with |t - (h + l)| <= 2 r. A vector of balls is an array of shape (n, 3).
Floats are exact rationals, and a float x is the ball (x, 0, 0). Why no ball ever loses its number:

1. `two_sum` (Knuth) and `two_product` (Dekker) are error free in IEEE binary64 with rounding to nearest:
   a + b = s + t and a b = p + e hold exactly. Knuth's holds for all floats as long as nothing overflows, Dekker's
   also needs |a b| >= 2^-969 so that e is not rounded away.
2. So h collects terms exactly up to t, l collects the t and the e exactly up to their own errors, and only those
   last errors, about 2^-106 of the terms, are given up: their absolute values are added to r.
3. A product that is not 0 but below 2^-900 is taken as 0, and 2^-899 is added to r. The same is added wherever r
   itself is a product that could underflow.
4. r is made by additions and multiplications of numbers >= 0, each too small by a factor of at most 1 - 2^-53. Fewer
   than 2^50 of them follow on one another, hence the true bound is below r / (1 - 2^-53)^(2^50) < 2 r.
5. Overflow cannot hide: s or p infinite makes t or e NaN, then r is NaN and stays NaN; `bounds` then says
   [-inf, inf].

Nothing here may be compiled with fastmath: reassociation or contraction would undo (1). A function that says nothing
gets from numba the flags of the one that it is first compiled for, so that all of these say it (`strict`).
"""

import numpy as np
from numba import njit

from marginbench.harness.model.problem import Array, Matrix

strict = njit(cache=True, fastmath=False)

SPLIT = 2.0**27 + 1.0
SMALL = 2.0**-900
TINY = 2.0**-899


@strict
def two_sum(a, b):
    """(s, t): s = fl(a + b), s + t = a + b"""
    s = a + b
    z = s - a
    return s, (a - (s - z)) + (b - z)


@strict
def two_product(a, b):
    """(p, e): p = fl(a b), p + e = a b"""
    p = a * b
    c = SPLIT * a
    a1 = c - (c - a)
    a2 = a - a1
    c = SPLIT * b
    b1 = c - (c - b)
    b2 = b - b1
    return p, a2 * b2 - (((p - a1 * b1) - a2 * b1) - a1 * b2)


@strict
def _add(h, l, r, x):
    """ball + x"""
    h, t = two_sum(h, x)
    l, t = two_sum(l, t)
    return h, l, r + abs(t)


@strict
def _add_product(h, l, r, a, b):
    """ball + a b"""
    if abs(a * b) < SMALL:
        return h, l, r + (TINY if a != 0.0 and b != 0.0 else 0.0)
    p, e = two_product(a, b)
    h, l, r = _add(h, l, r, p)
    l, t = two_sum(l, e)
    return h, l, r + abs(t)


@strict
def _add_balls(h, l, r, x, z):
    """ball + x z for balls x, z, with |x| <= |x_h| + |x_l|"""
    h, l, r = _add_product(h, l, r, x[0], z[0])
    h, l, r = _add_product(h, l, r, x[0], z[1])
    h, l, r = _add_product(h, l, r, x[1], z[0])
    h, l, r = _add_product(h, l, r, x[1], z[1])
    if not (x[2] == 0.0 and z[2] == 0.0):
        # 2 r_x 2 r_z = 2 (2 r_x r_z)
        r += (abs(x[0]) + abs(x[1])) * z[2] + (abs(z[0]) + abs(z[1])) * x[2] + 2.0 * x[2] * z[2] + TINY
    return h, l, r


@strict
def _normal(h, l, r):
    """The same ball with h = fl(h + l)"""
    h, l = two_sum(h, l)
    return h, l, r


@strict
def dot(x, z):
    """sum_i x_i z_i of two vectors of balls"""
    h, l, r = 0.0, 0.0, 0.0
    for i in range(x.shape[0]):
        h, l, r = _add_balls(h, l, r, x[i], z[i])
    return np.array(_normal(h, l, r))


@strict
def times(x, z):
    """x_i z_i"""
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        h, l, r = _add_balls(0.0, 0.0, 0.0, x[i], z[i])
        out[i] = _normal(h, l, r)
    return out


@strict
def inverse(c):
    """1 / c_i for floats c_i > 0.

    With q = fl(1 / c) and rho = 1 - c q, |rho| <= 2^-52: 1 / c = q / (1 - rho) = q + q rho + q rho^2 / (1 - rho).
    1 - p is exact (Sterbenz); the two roundings left, and the last term, are each below 2^-103 q.
    """
    out = np.empty((c.size, 3))
    for i in range(c.size):
        q = 1.0 / c[i]
        p, e = two_product(c[i], q)
        rho = (1.0 - p) - e
        safe = SMALL < c[i] < 1.0 / SMALL
        out[i] = q, q * rho, (0.0 if rho == 0.0 else q * 2.0**-100) if safe else np.nan
    return out


@strict
def positive_part(x):
    """max(0, x_i), a function that never magnifies an error; 0 without error where x_i is negative for certain."""
    out = np.zeros_like(x)
    for i in range(x.shape[0]):
        if x[i, 0] > 0.0:
            out[i] = x[i]
        elif not x[i, 0] < -4.0 * x[i, 2]:  # NaN comes here, and stays
            out[i, 2] = x[i, 2]
    return out


@strict
def _short_of(data, indices, indptr, step, y, w, b, target, out):
    for i in range(y.size):
        h, l, r = _add(target, 0.0, 0.0, -y[i] * b)
        for k in range(indptr[i], indptr[i + 1]):
            h, l, r = _add_product(h, l, r, -y[i] * data[k], w[indices[k - step * i]])
        out[i] = _normal(h, l, r)


@strict
def _weights(data, indices, indptr, step, v, out):
    for i in range(v.size):
        if v[i] != 0.0:
            for k in range(indptr[i], indptr[i + 1]):
                j = indices[k - step * i]
                out[j] = _add_product(out[j, 0], out[j, 1], out[j, 2], v[i], data[k])
    for j in range(out.shape[0]):
        out[j] = _normal(out[j, 0], out[j, 1], out[j, 2])


def _entries(X: Matrix) -> tuple[Array, Array, Array, int]:
    """(data, indices, indptr, step): entry k of row i is in column indices[k - step i]; dense rows share one index."""
    if isinstance(X, np.ndarray):
        n, d = X.shape
        return X.reshape(-1), np.arange(d, dtype=np.int32), np.arange(n + 1, dtype=np.int64) * d, d
    return X.data, X.indices, X.indptr.astype(np.int64), 0  # the types of dense data: one kernel to compile


def short_of(target: float, X: Matrix, y: Array, w: Array, b: float) -> Array:
    """target - m_i, balls; m_i = y_i (w.x_i + b)"""
    out = np.empty((y.size, 3))
    _short_of(*_entries(X), y, w, b, target, out)
    return out


def weights(X: Matrix, v: Array) -> Array:
    """sum_i v_i x_i, balls"""
    out = np.zeros((X.shape[1], 3))
    add_weights(X, v, out)
    return out


def add_weights(X: Matrix, v: Array, out: Array) -> None:
    """out += sum_i v_i x_i, balls"""
    _weights(*_entries(X), v, out)


def norm2(w: Array, gram: Array | None = None) -> Array:
    """w'w, or w'Gw, as one ball"""
    if gram is None:
        return dot(balls(w), balls(w))
    return dot(balls(-w), short_of(0.0, gram, np.ones(w.size), w, 0.0))


def balls(x: Array) -> Array:
    """Floats as balls"""
    out = np.zeros((x.size, 3))
    out[:, 0] = x
    return out


def bounds(x: Array) -> tuple[Array, Array]:
    """Floats below and above each ball of an array (..., 3): the tightest ones, or their neighbours."""
    h, l, r = x[..., 0], x[..., 1], x[..., 2]
    with np.errstate(invalid="ignore", over="ignore"):
        low = _rounded(h, np.where(r == 0.0, l, np.nextafter(l - 2.0 * r, -np.inf)), -np.inf)
        high = _rounded(h, np.where(r == 0.0, l, np.nextafter(l + 2.0 * r, np.inf)), np.inf)
    known = np.isfinite(low) & np.isfinite(high)
    return np.where(known, low, -np.inf), np.where(known, high, np.inf)


def _rounded(h: Array, l: Array, towards: float) -> Array:
    """h + l, rounded towards -inf or inf"""
    s = h + l
    z = s - h
    t = (h - (s - z)) + (l - z)
    return np.where(t * np.sign(towards) > 0.0, np.nextafter(s, towards), s)
