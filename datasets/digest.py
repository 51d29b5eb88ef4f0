"""The name of a data set's content."""

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from marginbench.datasets.check import Array, Matrix
from marginbench.harness.matrices import BLOCK, as_matrix, row_blocks


def digest(X: Matrix, y: Array) -> str:
    """SHA-256 of shape, labels and non-zeros, the same for dense and CSR storage of the same values.

    Hashed, as little-endian bytes: n and d, y, the number of non-zeros of each row, their columns in increasing
    order, their values. Stored zeros, the order of stored entries and the width of indices do not matter. Blocks of
    rows are read in turn, once for each of the three: beside X, a few MB are used.
    """
    X = as_matrix(X, single=True)
    column = "<i4" if X.shape[1] < 2**31 else "<i8"
    sha = hashlib.sha256()
    _hash(sha, np.array(X.shape), "<i8")
    _hash(sha, y, "<f8")
    for counts in _counts(X):
        _hash(sha, counts, "<i8")
    for columns in _columns(X):
        _hash(sha, columns, column)
    for values in _values(X):
        _hash(sha, values, "<f8")
    return sha.hexdigest()


def _hash(sha: Any, part: Array, kind: str) -> None:
    for start in range(0, len(part), BLOCK):
        sha.update(np.ascontiguousarray(part[start : start + BLOCK], dtype=kind).data)


def _counts(X: Any) -> Iterator[Array]:
    for rows in row_blocks(X):
        if not sp.issparse(X):
            yield np.count_nonzero(X[rows], axis=1)
            continue
        ends = X.indptr[rows.start : rows.stop + 1]
        stored = X.data[ends[0] : ends[-1]]
        if np.count_nonzero(stored) == stored.size:
            yield np.diff(ends)
        else:
            before = np.append(0, np.cumsum(stored != 0.0))
            yield np.diff(before[ends - ends[0]])


def _columns(X: Any) -> Iterator[Array]:
    for entries, values in _entries(X):
        if sp.issparse(X):
            columns = X.indices[entries]
            yield columns if values is None else columns[values != 0.0]
        elif values is None:
            yield np.tile(np.arange(X.shape[1], dtype=np.int32), entries.stop - entries.start)
        else:
            yield np.nonzero(values)[1]


def _values(X: Any) -> Iterator[Array]:
    for entries, values in _entries(X):
        if values is None:
            yield X.data[entries] if sp.issparse(X) else X[entries].reshape(-1)
        else:
            yield values[values != 0.0]


def _entries(X: Any) -> Iterator[tuple[slice, Array | None]]:
    """Blocks of rows of a dense matrix, of stored entries of a sparse one, with their values where some are zero."""
    blocks = [slice(k, min(k + BLOCK, X.nnz)) for k in range(0, X.nnz, BLOCK)] if sp.issparse(X) else row_blocks(X)
    for entries in blocks:
        values = X.data[entries] if sp.issparse(X) else X[entries]
        yield entries, None if np.count_nonzero(values) == values.size else values
