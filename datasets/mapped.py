"""Data on disk: written once, mapped by every process that needs them, read-only to all.

`<folder>/<digest>/` holds y.npy and X.npy, `<folder>/<digest>-csr/` the three arrays of a CSR matrix and their shape in
the place of X.npy: the same data may be used in both layouts at once. Where entries are float32, the name ends in
`-f4`; the digest is that of the same numbers in float64. The arrays that
`open_data` gives are the pages of these files: nothing is copied, NumPy refuses to write to them, and C code that
tries is ended by the kernel.

What is on disk is not trusted. `intact` computes the digest of the files before their first use, and again whenever
`stamp` says that a file was touched. Files that are not what their name says are made again. A large file that holds an
array already, a user's own, is linked and not copied: it may change, and then its stamp does.
"""

import os
import secrets
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse as sp

from marginbench.datasets.check import Array, Matrix, check
from marginbench.datasets.digest import digest
from marginbench.harness.errors import StoreError
from marginbench.harness.files import write_folder_atomically
from marginbench.harness.matrices import as_matrix, is_single
from marginbench.harness.pages import Pages, mapping, release
from marginbench.harness.pages import map_file as map_file

SINGLE = "-f4"
"""How the name of a folder ends whose entries are float32."""

PARTS = ("data", "indices", "indptr", "shape")

LINKED = 2**26
"""Bytes from which on a file that holds an array already is linked, where the file system can, and not copied."""

STEP = 2**22
"""Numbers that are written at a time."""

Stamp = tuple[tuple[str, int, int, int, int], ...]

UNREADABLE = (OSError, ValueError, TypeError, SyntaxError, KeyError)
"""What opening raises where a file is cut short, or not an array any more."""


def folder_name(X: Matrix, digest: str) -> str:
    return digest + ("-csr" if sp.issparse(X) else "") + (SINGLE if is_single(X) else "")


def digest_of(folder: str) -> str:
    """Of the data in a folder of this name."""
    return folder.partition("-")[0]


def in_single(folder: Path) -> bool:
    """Whether the entries of the data in a folder of this name are float32."""
    return folder.name.endswith(SINGLE)


def spill(X: Matrix, y: Array, digest: str, folder: Path) -> Path:
    """Write the data unless they are there, bit by bit; the folder that `open_data` takes. Any number of writers."""
    X = as_matrix(X, single=True)
    path = Path(folder) / folder_name(X, digest)
    arrays = {"y": np.ascontiguousarray(y, dtype=np.float64)}
    arrays |= (
        dict(zip(PARTS, (X.data, X.indices, X.indptr, np.array(X.shape)), strict=True)) if sp.issparse(X) else {"X": X}
    )
    if path.exists() and not _same(path, arrays):
        remove(path)
    return write_folder_atomically(path, {f"{name}.npy": _content(array) for name, array in arrays.items()})


def stamp(path: Path) -> Stamp:
    """What changes when a file of the folder is written to or replaced; empty where the folder is gone."""
    try:
        found = [(entry.name, entry.stat()) for entry in sorted(path.iterdir())]
    except OSError:
        return ()
    return tuple((name, s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for name, s in found)


def intact(path: Path, name: str) -> bool:
    """Whether the files are whole, in the form that `spill` writes, and have this digest."""
    try:
        X, y = _opened(path, touched=False)
        names = {"y", *(PARTS if sp.issparse(X) else ("X",))}
        if {file.name for file in path.iterdir()} != {f"{one}.npy" for one in names}:
            return False
        checked, labels = check(X, y, single=in_single(path))
        as_it_was = [array.__array_interface__ for array in _arrays(X, y)]
        same = as_it_was == [array.__array_interface__ for array in _arrays(checked, labels)]
        return same and digest(checked, labels) == name
    except UNREADABLE:
        return False


def bytes_in(path: Path) -> int:
    """Bytes of the files of a folder."""
    return sum(file.stat().st_size for file in path.iterdir())


def size_of(X: Any, y: Array) -> int:
    """Bytes of the arrays."""
    return sum(array.nbytes for array in _arrays(X, y))


def _arrays(X: Any, y: Array) -> tuple[Array, ...]:
    return (X.data, X.indices, X.indptr, y) if sp.issparse(X) else (X, y)


def _same(path: Path, arrays: dict[str, Array]) -> bool:
    try:
        if {file.name for file in path.iterdir()} != {f"{name}.npy" for name in arrays}:
            return False
        return all(_equal(mapped(path / f"{name}.npy", False), array) for name, array in arrays.items())
    except UNREADABLE:
        return False


def _equal(one: Array, other: Array) -> bool:
    """Bit by bit, in pieces: comparing makes a copy."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    a, b = (np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in (one, other))
    step = 2**22
    for k in range(0, a.size, step):
        some = a[k : k + step], b[k : k + step]
        if not np.array_equal(*some):
            return False
        release(*some)
    return True


def remove(path: Path) -> None:
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


def _content(array: Array) -> Path | Callable[[BinaryIO], object]:
    """The file that the array is all of, or what writes it."""
    pages = mapping(array)
    if isinstance(pages, Pages) and os.path.isfile(pages.path) and array.nbytes >= LINKED:
        try:
            there = mapped(Path(pages.path), touched=False)
            if there.shape == array.shape and there.dtype == array.dtype and os.stat(pages.path).st_size == len(pages):
                return Path(pages.path)
        except UNREADABLE:
            pass
    return partial(_save, array)


def _save(array: Array, file: BinaryIO) -> None:
    header = np.lib.format.header_data_from_array_1_0(array)
    np.lib.format.write_array_header_1_0(file, header)
    raw = array.reshape(-1)
    for k in range(0, raw.size, STEP):
        file.write(raw[k : k + STEP].data)
        release(raw[k : k + STEP])


def open_data(path: Path, touched: bool = True) -> tuple[Any, Array]:
    """(X, y) as `spill` was given them, mapped read-only. touched: have the kernel bring in every page at once, so
    that no solver pays for the first look, and keep them. Without, whoever reads block by block gives pages back."""
    X, y = _opened(path, touched)
    if sp.issparse(X):
        X.has_canonical_format = True  # as_matrix made it so
    return X, y


def _opened(path: Path, touched: bool) -> tuple[Any, Array]:
    return matrix_at(path, touched), mapped(path / "y.npy", touched)


def matrix_at(path: Path, touched: bool) -> Any:
    """X of a folder. That a sparse one is in canonical form is not yet said."""
    if (path / "X.npy").exists():
        return mapped(path / "X.npy", touched)
    data, indices, indptr, shape = (mapped(path / f"{name}.npy", touched) for name in PARTS)
    return sp.csr_array((data, indices, indptr), shape=tuple(int(k) for k in shape))


def mapped(path: Path, touched: bool) -> Array:
    """The array of an .npy file as its pages."""
    with open(path, "rb") as file:
        return mapped_file(file, touched)


def mapped_file(file: BinaryIO, touched: bool) -> Array:
    """The same of an open file."""
    np.lib.format.read_magic(file)
    shape, columns_first, dtype = np.lib.format.read_array_header_1_0(file)
    if columns_first and len(shape) > 1:
        raise ValueError("columns first")
    return np.frombuffer(map_file(file, touched), dtype, offset=file.tell()).reshape(shape)
