"""The one form of a data matrix, for what makes data sets and for what makes problems of them."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from marginbench.harness.pages import on_disk, parts, release

BLOCK = 2**18
"""Entries that are looked at at a time, where what is computed of all of them at once would take the memory of X."""

LARGE_BLOCK = 2**22
"""Entries of data on disk that are multiplied at a time: 32 MB."""

WORTH_COMPILING = 2**16
"""Entries from which on a compiled pass is worth loading the compiler."""


def as_matrix(X, single: bool = False) -> Any:
    """Dense float64 in C order, or CSR with float64 data, sorted 32-bit indices and no duplicates.

    A matrix that is right already is given back as it is. Indices have 64 bits where 32 do not reach. single: one of
    float32 stays one.
    """
    kind = np.float32 if single and is_single(X) else np.float64
    if not sp.issparse(X):
        return np.ascontiguousarray(X, dtype=kind)
    if not (type(X) is sp.csr_array and X.dtype == kind):
        X = sp.csr_array(X, dtype=kind)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    index = np.int32 if max(X.nnz, *X.shape) < 2**31 else np.int64
    if X.indices.dtype == index and X.indptr.dtype == index:
        return X
    return sp.csr_array((X.data, X.indices.astype(index), X.indptr.astype(index)), shape=X.shape)


def is_single(X) -> bool:
    """Whether the entries are float32. Each of them is a float64 too: sums of their products are made in float64."""
    return getattr(X, "dtype", None) == np.float32


def as_double(X) -> Any:
    """The same numbers as float64: a copy where they are float32, and so for few rows at a time."""
    return X.astype(np.float64) if is_single(X) else X


def row_blocks(X, entries: int = BLOCK) -> Iterator[slice]:
    """All rows of X in turn, about so many entries at a time, one row at least. Pages of a file are given back."""
    n = X.shape[0]
    step, mapped = max(1, entries * n // max(1, stored_entries(X), n)), on_disk(X)
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        yield rows
        if mapped:
            release(*parts(rows_at(X, rows)))


def rows_at(X, rows: slice) -> Any:
    """Some rows in a run, as views."""
    if not sp.issparse(X):
        return X[rows]
    ends = X.indptr[rows.start : rows.stop + 1]
    some = sp.csr_array((rows.stop - rows.start, X.shape[1]))
    some.data, some.indices = X.data[ends[0] : ends[-1]], X.indices[ends[0] : ends[-1]]
    some.indptr = ends if ends[0] == 0 else ends - ends[0]
    some.has_canonical_format = X.has_canonical_format
    return some


def times(X, w: np.ndarray) -> np.ndarray:
    """X w. Of data on disk a block of rows at a time."""
    if is_single(X) and stored_entries(X) >= WORTH_COMPILING:
        return _compiled(X, w, None)[0]
    if not on_disk(X):
        return as_double(X) @ w
    product = np.empty(X.shape[0])
    for rows in row_blocks(X, LARGE_BLOCK):
        product[rows] = rows_at(X, rows) @ w
    return product


def transposed_times(X, v: np.ndarray) -> np.ndarray:
    """X'v. Of data on disk a block of rows at a time."""
    if is_single(X) and stored_entries(X) >= WORTH_COMPILING:
        return _compiled(X, None, v)[1]
    if not on_disk(X):
        return as_double(X).T @ v
    return sum((rows_at(X, rows).T @ v[rows] for rows in row_blocks(X, LARGE_BLOCK)), np.zeros(X.shape[1]))


def both_products(X, w: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(X w, X'v), each row read once; rows with v_i = 0 for the first product only."""
    if stored_entries(X) < WORTH_COMPILING:
        return times(X, w), transposed_times(X, v)
    return _compiled(X, w, v)


def _compiled(X, w: np.ndarray | None, v: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """(X w, X'v), summed in float64; without w or v the one that needs it is empty, or 0."""
    from marginbench.harness.rowops import rows_of, scores_and_sum  # loads a compiler: small data do without

    n, d = X.shape
    product, total = np.empty(0 if w is None else n), np.zeros(d)
    w, v = (np.ascontiguousarray(np.zeros(0) if given is None else given, dtype=float) for given in (w, v))
    for rows in row_blocks(X, LARGE_BLOCK) if on_disk(X) else [slice(0, n)]:
        scores_and_sum(rows_of(rows_at(X, rows)), w, v[rows], product[rows], total)
    return product, total


def stored_entries(X) -> int:
    return X.nnz if sp.issparse(X) else X.size


def all_finite(X) -> bool:
    """Whether no stored entry is NaN or infinite."""
    values = (X.data if sp.issparse(X) else X).reshape(-1)
    for k in range(0, values.size, BLOCK):
        if not np.isfinite(values[k : k + BLOCK]).all():
            return False
        release(values[k : k + BLOCK])
    return True


def lengths_above(X) -> np.ndarray:
    """Upper bounds of ||x_i||; inf where its square overflows."""
    norms, d = np.empty(X.shape[0]), X.shape[1]
    for rows in row_blocks(X):  # the squares of all entries at once would take the memory of X
        some = as_double(rows_at(X, rows))
        with np.errstate(all="ignore"):
            norms[rows] = some.power(2) @ np.ones(d) if sp.issparse(some) else np.einsum("ij,ij->i", some, some)
    # d + 4 roundings at most; of squares below the smallest float only that their roots are below 2^-536 is known.
    return np.sqrt(norms) * (1.0 + (d + 4) * 2.0**-52) + 2.0**-500
