"""What a data set's function may return, and the one form that the rest takes it in.

Possible are (X, y); a Bunch of scikit-learn's, or any mapping, with `data` and `target`; and a DataFrame whose label
column is obvious. X is an array, a sparse matrix or a DataFrame. y holds two classes, numbers or words.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from marginbench.datasets.check import Array, Matrix, check


class Samples(tuple[Matrix, Array]):
    """(X, y), and notes: what was decided on reading them, a sentence each."""

    notes: tuple[str, ...] = ()


def samples(X: Matrix, y: Array, notes: Sequence[str] = ()) -> Samples:
    made = Samples((X, y))
    made.notes = tuple(notes)
    return made


def samples_of(returned: Any, name: str) -> Samples:
    """Checked samples from whatever a function returned; a ValueError of one line where that is none of the above."""
    notes = list(getattr(returned, "notes", ())) if isinstance(returned, Samples) else []
    if _is_frame(returned):
        from marginbench.datasets.columns import split
        from marginbench.datasets.frames import columns_of_frame

        X, y, more = split(columns_of_frame(returned, name), None, name)
        notes += more
    else:
        X, y = _pair(returned, name)
    X, more = _matrix(X, name)
    notes += more
    if not (isinstance(y, np.ndarray) and y.dtype == np.float64 and y.ndim == 1 and np.isin(y, (-1.0, 1.0)).all()):
        from marginbench.datasets.labels import signs

        y, more = signs(_labels(y), None, name, "call a function that returns two")
        notes += more
    return samples(*check(X, y, name), notes)


def _pair(returned: Any, name: str) -> tuple[Any, Any]:
    if isinstance(returned, tuple | list) and len(returned) == 2:
        return returned[0], returned[1]
    if isinstance(returned, Mapping) and returned.get("data") is not None and returned.get("target") is not None:
        return returned["data"], returned["target"]
    kind = type(returned).__name__
    raise ValueError(f"{name}: the data are a {kind}; need (X, y), a Bunch with data and target, or a DataFrame")


def _matrix(X: Any, name: str) -> tuple[Any, list[str]]:
    """X as an array or a sparse matrix of real numbers."""
    if _is_frame(X):
        from marginbench.datasets.columns import features
        from marginbench.datasets.frames import columns_of_frame

        return features(columns_of_frame(X, name), name)
    if not sp.issparse(X):
        X = np.asarray(X)
        if X.dtype.kind == "O":
            raise ValueError(f"{name}: X holds Python objects; need real numbers, or a DataFrame with typed columns")
    if X.dtype.kind not in "biuf":
        raise ValueError(f"{name}: X has entries of type {X.dtype}; need real numbers")
    return X, []


def _labels(y: Any) -> Any:
    """An array of a Series or of a DataFrame with one column."""
    return y.to_numpy() if hasattr(y, "to_numpy") else y


def _is_frame(value: Any) -> bool:
    return hasattr(value, "columns") and hasattr(value, "iloc")
