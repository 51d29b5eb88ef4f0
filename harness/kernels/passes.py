"""Passes over the rows of a data matrix, compiled, for solvers that need whole products; dense and CSR alike.

`rows.py` has what one row can do; here is what all of them, or some, do at once. Nothing copies the data but `take`,
whose purpose is a copy.
"""

import numpy as np
from numba import njit

from harness.kernels.rows import CSR, FAST, Dense, add, dot, norm2
from harness.problem import Array

BLOCK = 2048
"""Rows of dense data weighted at a time: a copy of this many rows, never of all."""


@njit(cache=True, fastmath=FAST)
def margins(rows, y, w, b, m):
    """m_i = y_i (x_i . w + b)"""
    for i in range(m.size):
        m[i] = y[i] * (dot(rows, i, w) + b)


@njit(cache=True, fastmath=FAST)
def combine(rows, y, alpha, w):
    """w += sum_i alpha_i y_i x_i; returns sum_i alpha_i y_i."""
    total = 0.0
    for i in range(alpha.size):
        scale = alpha[i] * y[i]
        if scale != 0.0:
            add(rows, i, scale, w)
            total += scale
    return total


@njit(cache=True, fastmath=FAST)
def squared_norms(rows, q):
    """q_i = ||x_i||^2"""
    for i in range(q.size):
        q[i] = norm2(rows, i)


def take(rows: Dense | CSR, index: Array) -> Dense | CSR:
    """The rows of `index`, copied to lie side by side."""
    if isinstance(rows, Dense):
        return Dense(rows.X[index])
    return CSR(*_take(rows.indptr, rows.indices, rows.data, index))


@njit(cache=True)
def _take(indptr, indices, data, index):
    ends = np.zeros(index.size + 1, indptr.dtype)
    for r in range(index.size):
        ends[r + 1] = ends[r] + indptr[index[r] + 1] - indptr[index[r]]
    columns, values = np.empty(ends[-1], indices.dtype), np.empty(ends[-1])
    for r in range(index.size):
        shift = np.int64(indptr[index[r]]) - np.int64(ends[r])
        for k in range(ends[r], ends[r + 1]):
            columns[k], values[k] = indices[k + shift], data[k + shift]
    return ends, columns, values


def add_gram(rows: Dense | CSR, index: Array, weight: Array, bias: bool, G: Array) -> None:
    """G += sum_r weight_r z z', upper triangle, z = x_i with a 1 appended where `bias`, i = index_r.

    The weights of one call are all positive or all negative.
    """
    if isinstance(rows, CSR):
        _add_gram(rows.indptr, rows.indices, rows.data, index, weight, bias, G)
        return
    d = rows.X.shape[1]
    for k in range(0, index.size, BLOCK):
        v = weight[k : k + BLOCK]
        root = np.sqrt(np.abs(v))
        Z = rows.X[index[k : k + BLOCK]]
        Z *= root[:, None]
        G[:d, :d] += np.copysign(1.0, v[0]) * (Z.T @ Z)  # a matrix with its own transpose: half the work
        if bias:
            G[:d, d] += np.copysign(root, v) @ Z
            G[d, d] += v.sum()


@njit(cache=True, fastmath=FAST)
def _add_gram(indptr, indices, data, index, weight, bias, G):
    last = np.uint64(G.shape[0] - 1)
    for r in range(index.size):
        start, end = np.uint64(indptr[index[r]]), np.uint64(indptr[index[r] + 1])
        for k in range(start, end):
            scale, line = weight[r] * data[k], G[np.uint64(indices[k])]
            for l in range(k, end):
                line[np.uint64(indices[l])] += scale * data[l]
            if bias:
                line[last] += scale
        if bias:
            G[last, last] += weight[r]
