"""Arrays that are used where they lie: mapped, not read, so that they may be larger than memory.

A large .npy file of float64, rows first, with labels beside it; or a folder with X.npy and y.npy, or with y.npy and the
arrays of a CSR matrix (data.npy, indices.npy, indptr.npy, shape.npy), as `mapped.py` has them.
"""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from marginbench.datasets.array_files import labels_beside
from marginbench.datasets.check import Matrix, check
from marginbench.datasets.columns import Split
from marginbench.datasets.labels import listed_labels, of_classes, signs
from marginbench.datasets.mapped import PARTS, UNREADABLE, mapped, matrix_at
from marginbench.datasets.samples import Samples, samples

LARGE = 2**26
"""Bytes from which on a .npy file is mapped."""


def mapped_npy(path: str, name: str, labels: str | None, positive: Any, negative: Any, most: int) -> Samples | None:
    """The samples of a .npy file; None where it is small, or none that can be mapped and not too large to be read."""
    size = Path(path).stat().st_size
    if size < LARGE:
        return None
    try:
        X = mapped(Path(path), touched=False)
    except UNREADABLE:
        X = None
    if X is None or X.dtype != np.float64 or X.ndim != 2:
        if size <= most:
            return None  # its reader says what is wrong with it, or reads it
        found = "an array that cannot be mapped" if X is None else f"an array of type {X.dtype} and shape {X.shape}"
        raise ValueError(
            f"{name}: {found}, of more than dataset.largest_mb={most / 2**20:g} MB; a file of that size is mapped, not "
            f"read, which needs a matrix of float64, rows first: np.save(FILE, np.ascontiguousarray(X, dtype=float))"
        )
    y, notes = labels_beside(path, labels, name, most)
    return _samples(X, y, [*notes, "the file is mapped, not read"], positive, negative, name)


def folder(path: str, positive: Any, negative: Any) -> Samples:
    """The samples of a folder of arrays."""
    place = Path(path)
    wanted = ["y", "X"] if (place / "X.npy").is_file() else ["y", *PARTS]
    lacking = [f"{one}.npy" for one in wanted if not (place / f"{one}.npy").is_file()]
    if lacking:
        raise ValueError(
            f"dataset.path={path}: no such file, and a folder without {lacking[0]}; possible is a folder with y.npy "
            f"and X.npy, or with y.npy and {', '.join(f'{one}.npy' for one in PARTS)} of a CSR matrix"
        )
    try:
        X, y = matrix_at(place, touched=False), mapped(place / "y.npy", touched=False)
    except UNREADABLE as error:
        raise ValueError(f"dataset.path={path}: its arrays cannot be mapped: {str(error).splitlines()[0]}") from None
    return _samples(X, y, ["the files are mapped, not read"], positive, negative, path)


def _samples(X: Matrix, y: Any, notes: list[str], positive: Any, negative: Any, name: str) -> Samples:
    wanted, against = (None if one is None else listed_labels(one) for one in (positive, negative))
    if len(y) != X.shape[0]:
        raise ValueError(f"{name}: {len(y)} labels for {X.shape[0]} rows; need one per row")
    read, wanted = of_classes(Split(X, y, notes), wanted, against, name)
    y, more = signs(read.labels, wanted, name)
    X = read.X if sp.issparse(read.X) else np.asarray(read.X)
    return samples(*check(X, y, name), [*read.notes, *more])
