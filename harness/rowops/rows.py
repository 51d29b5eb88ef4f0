"""Rows of a data matrix inside compiled kernels: one kernel source for dense and CSR data.

A kernel written with `dot`, `add` and `norm2` is compiled once per layout, with no cost at run time.
Indices are unsigned inside the loops: signed ones make the compiler emit a wrap-around test per access.
Entries may be float32; w, scale and all sums are float64, to which a product of two entries has to be told.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numba.extending import overload

# Reordering of sums is harmless; infinities and NaN keep their meaning (thresholds use one, checks need the other).
# A loop that sums does not write. With both in one the last bit of Newton's steps on 5 columns depended on where memory
# was free, in 66 of 9,000 solves, and apart in none: such a loop is probably compiled twice, for arrays that are close.
FAST = {"reassoc", "contract", "arcp", "nsz"}


class Dense(NamedTuple):
    X: np.ndarray


class CSR(NamedTuple):
    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray


def rows_of(X) -> Dense | CSR:
    """The arrays of X as a tuple that kernels take; no copy."""
    if sp.issparse(X):
        return CSR(read_only(X.indptr), read_only(X.indices), read_only(X.data))
    return Dense(read_only(X))


def read_only(array: np.ndarray) -> np.ndarray:
    """The same memory, not to be written to: to numba another type, so that all data should be of the one."""
    view = array.view()
    view.flags.writeable = False
    return view


def dot(rows, i, w):
    """x_i . w"""
    if isinstance(rows, Dense):
        return rows.X[i] @ w[: rows.X.shape[1]]
    k = slice(rows.indptr[i], rows.indptr[i + 1])
    return rows.data[k] @ w[rows.indices[k]]


def add(rows, i, scale, w):
    """w += scale * x_i"""
    if isinstance(rows, Dense):
        w[: rows.X.shape[1]] += scale * rows.X[i]
    else:
        k = slice(rows.indptr[i], rows.indptr[i + 1])
        w[rows.indices[k]] += scale * rows.data[k]


def norm2(rows, i):
    """||x_i||^2"""
    if isinstance(rows, Dense):
        x = rows.X[i].astype(np.float64)
    else:
        x = rows.data[rows.indptr[i] : rows.indptr[i + 1]].astype(np.float64)
    return x @ x


# Sums over a CSR row stay in order: free to reorder, the compiler gathers short rows into vectors, 4 times slower.
IN_ORDER = FAST - {"reassoc"}


def is_dense_type(rows) -> bool:
    """Of the type that numba gives to a tuple of arrays."""
    return rows.instance_class is Dense


@overload(dot, jit_options={"fastmath": FAST})
def _dense_dot(rows, i, w):
    def dense(rows, i, w):
        x, total = rows.X[i], 0.0
        for j in range(x.size):
            total += x[j] * w[j]
        return total

    return dense if is_dense_type(rows) else None


@overload(dot, jit_options={"fastmath": IN_ORDER})
def _csr_dot(rows, i, w):
    def csr(rows, i, w):
        total = 0.0
        for k in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
            total += rows.data[k] * w[np.uint64(rows.indices[k])]
        return total

    return None if is_dense_type(rows) else csr


@overload(add, jit_options={"fastmath": FAST})
def _add(rows, i, scale, w):
    def dense(rows, i, scale, w):
        x = rows.X[i]
        for j in range(x.size):
            w[j] += scale * x[j]

    def csr(rows, i, scale, w):
        for k in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
            w[np.uint64(rows.indices[k])] += scale * rows.data[k]

    return dense if is_dense_type(rows) else csr


@overload(norm2, jit_options={"fastmath": FAST})
def _norm2(rows, i):
    def dense(rows, i):
        x, total = rows.X[i], 0.0
        for j in range(x.size):
            total += np.float64(x[j]) * x[j]
        return total

    def csr(rows, i):
        total = 0.0
        for k in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1])):
            total += np.float64(rows.data[k]) * rows.data[k]
        return total

    return dense if is_dense_type(rows) else csr
