"""[X, s] of an augmented bias on disk, for large data: written once, mapped by every cell, a copy of X in none.

It lies beside the data it was made from, `<folder>-s<s>/`. Whether the files are right is found out by comparing them
with the data, once per process, and again when `stamp` says that a file was touched.
"""

from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse as sp

from marginbench.datasets.eviction import hold, trim
from marginbench.datasets.mapped import PARTS, UNREADABLE, Stamp, bytes_in, mapped, matrix_at, open_data, remove, stamp
from marginbench.harness.cell.spec import Cell, instantiate, judged_problem
from marginbench.harness.errors import StoreError
from marginbench.harness.files import write_folder_atomically
from marginbench.harness.matrices import is_single, row_blocks
from marginbench.harness.model.problem import Array, Matrix

LARGE = 2**26
"""Bytes of data from which on a cell does not make [X, s] in its own memory."""

SEEN: dict[Path, Stamp] = {}
"""Folders that were found to be right, and their stamps of then."""


def prepared(cell: Cell, data: Path) -> Path | None:
    """The folder of [X, s] for a cell whose problem has an augmented bias, and whose data are large; else None."""
    try:
        if bytes_in(data) < LARGE:
            return None
        few = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
        problem = judged_problem(instantiate(cell.formulation), *few, cell.problem)
        wider = problem.bias == "augmented" and problem.kernel is None
        return widened(data, float(problem.s)) if wider else None
    except (*UNREADABLE, StoreError):  # a full disk: the cell makes its own. All else it will say itself
        return None


def widened(data: Path, s: float) -> Path:
    """The folder with the rows [x, s], written unless it is there and right."""
    path = data.with_name(f"{data.name}-s{s!r}")
    hold(path)
    if not SEEN.get(path) or SEEN[path] != stamp(path):
        X, _ = open_data(data, touched=False)
        if path.exists() and not _right(path, X, s):
            remove(path)
        write_folder_atomically(path, {f"{name}.npy": partial(_write, X, s, name) for name in _names(X)})
        trim(path.parent)
        SEEN[path] = stamp(path)
    return path


@cache
def opened(path: Path | None, touched: bool) -> Matrix | None:
    """The matrix of a folder, mapped once in this process; touched: as of `open_data`."""
    if path is None:
        return None
    X = matrix_at(path, touched)
    if sp.issparse(X):
        X.has_canonical_format = True
    return X


def _names(X: Any) -> tuple[str, ...]:
    return PARTS if sp.issparse(X) else ("X",)


def _about(X: Any, s: float, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type of an array of [X, s]. It is float32 where X and s are."""
    n, d = X.shape
    kind = np.dtype("<f4" if is_single(X) and float(np.float32(s)) == s else "<f8")
    if name == "X":
        return (n, d + 1), kind
    if name == "shape":
        return (2,), np.dtype(np.int64)
    index = np.dtype(np.int32 if max(X.nnz + n, n, d + 1) < 2**31 else np.int64)
    size = n + 1 if name == "indptr" else X.nnz + n
    return (size,), kind if name == "data" else index


def _pieces(X: Any, s: float, name: str) -> Iterator[Array]:
    """An array of [X, s], a block of rows at a time."""
    n, d = X.shape
    dtype = _about(X, s, name)[1]
    if name == "shape":
        yield np.array([n, d + 1], dtype)
        return
    if name == "indptr":
        yield np.zeros(1, dtype)
    for rows in row_blocks(X):
        if name == "X":
            yield np.column_stack([X[rows], np.full(rows.stop - rows.start, s, dtype)])
            continue
        ends = X.indptr[rows.start : rows.stop + 1].astype(np.int64)
        after = ends + np.arange(rows.start, rows.stop + 1)
        if name == "indptr":
            yield after[1:].astype(dtype)
            continue
        piece = np.full(after[-1] - after[0], s if name == "data" else d, dtype)
        given = np.ones(piece.size, bool)
        given[after[1:] - 1 - after[0]] = False
        piece[given] = (X.data if name == "data" else X.indices)[ends[0] : ends[-1]]
        yield piece


def _write(X: Any, s: float, name: str, file: BinaryIO) -> None:
    shape, dtype = _about(X, s, name)
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    for piece in _pieces(X, s, name):
        file.write(np.ascontiguousarray(piece).data)


def _right(path: Path, X: Any, s: float) -> bool:
    """Whether the files hold [X, s], bit by bit."""
    try:
        if {file.name for file in path.iterdir()} != {f"{name}.npy" for name in _names(X)}:
            return False
        return all(_same(mapped(path / f"{name}.npy", False), X, s, name) for name in _names(X))
    except UNREADABLE:
        return False


def _same(array: Array, X: Any, s: float, name: str) -> bool:
    if (array.shape, array.dtype) != _about(X, s, name):
        return False
    at, raw = 0, array.reshape(-1).view(np.uint8)
    for piece in _pieces(X, s, name):
        some = np.ascontiguousarray(piece).reshape(-1).view(np.uint8)
        if not np.array_equal(raw[at : at + some.size], some):
            return False
        at += some.size
    return at == raw.size
