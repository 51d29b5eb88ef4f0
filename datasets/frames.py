"""Tables with typed columns: .parquet, .arff, and pandas' DataFrames."""

import io
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from marginbench.datasets.array_files import first_line
from marginbench.datasets.columns import Column, Split, column_of, split
from marginbench.datasets.compression import TooLarge


def read_parquet(
    raw: bytes, name: str, labels: str | int | None, drop: Sequence[str | int] = (), most: int = 2**31
) -> Split:
    """Numbers, truth values, text and categories; no nulls. A row index that pandas stored is left out."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(io.BytesIO(raw))
        entries = file.metadata.num_rows * file.metadata.num_columns
        groups = [file.metadata.row_group(k) for k in range(file.metadata.num_row_groups)]
        if max(8 * entries, sum(group.total_byte_size for group in groups)) > most:
            raise TooLarge(name, most)
        table = file.read()
        table.validate(full=True)
    except TooLarge:
        raise
    except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
        raise ValueError(f"{name}: not a parquet file that can be read: {first_line(error)}") from None
    kept = [title for title in table.column_names if not title.startswith("__index_level_")]
    columns = []
    for title in kept:
        if table.column_names.count(title) > 1:
            raise ValueError(f"{name}: two columns are called '{title}'")
        columns.append(_arrow_column(title, table.column(title), name))
    notes = ["the row index that pandas stored is left out"] if len(kept) < len(table.column_names) else []
    found = split(columns, labels, name, drop=drop)
    return Split(found.X, found.labels, [*found.notes, *notes])


def _arrow_column(title: str, values: Any, name: str) -> Column:
    import pyarrow as pa

    kind, types = values.type, pa.types
    if values.null_count:
        row = int(np.flatnonzero(values.is_null().to_numpy())[0])
        raise ValueError(f"{name}: row {row} (counted from 0) of column '{title}' is missing")
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        return Column(title, values.to_numpy().astype(np.float64))
    if types.is_decimal(kind):
        return Column(title, np.array([float(value) for value in values.to_pylist()]))
    categories = types.is_dictionary(kind)
    inside = kind.value_type if categories else kind
    if not (categories or types.is_string(inside) or types.is_large_string(inside)):
        raise ValueError(f"{name}: column '{title}' is of type {kind}; features must be numbers, text or categories")
    try:
        found = values.to_pylist()
    except (pa.ArrowException, UnicodeDecodeError, ValueError) as error:
        raise ValueError(f"{name}: column '{title}' cannot be read: {first_line(error)}") from None
    return column_of(title, [str(value) for value in found] if categories else found, name)


def read_arff(raw: bytes, name: str, labels: str | int | None, drop: Sequence[str | int] = ()) -> Split:
    """Numeric and nominal attributes; a `?` is a missing value."""
    from scipy.io.arff import loadarff

    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{name}: not UTF-8 text") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            data, meta = loadarff(io.StringIO(text))
    except Exception as error:  # scipy's reader raises whatever the damage leads to
        raise ValueError(f"{name}: not an .arff file that can be read: {first_line(error)}") from None
    columns = []
    for title, kind in zip(meta.names(), meta.types(), strict=True):
        if kind not in ("numeric", "nominal"):
            raise ValueError(f"{name}: attribute '{title}' is of type {kind}; need numeric or nominal ones")
        values = np.atleast_1d(data[title])
        columns.append(Column(title, values) if kind == "numeric" else column_of(title, values.tolist(), name))
    return split(columns, labels, name, drop=drop)


def columns_of_frame(frame: Any, name: str) -> list[Column]:
    """The columns of a DataFrame: numbers, truth values, text and categories."""
    columns = []
    for j, title in enumerate(frame.columns):
        values = frame.iloc[:, j]
        kind = getattr(values.dtype, "kind", "O")
        if kind in "biuf" and isinstance(values.dtype, np.dtype):
            columns.append(Column(str(title), values.to_numpy(dtype=np.float64)))
        elif kind in "biuf" and str(values.dtype) != "category":  # pandas' own numbers, which may be missing
            columns.append(Column(str(title), values.to_numpy(dtype=np.float64, na_value=np.nan)))
        else:
            missing = values.isna().to_numpy()
            categories = str(values.dtype) == "category"
            found = [None if gone else str(v) if categories else v for v, gone in zip(values, missing, strict=True)]
            columns.append(column_of(str(title), found, name))
    return columns
