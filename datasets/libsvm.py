"""The LIBSVM (SVMlight) text format: one row per line, `label index:value index:value ... # comment`.

The text is read in pieces, each by one compiled pass over its whole lines, into arrays that grow: beside them a few MB
are used. A file in which every row has the same columns, one after the other, is a dense matrix: its indices are not
kept. How numbers are read: `decimals.py`.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from numba import njit

from marginbench.datasets.check import Array, Matrix
from marginbench.datasets.decimals import HASH, NEWLINE, NINE, ZERO, ends, number
from marginbench.datasets.growing import Growing

COLON = ord(":")
LARGEST = 2**31 - 1
FINE, BAD_LABEL, BAD_PAIR, BAD_VALUE, BAD_ORDER, BAD_INDEX = range(6)
TOKEN = re.compile(rb"[^\s#]*")


def read_libsvm(pieces: bytes | Iterable[bytes], name: str, d: int | None = None) -> tuple[Matrix, Array]:
    """(X, labels). Indices count from 1, or from 0 in a file that has an index 0; they must increase in a line.

    Blank lines, comments, `qid:` tokens and carriage returns are passed over; stored zeros are dropped from CSR. With
    d, no index may be above it. Every refusal is a ValueError "name: line 17: ...".
    """
    reader = Reader(name, d)
    for text in _whole_lines([pieces] if isinstance(pieces, bytes) else pieces):
        reader.take(text)
    return reader.matrix(), reader.labels.taken()


def _whole_lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The text in pieces that end with a line, the last one too: the newline is the kernel's sentinel."""
    rest, first = list[bytes](), True
    for piece in pieces:
        end = piece.rfind(b"\n") + 1
        if end:
            text = b"".join([*rest, piece[:end]])
            yield text.removeprefix(b"\xef\xbb\xbf") if first else text
            rest, first = [], False
        rest.append(piece[end:])
    if text := b"".join(rest):
        yield (text.removeprefix(b"\xef\xbb\xbf") if first else text) + b"\n"


class Reader:
    """What was read so far. `regular`: the columns of every row, as long as all rows have the same."""

    def __init__(self, name: str, d: int | None) -> None:
        self.name, self.d = name, d
        self.labels, self.counts = Growing(np.float64), Growing(np.int32)
        self.indices, self.data = Growing(np.int32), Growing(np.float64)
        self.regular: Array | None = None
        self.least, self.most, self.zeros, self.lines = LARGEST, -1, False, 0
        self.beyond: dict[int, str] = {}
        """For each base of indices (0, 1) the first refusal of one above d."""

    def take(self, text: bytes) -> None:
        found = _Piece(text)
        if found.problem != FINE:
            _refuse(text, self.name, self.lines, found.problem, found.at)
        if found.left:
            _finish(text, self.name, self.lines, found.labels, found.label_at)
            _finish(text, self.name, self.lines, found.data, found.value_at)
        self.least, self.most = min(self.least, found.least), max(self.most, found.most)
        self.zeros = self.zeros or found.zeros
        if self.d is not None:
            self._look_beyond(text, found, self.d)
        if self.indices.size == 0 and not self._is_regular(found):
            self._make_irregular()
        if self.regular is None:
            self.indices.append(found.indices)
        for kept, more in ((self.labels, found.labels), (self.counts, found.counts), (self.data, found.data)):
            kept.append(more)
        self.lines += text.count(b"\n")

    def _look_beyond(self, text: bytes, found: "_Piece", d: int) -> None:
        for base in (0, 1):
            if base not in self.beyond and found.most - base >= d:
                k = int(np.argmax(found.indices - base >= d))
                where = f"{self.name}: line {self.lines + _line(text, found.value_at[k])}"
                self.beyond[base] = f"{where}: index {found.indices[k]}, but dataset.d={d}"

    def _is_regular(self, found: "_Piece") -> bool:
        """Whether all rows so far, and those found now, have the columns of the first one, one after the other."""
        if found.counts.size == 0:
            return True
        if self.labels.size == 0:
            first = found.indices[: found.counts[0]]
            if first.size == 0 or first[-1] - first[0] != first.size - 1:
                return False
            self.regular = first.copy()
        if self.regular is None or (found.counts != self.regular.size).any():
            return False
        return bool((found.indices.reshape(-1, self.regular.size) == self.regular).all())

    def _make_irregular(self) -> None:
        """From here on indices are kept; those that were not are made up for."""
        if self.regular is not None:
            self.indices.append(np.tile(self.regular, self.labels.size))
            self.regular = None

    def matrix(self) -> Matrix:
        n, nnz, base = self.labels.size, self.data.size, 0 if self.least == 0 else 1
        if base in self.beyond:
            raise ValueError(self.beyond[base])
        columns = self.d if self.d is not None else max(0, self.most - base + 1)
        if self.regular is not None and self.regular[0] == base and self.regular.size == columns:
            return self.data.taken().reshape(n, columns)
        self._make_irregular()
        index: Any = np.int32 if nnz < 2**31 else np.int64
        indptr = np.zeros(n + 1, index)
        np.cumsum(self.counts.taken(), out=indptr[1:])
        indices = self.indices.taken()
        indices -= base
        X = sp.csr_array((n, columns))  # which would make views of arrays it is given here
        X.data, X.indices, X.indptr = self.data.taken(), indices.astype(index, copy=False), indptr
        X.has_canonical_format = True
        if self.zeros:
            X.eliminate_zeros()
        return X


class _Piece:
    """Whole lines of a text, read: labels, the number of pairs in each row, indices, data, and where each began."""

    def __init__(self, raw: bytes) -> None:
        text = np.frombuffer(raw, dtype=np.uint8)
        rows, pairs = text.size // 2 + 1, text.size // 4 + 1  # "1" and "1:1" with one character that ends them
        labels, label_at, counts = np.empty(rows), np.empty(rows, np.int64), np.empty(rows, np.int32)
        indices, data, value_at = np.empty(pairs, np.int32), np.empty(pairs), np.empty(pairs, np.int64)
        self.problem, self.at, n, nnz, self.left, self.zeros, self.least, self.most = _scan(
            text, labels, label_at, counts, indices, data, value_at
        )
        self.labels, self.label_at, self.counts = labels[:n], label_at[:n], counts[:n]
        self.indices, self.data, self.value_at = indices[:nnz], data[:nnz], value_at[:nnz]


@njit(cache=True, nogil=True)
def _scan(text, labels, label_at, counts, indices, data, value_at):
    """Fill the arrays: (problem, its position, rows, pairs, whether numbers are left to float(), whether a value is 0,
    the least and the largest index). NaN stands for a number that is left."""
    i = n = k = 0
    left = zeros = False
    least, most = LARGEST, -1
    while i < text.size:
        i = _blanks(text, i)
        if text[i] != NEWLINE and text[i] != HASH:
            labels[n], end = number(text, i)
            if end < 0:
                return BAD_LABEL, i, n, k, left, zeros, least, most
            left |= np.isnan(labels[n])
            label_at[n] = i
            i, previous, before = _blanks(text, end), -1, k
            while text[i] != NEWLINE and text[i] != HASH:
                start, index = i, 0
                while ZERO <= text[i] <= NINE:
                    index = min(10 * index + (text[i] - ZERO), LARGEST + 1)
                    i += 1
                if text[i] != COLON or i == start:
                    if not _is_qid(text, start):
                        return BAD_PAIR, start, n, k, left, zeros, least, most
                    while not ends(text[i]):
                        i += 1
                    i = _blanks(text, i)
                    continue
                value, end = number(text, i + 1)
                problem = BAD_VALUE if end < 0 else BAD_INDEX if index > LARGEST else BAD_ORDER
                if end < 0 or index > LARGEST or index <= previous:
                    return problem, start, n, k, left, zeros, least, most
                left |= np.isnan(value)
                zeros |= value == 0.0
                data[k], indices[k], value_at[k], previous = value, index, i + 1, index
                k += 1
                i = _blanks(text, end)
            counts[n] = k - before
            n += 1
            if k > before:  # indices increase in a line
                least, most = min(least, indices[before]), max(most, indices[k - 1])
        while text[i] != NEWLINE:
            i += 1
        i += 1
    return FINE, 0, n, k, left, zeros, least, most


@njit(cache=True)
def _blanks(text, i):
    """The next position that is no blank; space, tab, carriage return, vertical tab and form feed are."""
    while text[i] == 32 or (9 <= text[i] <= 13 and text[i] != NEWLINE):
        i += 1
    return i


@njit(cache=True)
def _is_qid(text, i):
    return text[i] == 113 and text[i + 1] == 105 and text[i + 2] == 100 and text[i + 3] == COLON


def _finish(raw: bytes, name: str, lines: int, values: Array, at: Array) -> None:
    """Read with float() what the scan left."""
    for k in np.flatnonzero(np.isnan(values)).tolist():
        values[k] = float(_token(raw, at[k]))
        if np.isinf(values[k]):
            given = _token(raw, at[k]).decode()
            raise ValueError(f"{name}: line {lines + _line(raw, at[k])}: expected a finite number, got {given!r}")


def _refuse(raw: bytes, name: str, lines: int, problem: int, at: int) -> NoReturn:
    given = _token(raw, at).decode(errors="replace")
    given = given if len(given) <= 40 else given[:40] + "..."
    says = {
        BAD_LABEL: f"expected a label, a finite number, got {given!r}",
        BAD_PAIR: f"expected index:value, got {given!r}",
        BAD_VALUE: f"expected a finite number after the colon, got {given!r}",
        BAD_ORDER: f"{given!r} has an index not above the one before it; indices must increase",
        BAD_INDEX: f"{given!r} has an index above {LARGEST}",
    }
    raise ValueError(f"{name}: line {lines + _line(raw, at)}: {says[problem]}")


def _token(raw: bytes, at: int) -> bytes:
    found = TOKEN.match(raw, at)
    return found.group() if found else b""


def _line(raw: bytes, at: int) -> int:
    return raw.count(b"\n", 0, at) + 1
