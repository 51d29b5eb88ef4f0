"""MATLAB's files, version 5 to 7 (.mat): matrices, sparse matrices, text and cells of text.

Written here because scipy's reader crashes the process on damaged files. The format is MathWorks' "MAT-File Format":
behind 128 bytes of header, elements follow each other, each a type, a size and so many bytes. A matrix is an element
whose parts are elements: flags, dimensions, name, content. Whatever else is in a file is passed over.
"""

import math
import struct
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from marginbench.datasets.check import Array
from marginbench.datasets.columns import Split
from marginbench.datasets.compression import TooLarge

NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
"""Types of elements that hold numbers."""

TEXTS = {16: "utf-8", 17: "utf-16", 18: "utf-32"}
MATRIX, COMPRESSED = 14, 15
CELL, CHAR, SPARSE, FULL = 1, 4, 5, range(6, 16)
"""Classes of matrices."""

COMPLEX = 0x0800


def read_mat(raw: bytes, name: str, labels: str | None, most: int) -> Split:
    """A matrix and a vector with an entry for each of its rows: those called X and y, or the only two that fit."""
    if raw[:8] == b"\x89HDF\r\n\x1a\n" or raw[124:126] in (b"\x00\x02", b"\x02\x00"):
        raise ValueError(f"{name}: a MATLAB file of version 7.3; save it with -v7")
    if raw[126:128] not in (b"IM", b"MI"):
        raise ValueError(f"{name}: not a .mat file that can be read: need version 5 to 7 (save it with -v7)")
    try:
        found = dict(_variables(raw, name, most))
    except TooLarge:
        raise
    except (ValueError, TypeError, IndexError, struct.error, zlib.error, UnicodeError, OverflowError) as error:
        said = (str(error).splitlines() or [type(error).__name__])[0]
        raise ValueError(f"{name}: not a .mat file that can be read: {said}") from None
    y, X = _chosen(found, labels, name)
    if found[X].dtype.kind not in "biuf":
        raise ValueError(f"{name}: {X} has entries of type {found[X].dtype}; need real numbers")
    return Split(found[X], found[y].ravel(), [f"X is the matrix {X}, the labels are the vector {y}"])


def _chosen(found: dict[str, Any], labels: str | None, name: str) -> tuple[str, str]:
    """The names of y and X."""
    vectors = {key: a.size for key, a in found.items() if not sp.issparse(a) and a.size == max(a.shape)}
    matrices = {key: a.shape[0] for key, a in found.items() if a.dtype.kind != "U" and a.ndim == 2}
    pairs = [(k, m) for k, size in vectors.items() for m, rows in matrices.items() if m != k and rows == size > 1]
    if labels is not None:
        pairs = [pair for pair in pairs if pair[0] == labels]
    exact = [pair for pair in pairs if pair[1] == "X" and pair[0] in ("y", "Y", labels)]
    if len(exact) != 1 and len(pairs) != 1:
        shown = ", ".join(f"{key} {a.shape}" for key, a in sorted(found.items())) or "none"
        raise ValueError(f"{name}: need a matrix X and a vector y (or dataset.labels=NAME); found are {shown}")
    return (exact or pairs)[0]


def _variables(raw: bytes, name: str, most: int) -> Iterator[tuple[str, Any]]:
    order = "<" if raw[126:128] == b"IM" else ">"
    left = most
    for kind, content in _elements(raw[128:], order):
        if kind == COMPRESSED:
            unpacking = zlib.decompressobj()
            content = unpacking.decompress(content, left)
            if unpacking.unconsumed_tail:
                raise TooLarge(name, most)
            left -= len(content)
            kind, content = next(_elements(content, order), (0, b""))
        if kind == MATRIX:
            title, value = _matrix(content, order)
            if value is not None:
                yield title, value


def _elements(data: bytes, order: str) -> Iterator[tuple[int, bytes]]:
    """(type, bytes) of each element; one of four bytes or less has its size and its bytes inside the tag."""
    at = 0
    while at + 8 <= len(data):
        kind, size = struct.unpack(f"{order}2I", data[at : at + 8])
        if kind >> 16:
            kind, size, at = kind & 0xFFFF, kind >> 16, at + 4
            end = at + 4
            if size > 4:
                raise ValueError(f"a short element of {size} bytes")
        else:
            at += 8
            end = at + size + (0 if kind == COMPRESSED else -size % 8)
        if at + size > len(data):
            raise ValueError(f"an element of {size} bytes, of which {len(data) - at} are there")
        yield kind, data[at : at + size]
        at = end


def _matrix(content: bytes, order: str) -> tuple[str, Any]:
    """Name and value; None for what is neither numbers nor text."""
    parts = list(_elements(content, order))
    flags, sizes = _numbers(parts[0], order), [int(size) for size in _numbers(parts[1], order)]
    title, group, rest = parts[2][1].decode("latin-1"), int(flags[0]) & 0xFF, parts[3:]
    if min(sizes, default=-1) < 0 or len(sizes) < 2:
        raise ValueError(f"{title[:40]}: dimensions {sizes[:5]}")
    if group in FULL:
        value = _numbers(rest[0], order)
        if int(flags[0]) & COMPLEX:
            value = value + 1j * _numbers(rest[1], order)
        return title, _shaped(value, sizes, title)
    if group == SPARSE:
        rows, starts, value = (_numbers(part, order) for part in rest[:3])
        if rows.dtype.kind not in "iu" or starts.dtype.kind not in "iu":
            raise ValueError(f"{title[:40]}: places that are no whole numbers")
        if int(flags[0]) & COMPLEX:
            value = value + 1j * _numbers(rest[3], order)
        count = int(starts[-1]) if starts.size else 0  # there may be room for more
        made = sp.csc_array((value[:count], rows[:count], starts), shape=sizes)
        made.check_format(full_check=True)
        return title, made
    if group == CHAR:
        return title, _text(rest[0], sizes, order, title)
    if group == CELL:
        cells = [_matrix(part, order)[1] for kind, part in rest if kind == MATRIX]
        words = [str(cell[0]) for cell in cells if cell is not None and cell.dtype.kind == "U" and cell.size == 1]
        return title, np.array(words) if words and len(words) == len(cells) == math.prod(sizes) else None
    return title, None


def _numbers(part: tuple[int, bytes], order: str) -> Array:
    kind, content = part
    if kind not in NUMBERS:
        raise ValueError(f"type {kind} where numbers were expected")
    return np.frombuffer(content, order + NUMBERS[kind]).astype(NUMBERS[kind])


def _shaped(values: Array, sizes: list[int], title: str) -> Array:
    if math.prod(sizes) != values.size:
        raise ValueError(f"{title[:40]}: {values.size} entries for dimensions {sizes[:5]}")
    return values.reshape(sizes, order="F")


def _text(part: tuple[int, bytes], sizes: list[int], order: str, title: str) -> Array:
    """Each row of a matrix of characters is a text, filled up with blanks."""
    kind, content = part
    if kind in TEXTS:
        ending = "" if kind == 16 else "-le" if order == "<" else "-be"
        codes = np.array([ord(letter) for letter in content.decode(TEXTS[kind] + ending)], dtype=np.int64)
    else:
        codes = _numbers(part, order).astype(np.int64)
    letters = _shaped(codes, sizes[:2] if len(sizes) == 2 else [-1], title)
    return np.array(["".join(map(chr, row)).strip() for row in letters.tolist()], dtype=str)
