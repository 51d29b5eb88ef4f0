"""Files of arrays: .npz and .npy. Nothing in them is ever executed, and nothing larger than a limit is made.

Each reader returns (X, labels, notes), labels as they are written; every refusal is a ValueError that begins with the
name. X is a matrix of real numbers, dense or sparse.
"""

import io
import math
import re
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from marginbench.datasets.check import Array, Matrix
from marginbench.datasets.columns import Split
from marginbench.datasets.compression import TooLarge, bounded

REAL, WHOLE = "biuf", "iu"
"""Kinds of numbers, as NumPy spells them."""

SPARSE = {"csr": ("indices", "indptr"), "csc": ("indices", "indptr"), "coo": ("row", "col")}
"""Formats of scipy.sparse.save_npz that are read, and their arrays beside data and shape."""


def read_npz(raw: bytes, name: str, path: str, labels: str | None, most: int) -> Split:
    """Arrays X and y; or those of scipy.sparse.save_npz with y among them or in a file beside."""
    arrays = _members(raw, name, most)
    if "X" not in arrays and not {"data", "shape"} <= arrays.keys():
        found = ", ".join(sorted(arrays)) or "none"
        raise ValueError(f"{name}: arrays found: {found}; need X and y, or those of scipy.sparse.save_npz and y")
    inside = labels or "y"
    if inside in arrays:
        y, notes = arrays[inside], [f"the labels are the array {labels}"] if labels else []
    else:
        y, notes = labels_beside(path, labels, name, most)
    X = _real_matrix(arrays["X"], "X", name) if "X" in arrays else _sparse(arrays, y.size, name)
    return Split(X, y, notes)


def read_npy(raw: bytes, name: str, path: str, labels: str | None, most: int) -> Split:
    """A matrix; its labels are in a file beside."""
    X = _real_matrix(_array(raw, "the array", name), "the array", name)
    return Split(X, *labels_beside(path, labels, name, most))


def labels_beside(path: str, wanted: str | None, name: str, most: int) -> tuple[Array, list[str]]:
    """Labels from a file of their own: .npy, or text with one label a line; by default y.npy beside X.npy."""
    place = Path(path)
    stem = place.name.split(".")[0]
    swapped = re.sub(r"(?<![^\W_])[Xx](?![^\W_])", "y", stem)
    stems = ([swapped] if swapped != stem else []) + [f"{stem}_y", f"{stem}_labels"]
    names = [wanted] if wanted is not None else [f"{one}.npy" for one in stems]
    found = next((file for one in names for file in (place.parent / one, Path(one)) if file.is_file()), None)
    if found is None:
        given = (
            f"dataset.labels={wanted}: no such file or array"
            if wanted
            else f"no labels in it, and no {names[0]} beside"
        )
        raise ValueError(f"{name}: {given}; dataset.labels=FILE names a file of labels, .npy or one label a line")
    try:
        with found.open("rb") as file:
            if found.stat().st_size > most:
                raise TooLarge(str(found), most)
            content = file.read()
    except OSError as error:
        raise ValueError(f"{name}: the labels {found} cannot be read: {error.strerror}") from None
    note = [f"the labels are the file {found.name}"]
    if found.suffix == ".npy":
        return _array(content, "the labels", str(found)), note
    try:
        words = [line.strip() for line in content.decode("utf-8-sig").splitlines() if line.strip()]
    except UnicodeDecodeError:
        raise ValueError(f"{name}: the labels {found} are neither .npy nor UTF-8 text") from None
    return np.array(words, dtype=str), note


# -- parts --------------------------------------------------------------------------------------------------------


def _members(raw: bytes, name: str, most: int) -> dict[str, Array]:
    """The arrays of an .npz file, all of them together within the limit."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            parts, left = {}, most
            for member in archive.infolist():
                if member.file_size > left:
                    raise TooLarge(name, most)
                with archive.open(member) as file:
                    parts[member.filename.removesuffix(".npy")] = data = bounded(file, name, left)
                left -= len(data)
    except TooLarge:
        raise
    except Exception as error:  # zipfile raises whatever the damage leads to
        raise ValueError(f"{name}: not a .npz file that can be read: {first_line(error)}") from None
    return {key: _array(data, key, name) for key, data in parts.items()}


def _array(raw: bytes, what: str, name: str) -> Array:
    """The array of an .npy file. Its size is compared with what the file holds before anything is made of it."""
    file = io.BytesIO(raw)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            version = np.lib.format.read_magic(file)
            if version not in ((1, 0), (2, 0)):
                raise ValueError(f"version {version} of the format")
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, fortran, dtype = read(file)
    except Exception as error:  # the header is a Python literal: its parser raises all kinds of errors
        raise ValueError(f"{name}: {what} is not an array that can be read: {first_line(error)}") from None
    if dtype.hasobject or dtype.kind not in "biufcUS":
        raise ValueError(f"{name}: {what} has entries of type {dtype}; need real numbers or text")
    count, held = math.prod(shape), len(raw) - file.tell()
    if dtype.itemsize == 0 or min(shape, default=0) < 0 or count * dtype.itemsize != held:
        raise ValueError(f"{name}: {what} says shape {shape} and type {dtype}, which {held} bytes do not hold")
    array = np.frombuffer(raw, dtype, count, file.tell())
    return array.reshape(shape, order="F" if fortran else "C")


def _real_matrix(X: Any, what: str, name: str) -> Matrix:
    if X.ndim != 2 or X.dtype.kind not in REAL:
        raise ValueError(f"{name}: {what} has shape {X.shape} and type {X.dtype}; need a matrix of real numbers")
    return X


def _sparse(arrays: dict[str, Array], rows: int, name: str) -> Matrix:
    """The matrix of scipy.sparse.save_npz, whose arrays are checked before scipy relies on them."""
    stored = arrays.get("format", np.array("csr")).ravel()[:1].astype(str)
    kind = str(stored[0]) if stored.size else ""
    if kind not in SPARSE:
        raise ValueError(f"{name}: the sparse format is {kind!r}; need csr, csc or coo: save X.tocsr()")
    places = SPARSE[kind]
    lacking = [key for key in places if key not in arrays]
    if lacking:
        raise ValueError(f"{name}: a sparse matrix without its array {lacking[0]}")
    for key in (*places, "shape"):
        if arrays[key].dtype.kind not in WHOLE or arrays[key].ndim != 1:
            raise ValueError(f"{name}: {key} has entries of type {arrays[key].dtype}; need a list of whole numbers")
    data, shape = arrays["data"], arrays["shape"].tolist()
    if data.dtype.kind not in REAL or data.ndim != 1:
        raise ValueError(f"{name}: data have shape {data.shape} and type {data.dtype}; need real numbers")
    if len(shape) != 2 or not all(0 <= size < 2**31 for size in shape):
        raise ValueError(f"{name}: a sparse matrix of shape {tuple(shape)}; need rows and columns below 2^31")
    if shape[0] != rows:
        raise ValueError(f"{name}: {rows} labels for {shape[0]} rows; need one per row")
    one, two = (arrays[key].astype(np.int64) for key in places)
    try:
        if kind == "coo":
            return sp.csr_array(sp.coo_array((data.astype(np.float64), (one, two)), shape=shape))
        X = {"csr": sp.csr_array, "csc": sp.csc_array}[kind]((data.astype(np.float64), one, two), shape=shape)
        X.check_format(full_check=True)
    except (ValueError, TypeError, IndexError) as error:
        raise ValueError(f"{name}: not the arrays of a {kind.upper()} matrix: {first_line(error)}") from None
    return sp.csr_array(X)


def first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
