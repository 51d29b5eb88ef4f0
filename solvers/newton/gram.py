"""Products of rows with one another, for Newton's systems (`systems.py`): x_i x_i' summed over rows, and X X'.

All are lower triangles. Dense rows in number are left to BLAS; sparse ones are met entry by entry.
"""

import numpy as np
from numba import njit
from numba.extending import overload, register_jitable

from marginbench.harness.rowops import FAST, Dense, add, copy_dense, is_dense_type

SMALL = 20_000
"""Entries of a Gram matrix times rows up to which a dense update is done in a loop."""
BLOCK = 250
"""Rows of dense data weighted at a time: a copy of this many rows, never of all. No power of two: columns of the copy
would then fall on the same lines of the cache."""
PANEL = 48
"""Columns of a symmetric matrix multiplied at a time: half of it is never computed."""


def add_squares(rows, i, scale, w):
    """w_j += scale * x_ij^2"""
    if isinstance(rows, Dense):
        w[: rows.X.shape[1]] += scale * rows.X[i] ** 2
    else:
        k = slice(rows.indptr[i], rows.indptr[i + 1])
        w[rows.indices[k]] += scale * rows.data[k] ** 2


def add_outer(rows, i, scale, G):
    """The lower triangle of G += scale * x_i x_i'; a row's columns are in increasing order."""
    if isinstance(rows, Dense):
        d = rows.X.shape[1]
        G[:d, :d] += scale * np.tril(np.outer(rows.X[i], rows.X[i]))
    else:
        k = slice(rows.indptr[i], rows.indptr[i + 1])
        G[np.ix_(rows.indices[k], rows.indices[k])] += scale * np.tril(np.outer(rows.data[k], rows.data[k]))


@overload(add_squares, jit_options={"fastmath": FAST})
def _add_squares(rows, i, scale, w):
    def dense(rows, i, scale, w):
        x = rows.X[i]
        for j in range(x.size):
            w[j] += scale * x[j] * x[j]

    def csr(rows, i, scale, w):
        for k in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
            w[np.uint64(rows.indices[k])] += scale * rows.data[k] * rows.data[k]

    return dense if is_dense_type(rows) else csr


@overload(add_outer, jit_options={"fastmath": FAST})
def _add_outer(rows, i, scale, G):
    def dense(rows, i, scale, G):
        x = rows.X[i]
        for j in range(x.size):
            factor, line = scale * x[j], G[j]
            for l in range(j + 1):
                line[l] += factor * x[l]

    def csr(rows, i, scale, G):
        start, end = np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])
        for k in range(start, end):
            factor, line = scale * rows.data[k], G[np.uint64(rows.indices[k])]
            for l in range(start, k + np.uint64(1)):
                line[np.uint64(rows.indices[l])] += factor * rows.data[l]

    return dense if is_dense_type(rows) else csr


def update_gram(rows, v, F, in_G, bias, G, room, start, end):
    """G, the lower triangle of sum v_i z_i z_i' over in_G, becomes that over F, and in_G becomes F.

    Of the rows from `start` to before `end`. z = x, with a 1 appended where `bias`. Many dense rows are left to BLAS,
    in the memory of `room`. For compiled code only, as the next.
    """


def room_for(rows, d: int) -> int:
    """How many numbers `update_gram` needs room for: two blocks of dense rows, and a panel of their product."""
    return (2 * BLOCK + PANEL) * d if isinstance(rows, Dense) else 0


def row_products(rows, index, d):
    """The lower triangle of X X', X the rows of `index`."""


@njit(cache=True, fastmath=False)
def products(rows, n, d):
    """The same of the first n rows."""
    return row_products(rows, np.arange(n), d)


@overload(update_gram, jit_options={"fastmath": FAST})
def _update_gram(rows, v, F, in_G, bias, G, room, start, end):
    def one_by_one(rows, v, F, in_G, bias, G, room, start, end):
        d = G.shape[0] - bias
        for i in range(start, end):
            if F[i] != in_G[i]:
                weight = v[i] if F[i] else -v[i]
                add_outer(rows, i, weight, G)
                if bias:
                    add(rows, i, weight, G[d])
                    G[d, d] += weight
                in_G[i] = F[i]

    def dense(rows, v, F, in_G, bias, G, room, start, end):
        d, changed = G.shape[0] - bias, np.int64(0)
        for i in range(start, end):
            changed += F[i] != in_G[i]
        if changed * d * d > SMALL:
            add_panels(rows.X, v, F, in_G, changed, bias, G, room, start, end)
        else:
            one_by_one_(rows, v, F, in_G, bias, G, room, start, end)

    one_by_one_ = register_jitable(one_by_one)
    return dense if is_dense_type(rows) else one_by_one


@njit(cache=True, fastmath=FAST)
def add_panels(X, v, F, in_G, changed, bias, G, room, start, end):
    """`update_gram` by products of matrices. Rows that leave have the opposite sign on one side."""
    d, k, width = X.shape[1], 0, min(BLOCK, changed)
    size = d * width
    Z, signed, panel = room[:size].reshape(d, width), room[size : 2 * size].reshape(d, width), room[2 * size :]
    for i in range(start, end):
        if F[i] != in_G[i]:
            weight = v[i] if F[i] else -v[i]
            for j in range(d):
                Z[j, k], signed[j, k] = X[i, j], weight * X[i, j]
                if bias:
                    G[d, j] += signed[j, k]
            if bias:
                G[d, d] += weight
            in_G[i], k, changed = F[i], k + 1, changed - 1
            if k == width or changed == 0:
                for j in range(d):
                    for l in range(k, width):
                        Z[j, l], signed[j, l] = 0.0, 0.0
                add_triangle(signed, Z, G, panel)
                k = 0


@njit(cache=True, fastmath=False)
def add_triangle(A, B, G, room):
    """The lower triangle of G += A B', by panels of rows; of the other half little is computed.

    room: memory for a panel of the product.
    """
    for start in range(0, len(A), PANEL):
        end = min(start + PANEL, len(A))
        part = room[: (end - start) * end].reshape(end - start, end)
        np.dot(A[start:end], B[:end].T, part)
        for j in range(start, end):
            for l in range(j + 1):
                G[j, l] += part[j - start, l]


@overload(row_products, jit_options={"fastmath": FAST})
def _row_products(rows, index, d):
    def dense(rows, index, d):
        Z, K = np.empty((index.size, d)), np.zeros((index.size, index.size))
        copy_dense(rows.X, index, Z)
        add_triangle(Z, Z, K, np.empty(PANEL * index.size))
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
