"""Data as a Python user holds them: an array, a sparse matrix or a DataFrame, and two classes of any kind.

The larger class in sorted order is the positive one, as `classes_[1]` of scikit-learn; `positive=` says otherwise.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from marginbench.datasets import cache
from marginbench.datasets.check import check, listed
from marginbench.harness.model.problem import Array, InputError, Matrix
from marginbench.harness.running.mapped_data import open_data


class Classes(NamedTuple):
    """The labels that stand for -1 and +1."""

    negative: Any
    positive: Any

    def signs(self, y: object) -> Array:
        """-1.0 and +1.0 for labels y."""
        found = labels_of(y)
        strange = found[~np.isin(found, np.array(self))]
        if strange.size:
            known = f"{self.negative!r} and {self.positive!r}"
            raise InputError(f"labels: {_shown(np.unique(strange))} among them; known are {known}")
        return np.where(found == self.positive, 1.0, -1.0)

    def names(self, f: Array) -> Array:
        """The label on the side of each value of f; 0 is on the negative one, as in scikit-learn."""
        return np.asarray(np.array(self)[(np.asarray(f) > 0.0).astype(int)])


SIGNS = Classes(-1, 1)
"""Labels that stand for themselves."""


class Samples(NamedTuple):
    """X dense or CSR in float64, y in -1.0 and +1.0, and what the signs stand for."""

    X: Matrix
    y: Array
    classes: Classes


def samples(X: object, y: object, positive: object = None) -> Samples:
    """Any accepted form of (X, y) as the one that the rest relies on; InputError in one line for all others."""
    classes = classes_of(y, positive)
    return Samples(*checked(X, classes.signs(y)), classes)


def checked(X: object, signs: Array) -> tuple[Matrix, Array]:
    """X as a matrix of finite numbers, with one sign per row."""
    try:
        return check(matrix_of(X), signs, "data")
    except ValueError as error:
        raise InputError(str(error)) from None


def matrix_of(X: Any) -> Matrix:
    """A dense array of float64 or a sparse matrix as it is; columns of a DataFrame must be numeric."""
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        return _of_frame(X)
    if sp.issparse(X):
        if X.dtype.kind not in "biuf":
            raise InputError(f"X: entries of type {X.dtype}; needs real numbers")
        return X
    array = np.asarray(X)
    if array.dtype.kind not in "biufO":
        raise InputError(f"X: entries of type {array.dtype}; needs real numbers")
    if array.ndim != 2:
        raise InputError(f"X: shape {array.shape}; needs rows and columns, as X.reshape(-1, 1) gives for one column")
    try:
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"X: not a matrix of numbers: {error}") from None


def _of_frame(X: Any) -> Array:
    from pandas.api.types import is_numeric_dtype

    kinds = zip(X.columns, X.dtypes, strict=True)
    other = [f"{name!r} ({kind})" for name, kind in kinds if not is_numeric_dtype(kind) or kind.kind == "c"]
    if other:
        raise InputError(f"X: columns that are not numeric: {', '.join(other)}; encode or drop them")
    return np.asarray(X.to_numpy(dtype=np.float64, na_value=np.nan))


def labels_of(y: Any) -> Array:
    """One label per row, none missing."""
    found = np.asarray(y)
    if found.ndim != 1:
        raise InputError(f"labels: shape {found.shape}; needs one label per row")
    missing = found != found if found.dtype.kind in "fO" else np.zeros(found.shape, bool)
    missing = missing | np.array([label is None for label in found]) if found.dtype.kind == "O" else missing
    if missing.any():
        raise InputError(f"labels: missing in row {int(np.argmax(missing))} (counted from 0); needs one label per row")
    return found


def classes_of(y: object, positive: object = None) -> Classes:
    """The two classes of y, the positive one last."""
    try:
        found = np.unique(labels_of(y)).tolist()
    except TypeError:
        raise InputError("labels: of several types; needs two classes of one type") from None
    if len(found) > 2:
        raise InputError(
            f"labels: {len(found)} classes ({_shown(found)}); needs two: y == label gives one class against the rest"
        )
    if len(found) < 2:
        raise InputError(f"labels: {f'one class only ({found[0]!r})' if found else 'none'}; needs two classes")
    if positive is None:
        return Classes(*found)
    if positive not in found:
        raise InputError(f"positive={positive!r}: the classes are {found[0]!r} and {found[1]!r}")
    return Classes(found[1 - found.index(positive)], found[found.index(positive)])


def _shown(values: Any) -> str:
    return listed([repr(value) for value in np.asarray(values).tolist()])


def folder_of_data() -> Path:
    """Where data given in memory lie for the processes of cells; may be deleted at any time."""
    return cache.data_folder()


def stored(digest: str) -> tuple[Matrix, Array]:
    """The data of this digest, in its layout, that `compare` was given: what a record names in place of a data set."""
    path = folder_of_data() / digest
    if not path.is_dir():
        raise InputError(f"the data {digest[:16]} were given in memory and are no longer kept: call compare again")
    return open_data(path)
