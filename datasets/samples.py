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
    """(X, y), and notes: what was decided on reading them, a sentence each. `digest` where it is known."""

    notes: tuple[str, ...] = ()
    digest: str = ""


def samples(X: Matrix, y: Array, notes: Sequence[str] = (), digest: str = "") -> Samples:
    made = Samples((X, y))
    made.notes, made.digest = tuple(notes), digest
    return made


def samples_of(returned: Any, name: str, positive: Any = None, negative: Any = None) -> Samples:
    """Checked samples from whatever a function returned; a ValueError of one line where that is none of the above.

    `positive`, `negative`: the labels that become +1 and -1, as of `files.file`.
    """
    chosen = positive is not None or negative is not None
    if isinstance(returned, Samples) and returned.digest and not chosen:
        return returned
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
    if chosen or not _are_signs(y):
        from marginbench.datasets.columns import Split
        from marginbench.datasets.labels import listed_labels, of_classes, signs

        wanted, against = (None if one is None else listed_labels(one) for one in (positive, negative))
        read, wanted = of_classes(Split(X, _labels(y), notes), wanted, against, name)
        y, more = signs(read.labels, wanted, name, "choose with preprocess.positive=...")
        X, notes = read.X, [*read.notes, *more]
    return samples(*check(X, y, name), notes)


def _are_signs(y: Any) -> bool:
    """Whether labels are -1.0 and +1.0 already."""
    return isinstance(y, np.ndarray) and y.dtype == np.float64 and y.ndim == 1 and bool(np.isin(y, (-1.0, 1.0)).all())


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
