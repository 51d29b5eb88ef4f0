"""Data on disk, for the processes that cells run in: written once, mapped by each, read-only to all.

`<folder>/<digest>/` holds y.npy and X.npy, or the three arrays of a CSR matrix and their shape. The arrays that
`open_data` gives are the pages of these files: nothing is copied, NumPy refuses to write to them, and C code that
tries is ended by the kernel.

What is on disk is not trusted. Whoever has the data in memory compares them with the files, bit by bit, before the
first use, and again whenever `stamp` says that a file was touched. Files that differ are made again.
"""

import mmap
import os
import secrets
import shutil
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse as sp

from marginbench.harness.errors import StoreError
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
    notes: tuple[str, ...] = ()
    """What was decided on reading it, for the user."""


PARTS = ("data", "indices", "indptr", "shape")


def spill(X: Matrix, y: Array, digest: str, folder: Path) -> Path:
    """Write the data unless they are there, bit by bit; the folder that `open_data` takes. Any number of writers."""
    path = Path(folder) / digest
    X = as_matrix(X)
    arrays = {"y": as_labels(y, X.shape[0])}
    arrays |= (
        dict(zip(PARTS, (X.data, X.indices, X.indptr, np.array(X.shape)), strict=True)) if sp.issparse(X) else {"X": X}
    )
    if path.exists() and not _same(path, arrays):
        _remove(path)
    return write_folder_atomically(path, {f"{name}.npy": partial(_save, array) for name, array in arrays.items()})


def stamp(path: Path) -> tuple[tuple[str, int, int, int, int], ...]:
    """What changes when a file of the folder is written to or replaced; empty where the folder is gone."""
    try:
        found = [(entry.name, entry.stat()) for entry in sorted(path.iterdir())]
    except OSError:
        return ()
    return tuple((name, s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for name, s in found)


def _same(path: Path, arrays: dict[str, Array]) -> bool:
    try:
        if {file.name for file in path.iterdir()} != {f"{name}.npy" for name in arrays}:
            return False
        return all(_equal(_mapped(path / f"{name}.npy"), array) for name, array in arrays.items())
    except (OSError, ValueError, TypeError, SyntaxError, KeyError):  # cut short, or not an array any more
        return False


def _equal(one: Array, other: Array) -> bool:
    """Bit by bit, in pieces: comparing makes a copy."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    a, b = (np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in (one, other))
    step = 2**22
    return all(np.array_equal(a[k : k + step], b[k : k + step]) for k in range(0, a.size, step))


def _remove(path: Path) -> None:
    """Under another name first: a reader sees the folder whole, or not at all."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
    try:
        os.rename(path, aside)
        if aside.is_dir():
            shutil.rmtree(aside)
        else:
            aside.unlink()
    except FileNotFoundError:
        return  # somebody else was faster
    except OSError as error:
        raise StoreError(f"cannot replace {path}: {error.strerror or error}") from error


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
