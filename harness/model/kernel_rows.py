"""G by rows: what stands for the matrix of a kernel where its n^2 numbers do not fit into memory.

A row is computed when it is asked for, with the bits that it has in the whole matrix (kernel_matrix.py). So the problem
is the same one, and so is the eps that makes it positive semidefinite: that is proven from the rounding errors of the
entries, not from K (kernel.py). What works row by row keeps those that it used last (`RowCache`); a product with G
computes the rows of the entries that are not 0, in tiles that are never stored.
"""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp
from numba import njit

from marginbench.harness.model.kernel_matrix import Source, add_rows, fill
from marginbench.harness.rowops import read_only

Array = np.ndarray

CACHE_SHARE = 0.5
"""Of the memory allowed, what a cache of rows may take."""

REMEMBERED = 3
"""Products with G: those of w, of w(alpha) and of its repair."""

DENSE_BELOW = 8
"""Columns for each entry of a row up to which sparse data are written out: a pass over columns is faster then than
merging two rows, and the bits are the same."""


@dataclass(frozen=True, eq=False)
class KernelRows:
    """G, or G + s^2 (`constant`). memory_mb: what may be used in all."""

    source: Source
    memory_mb: float = 4096.0
    last: list[tuple[Array, Array]] = field(default_factory=list, repr=False)
    """The latest products with G: a certificate asks for the same ones several times."""

    ndim = 2
    dtype = np.dtype(np.float64)

    @property
    def shape(self) -> tuple[int, int]:
        return self.source.diagonal.size, self.source.diagonal.size

    @property
    def size(self) -> int:
        return self.shape[0] ** 2

    def diagonal(self) -> Array:
        return self.source.diagonal + self.source.constant

    def __add__(self, constant: float) -> "KernelRows":
        """Every entry plus a number."""
        return replace(self, source=self.source._replace(constant=self.source.constant + constant))

    def __getitem__(self, rows: slice) -> Array:
        """Some rows in a run."""
        index = np.arange(*rows.indices(self.shape[0]))
        out = np.empty((index.size, self.shape[0]))
        fill(self.source, index, out)
        return out

    def __matmul__(self, c: Array) -> Array:
        f, constant = self._product(np.asarray(c, dtype=float)), self.source.constant
        return f + constant * float(c.sum()) if constant else f.copy()

    def _product(self, c: Array) -> Array:
        """Without the constant, the entries of which are the same for all rows."""
        for known, product in self.last:
            if np.array_equal(known, c):
                return product
        index, f = np.flatnonzero(c), np.zeros(self.shape[0])
        add_rows(self.source._replace(constant=0.0), index, c[index], f)
        if index.size:
            self.last[:] = [(c.copy(), f), *self.last[: REMEMBERED - 1]]
        return f

    def head(self, k: int) -> Array:
        """The first k rows and columns."""
        return self[:k][:, :k].copy()


KernelMatrix: TypeAlias = Array | KernelRows


def source_of(X: Any, gamma: float, squares: bool, coef0: float = 0.0, degree: int = 1) -> Source:
    """squares: of differences, for exp(-gamma ||x - z||^2); else of products, for (gamma x.z + coef0)^degree."""
    sparse = sp.issparse(X) and X.shape[1] > DENSE_BELOW * max(1, X.nnz // X.shape[0])
    no_index = np.empty(0, np.int32)
    if sparse:
        columns, data, indices, indptr = np.empty((0, 0)), X.data, X.indices, X.indptr
    else:
        columns = np.ascontiguousarray((X.toarray() if sp.issparse(X) else X).T)
        data, indices, indptr = np.empty(0), no_index, no_index
    return Source(
        columns=read_only(columns),  # read-only, so that all data are of one type: compiled once
        data=read_only(data),
        indices=read_only(indices),
        indptr=read_only(indptr),
        sparse=sparse,
        squares=squares,
        gamma=gamma,
        coef0=coef0,
        degree=degree,
        diagonal=np.empty(0),
        constant=0.0,
    )


# -- rows in use -------------------------------------------------------------------------------------------------


class RowCache(NamedTuple):
    """Rows of K: slot s holds row owner[s], last used at time used[s]; slot_of[i] is -1 where row i is absent."""

    rows: Array
    owner: Array
    used: Array
    slot_of: Array

    @classmethod
    def of(cls, n: int, most_mb: float) -> "RowCache":
        """Empty, of at most so many MB, two rows at least."""
        slots = int(min(n, max(2.0, most_mb * 2**20 / (8 * n))))
        return cls(np.empty((slots, n)), np.full(slots, -1), np.full(slots, -1), np.full(n, -1))

    @classmethod
    def full(cls, K: Array) -> "RowCache":
        """All rows of a matrix that is there."""
        n = K.shape[0]
        return cls(K, np.arange(n), np.zeros(n, np.int64), np.arange(n))


@njit(cache=True, fastmath=False)
def slot_for(cache, i, time):
    """(slot, whether row i is there); where it is not, the slot used longest ago is given to it."""
    slot = cache.slot_of[i]
    there = slot >= 0
    if not there:
        slot = np.argmin(cache.used)
        if cache.owner[slot] >= 0:
            cache.slot_of[cache.owner[slot]] = -1
        cache.owner[slot], cache.slot_of[i] = i, slot
    cache.used[slot] = time
    return slot, there


@njit(cache=True, fastmath=False)
def cached_row(source, i, time, cache):
    """K_i."""
    slot, there = slot_for(cache, i, time)
    if not there:
        fill(source, np.array([i]), cache.rows[slot : slot + 1])
    return cache.rows[slot]


def cached(K: KernelMatrix) -> tuple[Source, RowCache]:
    """What `cached_row` takes: all rows of K where it is there, else a cache of CACHE_SHARE of the memory allowed."""
    if isinstance(K, KernelRows):
        return K.source, RowCache.of(K.shape[0], CACHE_SHARE * K.memory_mb)
    return source_of(np.empty((1, 1)), 1.0, True), RowCache.full(K)
