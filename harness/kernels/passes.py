"""Passes over the rows of a data matrix, compiled, for solvers that need whole products; dense and CSR alike.

`rows.py` has what one row can do; here is what all of them, or some, do at once. Nothing copies the data but `take`,
whose purpose is a copy.
"""

import numpy as np
from numba import njit

from harness.kernels.rows import CSR, FAST, Dense, add, dot, norm2
from harness.problem import Array

SMALL = 100_000
"""Entries of a Gram matrix times rows up to which a dense update is done in a loop."""
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


def update_gram(rows: Dense | CSR, v: Array, F: Array, in_G: Array, count: int, bias: bool, G: Array) -> None:
    """G, the upper triangle of sum v_i z_i z_i' over in_G, becomes that over F, and in_G becomes F.

    z = x, with a 1 appended where `bias`. count: the rows that enter or leave; many dense ones are left to BLAS.
    """
    if isinstance(rows, CSR):
        _update_csr(rows.indptr, rows.indices, rows.data, v, F, in_G, bias, G)
    elif count * G.size < SMALL:
        _update_dense(rows.X, v, F, in_G, bias, G)
    else:
        for sign, index in ((1.0, np.flatnonzero(F & ~in_G)), (-1.0, np.flatnonzero(in_G & ~F))):
            _add_blocks(rows.X, index, v, sign, bias, G)
    in_G[:] = F


def _add_blocks(X: Array, index: Array, v: Array, sign: float, bias: bool, G: Array) -> None:
    """G += sign sum v_i z_i z_i' over index."""
    d = X.shape[1]
    for k in range(0, index.size, BLOCK):
        part = index[k : k + BLOCK]
        root = np.sqrt(v[part])
        Z = X[part]
        Z *= root[:, None]
        G[:d, :d] += sign * (Z.T @ Z)  # a matrix with its own transpose: half the work
        if bias:
            G[:d, d] += sign * (root @ Z)
            G[d, d] += sign * v[part].sum()


@njit(cache=True, fastmath=FAST)
def _update_dense(X, v, F, in_G, bias, G):
    d = X.shape[1]
    for i in range(F.size):
        if F[i] != in_G[i]:
            weight, x = v[i] if F[i] else -v[i], X[i]
            for j in range(d):
                scale, line = weight * x[j], G[j]
                for l in range(j, d):
                    line[l] += scale * x[l]
                if bias:
                    line[d] += scale
            if bias:
                G[d, d] += weight


@njit(cache=True, fastmath=FAST)
def _update_csr(indptr, indices, data, v, F, in_G, bias, G):
    last = np.uint64(G.shape[0] - 1)
    for i in range(F.size):
        if F[i] != in_G[i]:
            weight = v[i] if F[i] else -v[i]
            start, end = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
            for k in range(start, end):
                scale, line = weight * data[k], G[np.uint64(indices[k])]
                for l in range(k, end):
                    line[np.uint64(indices[l])] += scale * data[l]
                if bias:
                    line[last] += scale
            if bias:
                G[last, last] += weight


@njit(cache=True)
def shuffle(order, active, bits):
    """Fisher-Yates on order[:active] with Marsaglia's xorshift, whose state is bits[0]."""
    x = bits[0]
    for k in range(active - 1, 0, -1):
        x ^= x << np.uint64(13)
        x ^= x >> np.uint64(7)
        x ^= x << np.uint64(17)
        j = np.int64(((x >> np.uint64(32)) * np.uint64(k + 1)) >> np.uint64(32))
        order[k], order[j] = order[j], order[k]
    bits[0] = x
