"""The formats whose rows are columns' entries or arrays: .csv, .parquet and .npz.

Each reader returns (X, labels), labels as they are written; every refusal is a ValueError that begins with the name.
"""

import csv
import io
import zipfile
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

from marginbench.datasets.check import Array, Matrix

Column = str | int


def read_csv(raw: bytes, name: str, labels: Column | None = None, header: bool | None = None) -> tuple[Array, Array]:
    """Comma-separated, one row per line, UTF-8, blank lines passed over; numbers are rounded as float() rounds them.

    The labels are the column of that name or number (counted from 0), by default the first. A first line without
    a single number beside the label is a header unless `header` says otherwise.
    """
    try:
        lines = [line for line in raw.decode("utf-8-sig").splitlines() if line.strip()]
    except UnicodeDecodeError:
        raise ValueError(f"{name}: not UTF-8 text") from None
    if not lines:
        raise ValueError(f"{name}: no rows")
    first = [field.strip() for field in next(csv.reader(lines[:1]))]
    if header is None:
        at = labels if isinstance(labels, int) else 0
        header = isinstance(labels, str) or not any(_is_finite(v) for j, v in enumerate(first) if j != at)
    column = _column(first if header else range(len(first)), labels, name)
    if len(lines) == header:
        raise ValueError(f"{name}: no rows")
    codes: dict[str, int] = {}  # a label's text -> the number that stands for it in the table

    def code(field: str) -> int:
        return codes.setdefault(field.strip(), len(codes))

    options: dict[str, Any] = {"delimiter": ",", "comments": None, "quotechar": '"', "ndmin": 2, "encoding": None}
    try:
        table = np.loadtxt(lines[header:], converters={column: code}, **options)
    except ValueError as error:
        _blame(raw, name, first, column, header, _first_line(error))
    if table.shape[1] != len(first) or "" in codes or not np.isfinite(table).all():
        _blame(raw, name, first, column, header, "a value is missing")
    return np.delete(table, column, axis=1), np.array(list(codes))[table[:, column].astype(int)]


def read_parquet(raw: bytes, name: str, labels: Column | None = None) -> tuple[Array, Array]:
    """The labels are the column of that name or number (counted from 0), by default the first; no nulls."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(io.BytesIO(raw))
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{name}: not a parquet file that can be read: {_first_line(error)}") from None
    names = [str(c) for c in table.column_names]
    column = _column(names, labels, name)
    X = np.empty((table.num_rows, len(names) - 1), order="F")
    for j, (title, values) in enumerate(zip(names, table.columns, strict=True)):
        if values.null_count:
            row = int(np.flatnonzero(values.is_null().to_numpy())[0])
            raise ValueError(f"{name}: row {row} (counted from 0) of column '{title}' is missing")
        if j == column:
            continue
        kind = values.type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
            raise ValueError(f"{name}: column '{title}' is of type {kind}; features must be numbers")
        X[:, j - (j > column)] = values.to_numpy()
    return np.ascontiguousarray(X), np.asarray(table.column(column).to_pylist())


def read_npz(raw: bytes, name: str) -> tuple[Matrix, Array]:
    """Arrays X and y, or the arrays of a CSR matrix as scipy.sparse.save_npz names them, and y. Never a pickle."""
    try:
        with np.load(io.BytesIO(raw), allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
    except (ValueError, OSError, EOFError, AttributeError, TypeError, zipfile.BadZipFile) as error:
        raise ValueError(f"{name}: not a .npz file that can be read: {_first_line(error)}") from None
    if {"X", "y"} <= arrays.keys():
        X: Matrix = arrays["X"]
        if X.ndim != 2 or X.dtype.kind not in "biuf":
            raise ValueError(f"{name}: X has shape {X.shape} and type {X.dtype}; need a matrix of real numbers")
        return X, arrays["y"]
    if not {"data", "indices", "indptr", "shape", "y"} <= arrays.keys():
        found = ", ".join(sorted(arrays)) or "none"
        raise ValueError(f"{name}: arrays found: {found}; need X and y, or data, indices, indptr, shape and y")
    stored = arrays.get("format", np.array(b"csr")).item()
    if stored not in (b"csr", "csr"):
        raise ValueError(f"{name}: the sparse format is {stored!r}; need CSR")
    try:
        parts = (arrays["data"].astype(np.float64), arrays["indices"], arrays["indptr"])
        X = sp.csr_array(parts, shape=tuple(arrays["shape"].tolist()))
        X.check_format(full_check=True)
    except (ValueError, TypeError, IndexError) as error:
        raise ValueError(f"{name}: not the arrays of a CSR matrix: {_first_line(error)}") from None
    return X, arrays["y"]


def _column(names, wanted: Column | None, name: str) -> int:
    """The position of the label column."""
    names = [str(title) for title in names]
    if len(names) < 2:
        raise ValueError(f"{name}: {len(names)} column; need the labels and at least one feature")
    if wanted is None:
        return 0
    if isinstance(wanted, int) and 0 <= wanted < len(names):
        return wanted
    if wanted in names:
        return names.index(str(wanted))
    shown = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
    raise ValueError(f"{name}: dataset.labels={wanted}: no such column; possible are {shown}")


def _blame(raw: bytes, name: str, first: list[str], column: int, header: bool, otherwise: str) -> NoReturn:
    """Find the line that was refused, slowly, and name it."""
    numbered = [(k, line) for k, line in enumerate(raw.decode("utf-8-sig").splitlines(), start=1) if line.strip()]
    for number, text in numbered[header:]:
        row, line = next(csv.reader([text])), f"{name}: line {number}"
        if len(row) != len(first):
            raise ValueError(f"{line}: {len(row)} fields, but the first line has {len(first)}")
        for j, field in enumerate(row):
            title = f"column '{first[j]}'" if header else f"column {j} (counted from 0)"
            if j == column and not field.strip():
                raise ValueError(f"{line}: {title}: expected a label, got nothing")
            if j != column and not _is_finite(field):
                raise ValueError(f"{line}: {title}: expected a finite number, got '{field.strip()[:40]}'")
    raise ValueError(f"{name}: not a table that can be read: {otherwise}")


def _is_finite(field: str) -> bool:
    try:
        return bool(np.isfinite(float(field))) and "_" not in field
    except ValueError:
        return False


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
