"""Passes over the rows of a data matrix, compiled, for solvers that need whole products; dense and CSR alike.

`rows.py` has what one row can do; here is what all of them do at once. Only `take` copies data.
"""

import numpy as np
from numba import njit

from marginbench.harness.rowops.rows import CSR, FAST, Dense, add, dot, norm2, read_only


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
def squared_norms(rows, n):
    """||x_i||^2 of the first n rows"""
    q = np.empty(n)
    for i in range(n):
        q[i] = norm2(rows, i)
    return q


class Room:
    """Memory for one copy of rows at a time, kept for the next: new pages cost more than what is written to them."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}

    def array(self, name: str, size: int, dtype: type) -> np.ndarray:
        if name not in self.arrays or self.arrays[name].size < size:
            self.arrays[name] = np.empty(size, dtype)
        return self.arrays[name][:size]


def take(rows, index, room=None):
    """The rows of `index`, copied to lie side by side, in `room` if there is one: the copy before is lost."""
    room = room or Room()
    if isinstance(rows, Dense):
        d = rows.X.shape[1]
        X = room.array("X", index.size * d, np.float64).reshape(index.size, d)
        copy_dense(rows.X, index, X)
        return Dense(read_only(X))
    indptr = room.array("indptr", index.size + 1, rows.indptr.dtype)
    size = offsets(rows.indptr, index, indptr)
    indices, data = room.array("indices", size, rows.indices.dtype), room.array("data", size, np.float64)
    copy_sparse(rows, index, indptr, indices, data)
    return CSR(read_only(indptr), read_only(indices), read_only(data))


@njit(cache=True)
def copy_dense(X, index, out):
    for r in range(index.size):
        for j in range(X.shape[1]):
            out[r, j] = X[index[r], j]


@njit(cache=True)
def offsets(indptr, index, out):
    out[0] = 0
    for r in range(index.size):
        out[r + 1] = out[r] + indptr[index[r] + 1] - indptr[index[r]]
    return out[index.size]


@njit(cache=True)
def copy_sparse(rows, index, indptr, indices, data):
    for r in range(index.size):
        shift = np.int64(rows.indptr[index[r]]) - np.int64(indptr[r])
        for k in range(indptr[r], indptr[r + 1]):
            indices[k], data[k] = rows.indices[k + shift], rows.data[k + shift]
