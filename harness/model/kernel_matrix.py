"""The matrix K of a kernel, entry by entry: the same bits on every machine, for dense and for sparse rows.

Stored references prove their digits again from K, so that K must not depend on a BLAS, on the instructions of a
processor or on a library's exp. Only + - * and comparisons of IEEE binary64 are used, sums run in the order of the
columns, and nothing is compiled with fastmath. Columns that both rows lack add exact zeros: CSR skips them.

exp(-t) for t >= 0: -t = k ln 2 + r with |r| <= 0.3467, exp(r) by Taylor's polynomial of degree 13, then 2^k. Relative
error below 8 u, u = 2^-53:
- r: k LN2_HIGH is exact (LN2_HIGH has 32 digits), and two subtractions and k LN2_LOW round: |error of r| <= u;
- the polynomial: (0.3467)^14 / 14! exp(0.3467) < 0.1 u is left out, and Horner's rule with rounded coefficients is off
  by sum_k (2 k + 2) u |r|^k / k! = 2 u (1 + |r|) exp(|r|) <= 3.9 u, beside exp(r) >= 0.707: 5.5 u;
- 2^k is exact, but below 2^-1022, where the error is at most 2^-1074.

All of K at once (`gaussian`, `polynomial`), or some rows of it (`Source`, `fill`, `add_rows`): each entry has the same
bits, since K_ij and K_ji are the same sums of the same terms.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from marginbench.harness.model.exact import strict

LN2_HIGH = 6.93147180369123816490e-01
LN2_LOW = 1.90821492927058770002e-10
LOG2_E = 1.4426950408889634
SMALLEST_EXPONENT = -745.0
"""exp of less is 0 in double precision."""
T13, T12, T11, T10, T9, T8, T7, T6, T5, T4, T3, T2 = (1.0 / math.factorial(k) for k in range(13, 1, -1))
POWERS = np.array([math.ldexp(1.0, k) for k in range(-1074, 2)])
"""2^k of all k that are needed, a look-up that the compiler makes side by side; ldexp is a call."""
TILE = 256
"""Columns of K that are worked on at a time: their part of X' stays in the cache of the processor."""


def gaussian(X: Any, gamma: float) -> np.ndarray:
    """exp(-gamma ||x_i - x_j||^2)"""
    D = _pairs(X, squares=True)
    _exp_of(D, gamma)
    return D


def polynomial(X: Any, gamma: float, coef0: float, degree: int) -> np.ndarray:
    """(gamma x_i.x_j + coef0)^degree"""
    K = _pairs(X, squares=False)
    _power_of(K, gamma, coef0, degree)
    return K


def _pairs(X: Any, squares: bool) -> np.ndarray:
    """||x_i - x_j||^2 or x_i.x_j of all pairs."""
    out = np.zeros((X.shape[0], X.shape[0]))
    if sp.issparse(X):
        _sparse_pairs(X.data, X.indices, X.indptr, squares, out)
    else:
        _dense_pairs(np.ascontiguousarray(X.T), squares, out)
    return out


@strict
def _dense_pairs(columns, squares, out):
    """columns: X'. Row by row, a column after the other over all j < = i: many sums side by side, each in order."""
    d, n = columns.shape
    for i in range(n):
        line = out[i]
        for k in range(d):
            x, column = columns[k, i], columns[k]
            if squares:
                for j in range(i + 1):
                    line[j] += (x - column[j]) * (x - column[j])
            else:
                for j in range(i + 1):
                    line[j] += x * column[j]
        for j in range(i):
            out[j, i] = line[j]


@strict
def _sparse_pairs(data, indices, indptr, squares, out):
    for i in range(out.shape[0]):
        for j in range(i + 1):
            out[i, j] = out[j, i] = _merged(data, indices, indptr, i, j, squares)


@strict
def _merged(data, indices, indptr, i, j, squares):
    """||x_i - x_j||^2 or x_i.x_j of two sorted rows."""
    total, p, q = 0.0, indptr[i], indptr[j]
    while p < indptr[i + 1] or q < indptr[j + 1]:
        left = indices[p] if p < indptr[i + 1] else 2**62
        right = indices[q] if q < indptr[j + 1] else 2**62
        x = data[p] if left <= right else 0.0
        z = data[q] if right <= left else 0.0
        total += (x - z) * (x - z) if squares else x * z
        p += left <= right
        q += right <= left
    return total


@strict
def _exp_of(D, gamma):
    """D_ij <- exp(-gamma D_ij)"""
    for i in range(D.shape[0]):
        line = D[i]
        for j in range(i + 1):
            line[j] = exp_of(-(gamma * line[j]))
        for j in range(i):
            D[j, i] = line[j]


@strict
def exp_of(x):
    """exp(x) for x <= 0, without a branch, so that many run side by side"""
    t = max(x, SMALLEST_EXPONENT - 0.5)
    k = np.floor(t * LOG2_E + 0.5)
    r = (t - k * LN2_HIGH) - k * LN2_LOW
    p = (((((T13 * r + T12) * r + T11) * r + T10) * r + T9) * r + T8) * r + T7
    p = ((((((p * r + T6) * r + T5) * r + T4) * r + T3) * r + T2) * r + 1.0) * r + 1.0
    value = (0.5 * p) * POWERS[max(np.int64(k) + 1075, 0)]  # p 2^k rounded once: 2^-1075 itself is no float
    return value if x > SMALLEST_EXPONENT else 0.0


@strict
def _power_of(K, gamma, coef0, degree):
    """K_ij <- (gamma K_ij + coef0)^degree, by repeated squaring"""
    for i in range(K.shape[0]):
        for j in range(i + 1):
            K[i, j] = K[j, i] = power(gamma * K[i, j] + coef0, degree)


@strict
def power(base, degree):
    """base^degree, degree >= 1"""
    result, left = 1.0, degree
    while left > 0:
        if left % 2 == 1:
            result *= base
        left //= 2
        if left > 0:
            base *= base
    return result


# -- some rows of K ----------------------------------------------------------------------------------------------


class Source(NamedTuple):
    """What entries of K are computed from, for compiled code. X is there by columns (dense) or as CSR; the arrays of
    the other form are empty. diagonal: what stands in the place of K_ii. constant: what is added to every entry."""

    columns: np.ndarray
    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    sparse: bool
    squares: bool
    gamma: float
    coef0: float
    degree: int
    diagonal: np.ndarray
    constant: float


@strict
def _tile(source, i, first, last, line):
    """line[j - first] = K_ij for the columns j from `first` to `last`."""
    line[:] = 0.0
    if source.sparse:
        for j in range(first, last):
            line[j - first] = _merged(source.data, source.indices, source.indptr, i, j, source.squares)
    else:
        for k in range(source.columns.shape[0]):
            x, column = source.columns[k, i], source.columns[k, first:last]
            if source.squares:
                for j in range(column.size):
                    line[j] += (x - column[j]) * (x - column[j])
            else:
                for j in range(column.size):
                    line[j] += x * column[j]
    if source.squares:
        for j in range(last - first):
            line[j] = exp_of(-(source.gamma * line[j]))
    else:
        for j in range(last - first):
            line[j] = power(source.gamma * line[j] + source.coef0, source.degree)
    if first <= i < last and source.diagonal.size > 0:
        line[i - first] = source.diagonal[i]
    for j in range(last - first):
        line[j] += source.constant


@strict
def fill(source, index, out):
    """out[r] = row index[r] of K"""
    n = out.shape[1]
    for first in range(0, n, TILE):
        last = min(first + TILE, n)
        for r in range(index.size):
            _tile(source, index[r], first, last, out[r, first:last])


@strict
def add_rows(source, index, scale, f):
    """f += sum_r scale_r (row index[r] of K)"""
    line = np.empty(TILE)
    for first in range(0, f.size, TILE):
        last = min(first + TILE, f.size)
        some = line[: last - first]
        for r in range(index.size):
            _tile(source, index[r], first, last, some)
            for j in range(last - first):
                f[first + j] += scale[r] * some[j]


@strict
def own_entries(source, out):
    """out_i = K_ii"""
    for i in range(out.size):
        _tile(source, i, i, i + 1, out[i : i + 1])
