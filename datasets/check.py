"""What every data set must be before a problem is made of it."""

from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

from marginbench.harness.matrices import BLOCK, all_finite, as_matrix

Array: TypeAlias = np.ndarray
Matrix: TypeAlias = np.ndarray | sp.csr_array


def check(X, y, name: str = "data", single: bool = False) -> tuple[Matrix, Array]:
    """(X, y) in the one form the rest relies on, or a ValueError of one line that begins with `name`.

    X becomes dense float64 in C order, or CSR with float64 data and sorted 32-bit indices without duplicates;
    y becomes float64. single: entries of X that are float32 stay so. Refused: no rows or columns, another number of
    labels than rows, NaN or infinity, labels other than -1 and +1, one class only.
    """
    X, y = _matrix(X, name, single), np.ascontiguousarray(y, dtype=np.float64)
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(f"{name}: X has shape {X.shape}; need at least one row and one column")
    if y.shape != (X.shape[0],):
        raise ValueError(f"{name}: labels of shape {y.shape} for {X.shape[0]} rows; need one per row")
    bad = first_bad_row(X)
    if bad is not None:
        raise ValueError(f"{name}: row {bad} (counted from 0) holds NaN or infinity; need finite numbers")
    found = distinct(y)
    if not np.isin(found, (-1.0, 1.0)).all():
        raise ValueError(f"{name}: labels {listed(found)}; need -1 and +1")
    if found.size < 2:
        raise ValueError(f"{name}: every label is {found[0]:+g}; need both -1 and +1")
    return X, y


def distinct(values: Array) -> Array:
    """The values that occur, in order: as np.unique, which sorts a copy of all."""
    parts = [np.unique(values[k : k + BLOCK]) for k in range(0, len(values), BLOCK)]
    return np.unique(np.concatenate(parts)) if parts else values


def first_bad_row(X: Matrix) -> int | None:
    """The first row with NaN or infinity."""
    if all_finite(X):
        return None
    if isinstance(X, np.ndarray):
        bad = np.flatnonzero(~np.isfinite(X).all(axis=1))
    else:
        stored = np.flatnonzero(~np.isfinite(X.data))
        bad = np.searchsorted(X.indptr, stored, side="right") - 1
    return int(bad[0]) if bad.size else None


def listed(values, limit: int = 10) -> str:
    """Values in a message: 1, 2, 3 and no more than `limit` of them."""
    shown = [f"{v:g}" if isinstance(v, float) else str(v) for v in np.asarray(values).tolist()]
    return ", ".join(shown[:limit]) + (f", ... ({len(shown)} in all)" if len(shown) > limit else "")


def _matrix(X, name: str, single: bool) -> Matrix:
    """X by `as_matrix`; its sparse indices are checked before anything relies on them."""
    try:
        if sp.issparse(X):
            if hasattr(X, "check_format"):  # before scipy's compiled code follows them
                X.check_format(full_check=True)
            X = sp.csr_array(X)  # which has not yet been said to be in canonical form
        return as_matrix(X, single)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name}: X is not a matrix of numbers: {str(error).splitlines()[0]}") from None
