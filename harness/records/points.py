"""The rows of a problem with one or two features, kept beside the records: `<folder>/points/<digest>.npz`.

A report reads records and has no data. To draw a hyperplane among the rows that it separates, it needs them; for one
or two features they are small. What is read here may come from a stranger: it is checked, and no link is followed.
"""

import contextlib
import re
import zipfile
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from marginbench.harness.files import write_atomically
from marginbench.harness.model.problem import Array, Matrix

FOLDER = "points"
DIGITS = 16
"""Of a digest, as in the key of a problem."""

MOST_FEATURES = 2
MOST_ROWS = 2000
"""More than a picture can show; of more rows, every so manyth is kept."""


class Points(NamedTuple):
    """X is dense with one or two columns; `of` is the number of rows that the data have, which may be more."""

    X: Array
    y: Array
    of: int


def points_of(X: Matrix, y: Array) -> Points | None:
    """None where there are too many features to draw."""
    if X.shape[1] > MOST_FEATURES:
        return None
    step = -(-X.shape[0] // MOST_ROWS)
    rows = X[::step].toarray() if sp.issparse(X) else np.asarray(X[::step])
    return Points(rows, np.asarray(y[::step]), X.shape[0])


def write_points(folder: Path, digest: str, points: Points) -> None:
    arrays: dict[str, Any] = {"X": points.X, "y": points.y, "of": np.array(points.of)}
    write_atomically(_path(folder, digest), lambda file: np.savez_compressed(file, **arrays))


def read_points(folder: Path, digest: str) -> Points | None:
    """None where there are none, or none that can be read."""
    path = _path(folder, digest)
    if not re.fullmatch(f"[0-9a-f]{{{DIGITS}}}", digest[:DIGITS]) or path.is_symlink() or path.parent.is_symlink():
        return None
    unreadable = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error)
    with contextlib.suppress(*unreadable), np.load(path, allow_pickle=False) as data:
        X, y, of = data["X"], data["y"], int(data["of"])
        right = X.ndim == 2 and X.dtype == float and X.shape[1] <= MOST_FEATURES and X.shape[0] <= min(MOST_ROWS, of)
        if right and y.shape == X.shape[:1] and np.isfinite(X).all() and np.isin(y, (-1.0, 1.0)).all():
            return Points(X, y.astype(float), of)
    return None


def _path(folder: Path, digest: str) -> Path:
    return folder / FOLDER / f"{digest[:DIGITS]}.npz"
