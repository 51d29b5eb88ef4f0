"""Passes over the rows of a data matrix, compiled, for solvers that need whole products; dense and CSR alike.

`rows.py` has what one row can do; here is what all of them do at once. Only `take` copies data.
"""

import numpy as np
from numba import njit

from marginbench.harness.rowops.rows import CSR, FAST, Dense, add, dot, norm2, read_only


@njit(cache=True, fastmath=FAST, nogil=True)
def margins(rows, y, w, b, m):
    """m_i = y_i (x_i . w + b)"""
    margins_of_some(rows, y, w, b, m, 0, m.size)


@njit(cache=True, fastmath=FAST, nogil=True)
def margins_of_some(rows, y, w, b, m, start, end):
    """The same of the rows from `start` to before `end`."""
    for i in range(start, end):
        m[i] = y[i] * (dot(rows, i, w) + b)


@njit(cache=True, fastmath=FAST, nogil=True)
def combine(rows, y, alpha, w):
    """w += sum_i alpha_i y_i x_i; returns sum_i alpha_i y_i."""
    return combine_some(rows, y, alpha, w, 0, alpha.size)


@njit(cache=True, fastmath=FAST, nogil=True)
def combine_some(rows, y, alpha, w, start, end):
    """The same of the rows from `start` to before `end`."""
    total = 0.0
    for i in range(start, end):
        scale = alpha[i] * y[i]
        if scale != 0.0:
            add(rows, i, scale, w)
            total += scale
    return total


@njit(cache=True, fastmath=FAST, nogil=True)
def scores_and_sum(rows, w, v, scores, total):
    """scores_i = x_i . w  and  total += sum_i v_i x_i, while each row is at hand; without v, or scores, one of them."""
    for i in range(max(v.size, scores.size)):
        if i < scores.size:
            scores[i] = dot(rows, i, w)
        if i < v.size and v[i] != 0.0:
            add(rows, i, v[i], total)


@njit(cache=True, fastmath=FAST)
def squared_norms(rows, n):
    """||x_i||^2 of the first n rows"""
    q = np.empty(n)
    for i in range(n):
        q[i] = norm2(rows, i)
    return q


@njit(cache=True, fastmath=FAST)
def best_length(m, some, upper, norm2, always, low, high):
    """The t in [low, high] that minimises P(t w) = t^2/2 norm2 + sum_i u_i max(0, 1 - t m_i), by bisection of P'.

    Rows that are not in `some` have a slack for all these t or for none: always, sum_i u_i m_i over the former.
    """
    near, k, shorter, as_it_is, longer = some.copy(), some.size, 0.0, 0.0, 0.0
    for i in some:  # one pass for the three t that come first
        weight = upper[i] * m[i]
        shorter += weight if 0.99 * m[i] < 1.0 else 0.0
        as_it_is += weight if m[i] < 1.0 else 0.0
        longer += weight if 1.01 * m[i] < 1.0 else 0.0
    for t, slope in ((0.99, shorter), (1.0, as_it_is), (1.01, longer)):
        if low < t < high:
            if t * norm2 - always - slope > 0.0:
                high = t
            else:
                low = t
    for _ in range(42):
        count = 0
        for r in range(k):  # rows with a slack for all t that are left, for none, and the others
            i = near[r]
            if high * m[i] <= 1.0:
                always += upper[i] * m[i]
            elif low * m[i] < 1.0:
                near[count], count = i, count + 1
        k, t = count, 0.5 * (low + high)
        slope = t * norm2 - always
        for r in range(k):
            i = near[r]
            if t * m[i] < 1.0:
                slope -= upper[i] * m[i]
        if slope > 0.0:
            high = t
        else:
            low = t
    return high


class Room:
    """Memory for one copy of rows at a time, kept for the next: new pages cost more than what is written to them."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}

    def array(self, name: str, size: int, dtype: np.dtype) -> np.ndarray:
        if name not in self.arrays or self.arrays[name].size < size:
            self.arrays[name] = np.empty(size, dtype)
        return self.arrays[name][:size]


def take(rows, index, room=None):
    """The rows of `index`, copied to lie side by side, in `room` if there is one: the copy before is lost."""
    out = space_for(rows, index, room or Room())
    copy_rows(rows, index, out, 0, index.size)
    return frozen(out)


def space_for(rows, index, room, fill=None):
    """Where a copy of the rows of `index` will lie; of sparse ones, where each begins is known already.

    fill: what `place_rows` does, by other means.
    """
    if isinstance(rows, Dense):
        d = rows.X.shape[1]
        return Dense(room.array("X", index.size * d, rows.X.dtype).reshape(index.size, d))
    indptr = room.array("indptr", index.size + 1, rows.indptr.dtype)
    size = (fill or place_rows)(rows.indptr, index, indptr)
    return CSR(indptr, room.array("indices", size, rows.indices.dtype), room.array("data", size, rows.data.dtype))


def copy_rows(rows, index, out, start, end):
    """The rows of index[start:end] into their places in `out`."""
    if isinstance(rows, Dense):
        copy_dense(rows.X, index[start:end], out.X[start:end])
    else:
        copy_sparse(rows, index[start:end], out.indptr[start : end + 1], out.indices, out.data)


def frozen(rows):
    """The same rows, not to be written to, as all data are."""
    return type(rows)(*map(read_only, rows))


@njit(cache=True, fastmath=False, nogil=True)
def copy_dense(X, index, out):
    for r in range(index.size):
        for j in range(X.shape[1]):
            out[r, j] = X[index[r], j]


def place_rows(indptr, index, out):
    """Where each row of `index` begins when they lie side by side, and the last ends; returns that."""
    out[0] = 0
    return offsets(indptr, index, out[1:])


@njit(cache=True, fastmath=False, nogil=True)
def offsets(indptr, index, out):
    """Where each row of `index` ends when they lie side by side from 0 on; returns the last."""
    end = np.int64(0)
    for r in range(index.size):
        end += indptr[index[r] + 1] - indptr[index[r]]
        out[r] = end
    return end


@njit(cache=True, fastmath=False, nogil=True)
def gather(values, index, out):
    """out = values[index]"""
    for r in range(index.size):
        out[r] = values[index[r]]


@njit(cache=True, fastmath=False, nogil=True)
def scatter(values, index, out):
    """out[index] = values"""
    for r in range(index.size):
        out[index[r]] = values[r]


@njit(cache=True, fastmath=False, nogil=True)
def copy_sparse(rows, index, indptr, indices, data):
    for r in range(index.size):
        shift = np.int64(rows.indptr[index[r]]) - np.int64(indptr[r])
        for k in range(indptr[r], indptr[r + 1]):
            indices[k], data[k] = rows.indices[k + shift], rows.data[k + shift]
