"""Rows and columns brought to a common scale. Zeros of sparse data stay zeros, or the scale is refused.

What is learnt from the training rows is applied to held-out ones, too. Dense and CSR storage of the same values give
the same bits: sums run over non-zeros in the order of rows.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from marginbench.datasets.check import Array, Matrix

STEP = 2**20
"""Entries that are looked at in one piece."""

COLUMNS = ("none", "max_abs", "zero_to_one", "minus_one_to_one", "standard", "deviation")
ADVICE = "possible for sparse data are max_abs, deviation; of a file, dataset.layout=dense makes them dense"


class Columns(NamedTuple):
    """x -> (x - shift) / divisor for each column; a column without a divisor becomes 0."""

    shift: Array
    divisor: Array

    def applied(self, X: Matrix) -> Matrix:
        gone = self.divisor == 0.0
        by = np.where(gone, 1.0, self.divisor)
        if isinstance(X, np.ndarray):
            return np.where(gone, 0.0, (X - self.shift) / by)
        scaled = sp.csr_array((X.data / by[X.indices], X.indices, X.indptr), shape=X.shape)
        scaled.data[gone[X.indices]] = 0.0
        scaled.eliminate_zeros()
        return scaled


def fitted(X: Matrix, scale: str, option: str) -> Columns:
    """The scale of the columns of X. `option`: what the user typed, for the message of a refusal."""
    d = X.shape[1]
    if scale == "standard":
        if not isinstance(X, np.ndarray):
            raise ValueError(f"{option}: centred columns have no zeros, and X is sparse; {ADVICE}")
        return _standard(X)
    if scale == "deviation":
        return Columns(np.zeros(d), _deviation(X, option))
    low, high = _range(X, 0), _range(X, 1)
    if scale == "max_abs":
        return Columns(np.zeros(d), np.maximum(np.abs(low), np.abs(high)))
    width = high - low
    found = Columns(low, width) if scale == "zero_to_one" else Columns((low + high) / 2.0, width / 2.0)
    moved = np.flatnonzero((found.shift != 0.0) & (width > 0.0))
    if moved.size and not isinstance(X, np.ndarray):
        j = int(moved[0])
        raise ValueError(
            f"{option}: column {j} (counted from 0) runs from {low[j]:g} to {high[j]:g}, so that its zeros would move, "
            f"and X is sparse; {ADVICE}"
        )
    return found


def scaled(X: Array, scale: str) -> Array:
    """standard: each column to mean 0 and variance 1, constant columns to 0; none: as it is."""
    X = np.array(X, dtype=np.float64, order="C")
    if scale == "none":
        return X
    if scale != "standard":
        raise ValueError(f"dataset.scale={scale}: possible are standard, none")
    made = _standard(X).applied(X)
    assert isinstance(made, np.ndarray)
    return made


def unit_rows(X: Matrix) -> Matrix:
    """Each row divided by its norm; rows of zeros stay."""
    n = X.shape[0]
    largest, squares = np.zeros(n), np.zeros(n)
    for i, _, x in _entries(X):
        np.maximum.at(largest, i, np.abs(x))
    by = np.where(largest > 0.0, largest, 1.0)
    for i, _, x in _entries(X):  # of numbers up to 1: no square overflows
        np.add.at(squares, i, (x / by[i]) ** 2)
    norm = np.where(squares > 0.0, np.sqrt(squares), 1.0)
    if isinstance(X, np.ndarray):
        return X / by[:, None] / norm[:, None]
    rows = np.repeat(np.arange(n), np.diff(X.indptr))
    return sp.csr_array((X.data / by[rows] / norm[rows], X.indices, X.indptr), shape=X.shape)


def _standard(X: Array) -> Columns:
    spread = X.std(axis=0)
    constant = spread <= 1e-12 * np.abs(X).max(axis=0)  # rounding may leave a constant column a tiny spread
    return Columns(X.mean(axis=0), np.where(constant, 0.0, spread))


def _deviation(X: Matrix, option: str) -> Array:
    """The standard deviation of each column; 1 for a constant one, which stays as it is."""
    n, d = X.shape
    with np.errstate(over="ignore"):
        mean = _sums(X, lambda _, x: x) / n
        count = _sums(X, lambda _, x: np.ones(x.size))
        squares = _sums(X, lambda j, x: (x - mean[j]) ** 2) + (n - count) * mean**2
    if not np.isfinite(squares).all():
        raise ValueError(f"{option}: column {int(np.argmin(np.isfinite(squares)))} (counted from 0) is too large")
    spread = np.sqrt(squares / n)
    constant = spread <= 1e-12 * np.maximum(np.abs(_range(X, 0)), np.abs(_range(X, 1)))
    return np.where(constant, np.ones(d), spread)


def _sums(X: Matrix, term: Callable[[Array, Array], Array]) -> Array:
    """The sum of term(j, x) over the non-zeros x of each column j."""
    total = np.zeros(X.shape[1])
    for _, j, x in _entries(X):
        np.add.at(total, j, term(j, x))
    return total


def _range(X: Matrix, side: int) -> Array:
    """The smallest (0) or largest (1) value of each column, zeros that are not stored included."""
    found = X.max(axis=0) if side else X.min(axis=0)
    return np.asarray(found.toarray() if sp.issparse(found) else found, dtype=np.float64).ravel()


def _entries(X: Matrix) -> Iterator[tuple[Array, Array, Array]]:
    """(rows, columns, values) of the non-zeros, row by row, a piece at a time."""
    n = X.shape[0]
    stored = X.size if isinstance(X, np.ndarray) else X.nnz
    step = max(1, STEP * n // max(1, stored))
    for start in range(0, n, step):
        piece = X[start : start + step]
        if isinstance(piece, np.ndarray):
            i, j = np.nonzero(piece)
            yield i + start, j, piece[i, j]
        else:
            kept = piece.data != 0.0
            i = np.repeat(np.arange(start, start + piece.shape[0]), np.diff(piece.indptr))
            yield i[kept], piece.indices[kept], piece.data[kept]
