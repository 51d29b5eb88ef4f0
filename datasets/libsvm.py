"""The LIBSVM (SVMlight) text format: one row per line, `label index:value index:value ... # comment`.

Numbers are rounded correctly, as float() rounds them. One compiled pass reads the text. A decimal whose digits make
an integer m <= 2^53 and whose power of ten is at most 22 needs one exact operation, m * 10^e or m / 10^-e, which IEEE
arithmetic rounds correctly (Clinger, How to read floating point numbers accurately, 1990); the rest, a few in most
files, are left as NaN by that pass and given to float().
"""

import re
from typing import NoReturn

import numpy as np
import scipy.sparse as sp
from numba import njit

from marginbench.datasets.check import Array

NEWLINE, HASH, COLON, POINT, PLUS, MINUS, ZERO, NINE = b"\n#:.+-09"
LARGEST = 2**31 - 1
FINE, BAD_LABEL, BAD_PAIR, BAD_VALUE, BAD_ORDER, BAD_INDEX = range(6)
POWERS = np.array([float(f"1e{k}") for k in range(23)])
TOKEN = re.compile(rb"[^\s#]*")


def read_libsvm(raw: bytes, name: str, d: int | None = None) -> tuple[sp.csr_array, Array]:
    """(X, labels). Indices count from 1, or from 0 in a file that has an index 0; they must increase in a line.

    Blank lines, comments, `qid:` tokens and carriage returns are passed over; stored zeros are dropped. With d, no
    index may be above it. Every refusal is a ValueError "name: line 17: ...".
    """
    raw = raw.removeprefix(b"\xef\xbb\xbf") + b"\n"  # the last newline is the kernel's sentinel
    text = np.frombuffer(raw, dtype=np.uint8)
    rows, size = np.count_nonzero(text == NEWLINE), np.count_nonzero(text == COLON)
    labels, label_at = np.empty(rows), np.empty(rows, dtype=np.int64)
    data, value_at = np.empty(size), np.empty(size, dtype=np.int64)
    indices, indptr = np.empty(size, dtype=np.int32), np.zeros(rows + 1, dtype=np.int64)
    n, nnz, problem, at = _scan(text, labels, label_at, indptr, indices, data, value_at)
    if problem != FINE:
        _refuse(raw, name, problem, at)
    labels, indptr, indices, data = labels[:n], indptr[: n + 1], indices[:nnz], data[:nnz]
    _finish(raw, name, labels, label_at)
    _finish(raw, name, data, value_at)
    base = 0 if nnz and indices.min() == 0 else 1
    if d is not None and nnz and indices.max() - base >= d:
        k = int(np.argmax(indices - base >= d))
        raise ValueError(f"{name}: line {_line(raw, value_at[k])}: index {indices[k]}, but dataset.d={d}")
    columns = d if d is not None else int(indices.max(initial=base - 1)) - base + 1
    index = np.int32 if nnz < 2**31 else np.int64
    X = sp.csr_array((data, (indices - base).astype(index), indptr.astype(index)), shape=(n, columns))
    X.eliminate_zeros()
    return X, labels


@njit(cache=True)
def _scan(text, labels, label_at, indptr, indices, data, value_at):
    """Fill the arrays; (rows, non-zeros, problem, its position). NaN stands for a number left to float()."""
    i = n = k = 0
    while i < text.size:
        i = _blanks(text, i)
        if text[i] != NEWLINE and text[i] != HASH:
            labels[n], end = _number(text, i)
            if end < 0:
                return n, k, BAD_LABEL, i
            label_at[n] = i
            i, previous = _blanks(text, end), -1
            while text[i] != NEWLINE and text[i] != HASH:
                start, index = i, 0
                while ZERO <= text[i] <= NINE:
                    index = min(10 * index + (text[i] - ZERO), LARGEST + 1)
                    i += 1
                if text[i] != COLON or i == start:
                    if not _is_qid(text, start):
                        return n, k, BAD_PAIR, start
                    while not _ends(text[i]):
                        i += 1
                    i = _blanks(text, i)
                    continue
                value, end = _number(text, i + 1)
                if end < 0:
                    return n, k, BAD_VALUE, start
                if index > LARGEST:
                    return n, k, BAD_INDEX, start
                if index <= previous:
                    return n, k, BAD_ORDER, start
                data[k], indices[k], value_at[k], previous = value, index, i + 1, index
                k += 1
                i = _blanks(text, end)
            n += 1
            indptr[n] = k
        while text[i] != NEWLINE:
            i += 1
        i += 1
    return n, k, FINE, 0


@njit(cache=True)
def _blanks(text, i):
    """The next position that is no blank; space, tab, carriage return, vertical tab and form feed are."""
    while text[i] == 32 or (9 <= text[i] <= 13 and text[i] != NEWLINE):
        i += 1
    return i


@njit(cache=True)
def _ends(c):
    return c == 32 or 9 <= c <= 13 or c == HASH


@njit(cache=True)
def _is_qid(text, i):
    return text[i] == 113 and text[i + 1] == 105 and text[i + 2] == 100 and text[i + 3] == COLON


@njit(cache=True)
def _number(text, i):
    """(value, end) of the decimal at i, NaN if float() must read it, end = -1 if it is none."""
    negative = text[i] == MINUS
    if negative or text[i] == PLUS:
        i += 1
    m, digits, decimals, exponent, exact = 0, 0, 0, 0, True
    fraction = False
    while ZERO <= text[i] <= NINE or (text[i] == POINT and not fraction):
        if text[i] == POINT:
            fraction = True
        else:
            digits += 1
            decimals += fraction
            if m < 10**17:
                m = 10 * m + (text[i] - ZERO)
            else:
                exact = False
        i += 1
    if digits == 0:
        return np.nan, -1
    if text[i] == 69 or text[i] == 101:  # E or e
        i += 1
        sign = -1 if text[i] == MINUS else 1
        if text[i] == MINUS or text[i] == PLUS:
            i += 1
        if not ZERO <= text[i] <= NINE:
            return np.nan, -1
        while ZERO <= text[i] <= NINE:
            exponent = min(10 * exponent + (text[i] - ZERO), 10**6)
            i += 1
        exponent *= sign
    if not _ends(text[i]):
        return np.nan, -1
    exponent -= decimals
    if not exact or m > 2**53 or abs(exponent) > 22:
        return np.nan, i
    value = m * POWERS[exponent] if exponent >= 0 else m / POWERS[-exponent]
    return (-value if negative else value), i


def _finish(raw: bytes, name: str, values: Array, at: Array) -> None:
    """Read with float() what the scan left."""
    for k in np.flatnonzero(np.isnan(values)).tolist():
        values[k] = float(_token(raw, at[k]))
        if np.isinf(values[k]):
            given = _token(raw, at[k]).decode()
            raise ValueError(f"{name}: line {_line(raw, at[k])}: expected a finite number, got {given!r}")


def _refuse(raw: bytes, name: str, problem: int, at: int) -> NoReturn:
    given = _token(raw, at).decode(errors="replace")
    given = given if len(given) <= 40 else given[:40] + "..."
    says = {
        BAD_LABEL: f"expected a label, a finite number, got {given!r}",
        BAD_PAIR: f"expected index:value, got {given!r}",
        BAD_VALUE: f"expected a finite number after the colon, got {given!r}",
        BAD_ORDER: f"{given!r} has an index not above the one before it; indices must increase",
        BAD_INDEX: f"{given!r} has an index above {LARGEST}",
    }
    raise ValueError(f"{name}: line {_line(raw, at)}: {says[problem]}")


def _token(raw: bytes, at: int) -> bytes:
    found = TOKEN.match(raw, at)
    return found.group() if found else b""


def _line(raw: bytes, at: int) -> int:
    return raw.count(b"\n", 0, at) + 1
