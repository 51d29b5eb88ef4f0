"""Passes over the rows of a data matrix, compiled, for solvers that need whole products; dense and CSR alike.

`rows.py` has what one row can do; here is what all of them, or some, do at once. Nothing copies the data but `take`,
whose purpose is a copy.
"""

import numpy as np
from numba import njit
from numba.extending import overload, register_jitable

from marginbench.harness.rowops.rows import CSR, FAST, Dense, add, add_outer, dot, is_dense_type, norm2, read_only

SMALL = 20_000
"""Entries of a Gram matrix times rows up to which a dense update is done in a loop."""
BLOCK = 250
"""Rows of dense data weighted at a time: a copy of this many rows, never of all. No power of two: columns of the copy
would then fall on the same lines of the cache."""
PANEL = 48
"""Columns of a symmetric matrix multiplied at a time: half of it is never computed."""


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


def update_gram(rows, v, F, in_G, changed, bias, G):
    """G, the lower triangle of sum v_i z_i z_i' over in_G, becomes that over F, and in_G becomes F.

    z = x, with a 1 appended where `bias`. changed: the rows that enter or leave; many dense ones are left to BLAS.
    For compiled code only, as the next.
    """


def row_products(rows, index, d):
    """The lower triangle of X X', X the rows of `index`."""


@njit(cache=True)
def products(rows, n, d):
    """The same of the first n rows."""
    return row_products(rows, np.arange(n), d)


@overload(update_gram, jit_options={"fastmath": FAST})
def _update_gram(rows, v, F, in_G, changed, bias, G):
    def one_by_one(rows, v, F, in_G, changed, bias, G):
        d = G.shape[0] - bias
        for i in range(F.size):
            if F[i] != in_G[i]:
                weight = v[i] if F[i] else -v[i]
                add_outer(rows, i, weight, G)
                if bias:
                    add(rows, i, weight, G[d])
                    G[d, d] += weight
                in_G[i] = F[i]

    def dense(rows, v, F, in_G, changed, bias, G):
        d = G.shape[0] - bias
        if changed * d * d > SMALL:
            add_panels(rows.X, v, F, in_G, changed, bias, G)
        else:
            one_by_one_(rows, v, F, in_G, changed, bias, G)

    one_by_one_ = register_jitable(one_by_one)
    return dense if is_dense_type(rows) else one_by_one


@njit(cache=True, fastmath=FAST)
def add_panels(X, v, F, in_G, changed, bias, G):
    """`update_gram` by products of matrices. Rows that leave have the opposite sign on one side."""
    d, k = X.shape[1], 0
    Z, signed = np.zeros((d, min(BLOCK, changed))), np.zeros((d, min(BLOCK, changed)))
    for i in range(F.size):
        if F[i] != in_G[i]:
            weight = v[i] if F[i] else -v[i]
            for j in range(d):
                Z[j, k], signed[j, k] = X[i, j], weight * X[i, j]
                if bias:
                    G[d, j] += signed[j, k]
            if bias:
                G[d, d] += weight
            in_G[i], k, changed = F[i], k + 1, changed - 1
            if k == Z.shape[1] or changed == 0:
                for j in range(d):
                    for l in range(k, Z.shape[1]):
                        Z[j, l] = 0.0
                add_triangle(signed, Z, G)
                k = 0


@njit(cache=True)
def add_triangle(A, B, G):
    """The lower triangle of G += A B', by panels of rows; of the other half little is computed."""
    for start in range(0, len(A), PANEL):
        end = min(start + PANEL, len(A))
        part = np.dot(A[start:end], B[:end].T)
        for j in range(start, end):
            for l in range(j + 1):
                G[j, l] += part[j - start, l]


@overload(row_products, jit_options={"fastmath": FAST})
def _row_products(rows, index, d):
    def dense(rows, index, d):
        Z, K = np.empty((index.size, d)), np.zeros((index.size, index.size))
        copy_dense(rows.X, index, Z)
        add_triangle(Z, Z, K)
        return K

    def csr(rows, index, d):
        """Column by column: the rows that share one are met in order."""
        starts, K = np.zeros(d + 2, np.int64), np.zeros((index.size, index.size))
        for i in index:
            for k in range(rows.indptr[i], rows.indptr[i + 1]):
                starts[rows.indices[k] + 2] += 1
        for j in range(d + 1):
            starts[j + 1] += starts[j]
        member, value = np.empty(starts[-1], np.int64), np.empty(starts[-1])
        for r in range(index.size):
            for k in range(rows.indptr[index[r]], rows.indptr[index[r] + 1]):
                j = rows.indices[k]
                member[starts[j + 1]], value[starts[j + 1]] = r, rows.data[k]
                starts[j + 1] += 1
        for j in range(d):
            for k in range(starts[j], starts[j + 1]):
                line, factor = K[member[k]], value[k]
                for l in range(starts[j], k + 1):
                    line[member[l]] += factor * value[l]
        return K

    return dense if is_dense_type(rows) else csr


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
