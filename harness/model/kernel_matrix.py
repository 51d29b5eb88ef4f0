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
"""

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from numba import njit

LN2_HIGH = 6.93147180369123816490e-01
LN2_LOW = 1.90821492927058770002e-10
LOG2_E = 1.4426950408889634
SMALLEST_EXPONENT = -745.0
"""exp of less is 0 in double precision."""
TAYLOR = np.array([1.0 / math.factorial(k) for k in range(13, -1, -1)])


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


@njit(cache=True)
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


@njit(cache=True)
def _sparse_pairs(data, indices, indptr, squares, out):
    """Two sorted rows are merged."""
    for i in range(out.shape[0]):
        for j in range(i + 1):
            total, p, q = 0.0, indptr[i], indptr[j]
            while p < indptr[i + 1] or q < indptr[j + 1]:
                left = indices[p] if p < indptr[i + 1] else 2**62
                right = indices[q] if q < indptr[j + 1] else 2**62
                x = data[p] if left <= right else 0.0
                z = data[q] if right <= left else 0.0
                total += (x - z) * (x - z) if squares else x * z
                p += left <= right
                q += right <= left
            out[i, j] = out[j, i] = total


@njit(cache=True)
def _exp_of(D, gamma):
    """D_ij <- exp(-gamma D_ij)"""
    for i in range(D.shape[0]):
        for j in range(i + 1):
            D[i, j] = D[j, i] = exp_of(-(gamma * D[i, j]))


@njit(cache=True)
def exp_of(x):
    """exp(x) for x <= 0"""
    if not x > SMALLEST_EXPONENT:
        return 0.0
    k = math.floor(x * LOG2_E + 0.5)
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    p = TAYLOR[0]
    for a in TAYLOR[1:]:
        p = p * r + a
    return math.ldexp(p, int(k))


@njit(cache=True)
def _power_of(K, gamma, coef0, degree):
    """K_ij <- (gamma K_ij + coef0)^degree, by repeated squaring"""
    for i in range(K.shape[0]):
        for j in range(i + 1):
            base, result, left = gamma * K[i, j] + coef0, 1.0, degree
            while left > 0:
                if left % 2 == 1:
                    result *= base
                left //= 2
                if left > 0:
                    base *= base
            K[i, j] = K[j, i] = result
