"""Data on disk, for the processes that cells run in: written once, mapped by each, read-only to all.

`<folder>/<digest>/` holds y.npy and X.npy, or the three arrays of a CSR matrix and their shape. The arrays that
`open_data` gives are the pages of these files: nothing is copied, NumPy refuses to write to them, and C code that
tries is ended by the kernel.
"""

import mmap
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse as sp

from marginbench.harness.files import write_folder_atomically
from marginbench.harness.matrices import as_matrix
from marginbench.harness.model.problem import Array, Matrix, as_labels


@dataclass(frozen=True)
class Data:
    """A data set on disk, where every cell maps it read-only."""

    X: Any
    y: np.ndarray
    digest: str
    path: Path


PARTS = ("data", "indices", "indptr", "shape")


def spill(X: Matrix, y: Array, digest: str, folder: Path) -> Path:
    """Write the data unless they are there; the folder that `open_data` takes. Any number of writers."""
    path = Path(folder) / digest
    if path.is_dir():
        return path
    X = as_matrix(X)
    arrays = {"y": as_labels(y, X.shape[0])}
    arrays |= (
        dict(zip(PARTS, (X.data, X.indices, X.indptr, np.array(X.shape)), strict=True)) if sp.issparse(X) else {"X": X}
    )
    return write_folder_atomically(path, {f"{name}.npy": partial(_save, array) for name, array in arrays.items()})


def _save(array: Array, file: BinaryIO) -> None:
    np.save(file, array)


def open_data(path: Path) -> tuple[Matrix, Array]:
    """(X, y) as `spill` was given them, mapped read-only."""
    y = _mapped(path / "y.npy")
    if (path / "X.npy").exists():
        return _mapped(path / "X.npy"), y
    data, indices, indptr, shape = (_mapped(path / f"{name}.npy") for name in PARTS)
    X = sp.csr_array((data, indices, indptr), shape=tuple(int(k) for k in shape))
    X.has_canonical_format = True  # as_matrix made it so
    return X, y


def _mapped(path: Path) -> Array:
    """The array of an .npy file as its pages, all of them touched: no solver pays for the first look."""
    with open(path, "rb") as file:
        np.lib.format.read_magic(file)
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        flags = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)
        pages = mmap.mmap(file.fileno(), 0, flags=flags, prot=mmap.PROT_READ)
        return np.frombuffer(pages, dtype, offset=file.tell()).reshape(shape)
