"""The solution of a cell: w, b and alpha in `<folder>/solutions/<hash>.npz`, plain arrays."""

import contextlib
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from marginbench.harness.files import write_atomically
from marginbench.harness.model.problem import Point

FOLDER = "solutions"


def write_solution(folder: Path, key: str, point: Point) -> Path:
    arrays: dict[str, Any] = {"w": point.w, "b": np.array(point.b)} | (
        {} if point.alpha is None else {"alpha": point.alpha}
    )
    return write_atomically(_path(folder, key), lambda file: np.savez(file, **arrays))


def read_solution(folder: Path, key: str) -> Point | None:
    """None where there is none, or none that can be read."""
    unreadable = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error)
    with contextlib.suppress(*unreadable), np.load(_path(folder, key), allow_pickle=False) as data:
        arrays = dict(data)
        return Point(arrays["w"], float(arrays["b"]), arrays.get("alpha"))
    return None


def has_solution(folder: Path, key: str) -> bool:
    return _path(folder, key).is_file()


def _path(folder: Path, key: str) -> Path:
    return folder / FOLDER / f"{key}.npz"
