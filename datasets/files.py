"""A data set in a file: LIBSVM text, tables, arrays; plain or compressed."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from marginbench.datasets import cache
from marginbench.datasets.check import Array, Matrix, check
from marginbench.datasets.columns import Split
from marginbench.datasets.compression import COMPRESSIONS, TooLarge, unpacked
from marginbench.datasets.labels import listed_labels, of_classes, signs
from marginbench.datasets.libsvm import read_libsvm
from marginbench.datasets.mapped import size_of
from marginbench.datasets.mapped_files import folder, mapped_npy
from marginbench.datasets.samples import Samples, samples
from marginbench.datasets.scaling import scaled
from marginbench.harness.matrices import row_blocks

FORMATS = {
    ".libsvm": "libsvm",
    ".svm": "libsvm",
    ".svmlight": "libsvm",
    ".txt": "libsvm",
    ".csv": "csv",
    ".tsv": "csv",
    ".npz": "npz",
    ".npy": "npy",
    ".mat": "mat",
    ".arff": "arff",
    ".parquet": "parquet",
}
TABLES = ("csv", "arff", "parquet")
"""Formats whose columns have names or numbers to choose by."""

ENDINGS = f"{' '.join(FORMATS)}, each plain or with {' '.join(COMPRESSIONS)}"
PARSER = 2  # part of every cache key: raise it when the same bytes shall give other arrays
LARGE = 2**20  # bytes of arrays from which parsing is worth a cache entry


def file(
    path: str,
    format: str | None = None,
    labels: str | int | None = None,
    positive: Any = None,
    negative: Any = None,
    header: bool | None = None,
    drop: Sequence[str | int] | None = None,
    d: int | None = None,
    layout: str = "auto",
    scale: str = "none",
    largest_mb: float = 2048.0,
) -> Samples:
    """(X, y) of the file at `path`, relative to the current directory; `a9a` also finds `a9a.libsvm.xz`.

    A folder with X.npy (or data.npy, indices.npy, indptr.npy and shape.npy of a CSR matrix) and y.npy is used where it
    lies, and so is a large .npy file: see `mapped_files.py`.

    format     libsvm, csv, npz, npy, mat, arff or parquet; by default told by the ending.
    labels     tables (csv, arff, parquet): the label column, by name or by number from 0; arrays (npz, npy, mat): the
               name of the array or file of labels. By default what is obvious; see `columns.py` and `array_files.py`.
    positive   the label, or list of labels, that becomes +1 against all others; by default the file must have
               exactly two labels, of which the larger (in text: the later) becomes +1, as 1 of {0, 1}, 2 of {1, 2}.
    negative   the label, or list of labels, that becomes -1; rows of other labels are left out. By default all others.
    header     csv: whether the first line holds names; by default found out.
    drop       tables: columns that are left out, by name or by number from 0.
    d          the number of features, when the file may lack its last columns; more than d are refused.
    layout     dense, csr, or auto: whichever takes less memory.
    scale      none, or standard: each column to mean 0 and variance 1, which leaves no zeros and so makes X dense.
    largest_mb a file that unpacks to more is refused.
    """
    if Path(path).is_dir():
        return folder(str(path), positive, negative)
    name = path = _found(str(path), format)
    _check_there(path)
    kind, compression = _format(path, format)
    left_out = _checked_drop(drop, kind, name)
    if labels is not None and kind == "libsvm":
        raise ValueError(f"{name}: dataset.labels={labels}: in a libsvm file the labels are the first of each line")
    if labels is not None and kind not in TABLES and not isinstance(labels, str):
        raise ValueError(f"{name}: dataset.labels={labels}: needs the name of an array or a file")
    if header is not None and kind != "csv":
        raise ValueError(f"{name}: dataset.header={header}: for csv only")
    if d is not None and not (isinstance(d, int) and d >= 1):
        raise ValueError(f"{name}: dataset.d={d}: need a whole number of at least 1")
    if layout not in ("auto", "dense", "csr"):
        raise ValueError(f"{name}: dataset.layout={layout}: possible are auto, dense, csr")
    if scale not in ("none", "standard") or (scale, layout) == ("standard", "csr"):
        raise ValueError(f"{name}: dataset.scale={scale}: possible are none, and standard where layout is not csr")
    if isinstance(largest_mb, bool) or not isinstance(largest_mb, int | float) or not 0 < largest_mb < 2**40:
        raise ValueError(f"{name}: dataset.largest_mb={largest_mb}: need a number above 0")
    layout = "dense" if scale == "standard" else layout
    wanted = None if positive is None else listed_labels(positive)
    against = None if negative is None else listed_labels(negative)
    options = json.dumps([PARSER, kind, compression, labels, wanted, header, left_out, d, layout, *(against or ())])
    kept = kind in ("libsvm", "csv")
    most = int(largest_mb * 2**20)
    if kind == "npy" and not compression and (layout, scale, d) != ("csr", "none", None):
        there = mapped_npy(path, name, None if labels is None else str(labels), positive, negative, most)
        if there is not None:
            return samples(scaled(there[0], scale), there[1], there.notes) if scale != "none" else there
    with _open(path) as content:
        key = hashlib.sha256(options.encode() + hashlib.file_digest(content, "sha256").digest()).hexdigest()
        known = cache.load(key) if kept else None
        if known is None:
            content.seek(0)
            pieces = unpacked(content, compression, name, most)
            read = _read(pieces, kind, name, path, labels, header, left_out, d, most)
            read, wanted = of_classes(read, wanted, against, name)
            y, notes = signs(read.labels, wanted, name)
            X = _widened(read.X, d, name)
            if kind == "libsvm":  # as long as nobody else refers to it
                X = _laid_out(X, layout, name, most)
            X, y = check(X, y, name)
            known = samples(_laid_out(X, layout, name, most), y, [*read.notes, *notes])
            if kept and size_of(*known) >= LARGE:
                known = cache.saved(key, known)
    X, y = known
    return samples(scaled(X, scale), y, known.notes) if isinstance(X, np.ndarray) and scale != "none" else known


def _checked_drop(drop: Any, kind: str, name: str) -> list[str | int]:
    listed = [drop] if isinstance(drop, str | int) and not isinstance(drop, bool) else list(drop or ())
    if listed and kind not in TABLES:
        raise ValueError(f"{name}: dataset.drop={drop}: for {', '.join(TABLES)} only")
    return [value if isinstance(value, int) else str(value) for value in listed]


def _found(path: str, format: str | None) -> str:
    """`path`, or the first file of that name with an ending of its own that is known."""
    kinds = ["", *(ending for ending, kind in FORMATS.items() if format in (None, kind))]
    names = (path + kind + compression for kind in kinds for compression in ("", *COMPRESSIONS))
    return next((name for name in names if Path(name).is_file()), path)


def _check_there(path: str) -> None:
    if not Path(path).is_file():
        where = "data=DIR says where the files of named data sets are"
        raise ValueError(f"dataset.path={path}: no such file; possible endings are {ENDINGS}; {where}")


def _open(path: str) -> BufferedReader:
    try:
        return open(path, "rb")
    except OSError as error:
        raise ValueError(f"dataset.path={path}: cannot be read: {error.strerror}") from None


def _format(path: str, format: str | None) -> tuple[str, str]:
    """(format, compression) from the file's name and the option."""
    endings = [ending.lower() for ending in Path(path).suffixes]
    compression = endings.pop() if endings and endings[-1] in COMPRESSIONS else ""
    kind = format or FORMATS.get(endings[-1] if endings else "", "")
    if kind not in FORMATS.values():
        possible = ", ".join(dict.fromkeys(FORMATS.values()))
        if format:
            raise ValueError(f"dataset.format={format}: possible are {possible}")
        raise ValueError(
            f"dataset.path={path}: unknown ending; possible are {ENDINGS}; or say dataset.format={possible}"
        )
    return kind, compression


def _read(
    pieces: Iterable[bytes],
    kind: str,
    name: str,
    path: str,
    labels: Any,
    header: bool | None,
    drop: Sequence[str | int],
    d: int | None,
    most: int,
) -> Split:
    """By the reader of the format, which is imported only now: they load what others do not need."""
    if kind == "libsvm":
        X, given = read_libsvm(pieces, name, d)
        if X.shape[0] == 0:
            raise ValueError(f"{name}: no rows")
        return Split(X, given, [])
    text = b"".join(pieces)
    if kind == "csv":
        from marginbench.datasets.csv_files import read_csv

        read = read_csv(text, name, labels, header, drop)
    elif kind in ("arff", "parquet"):
        from marginbench.datasets import frames

        read = (
            frames.read_arff(text, name, labels, drop)
            if kind == "arff"
            else frames.read_parquet(text, name, labels, drop, most)
        )
    elif kind == "mat":
        from marginbench.datasets.mat_files import read_mat

        read = read_mat(text, name, labels, most)
    else:
        from marginbench.datasets import array_files as arrays

        read = (arrays.read_npz if kind == "npz" else arrays.read_npy)(text, name, path, labels, most)
    if read.X.shape[0] == 0:
        raise ValueError(f"{name}: no rows")
    return read


def _widened(X: Matrix, d: int | None, name: str) -> Matrix:
    """X with empty columns up to d."""
    if X.ndim != 2 or d is None or X.shape[1] == d:
        return X
    if X.shape[1] > d:
        raise ValueError(f"{name}: {X.shape[1]} features, but dataset.d={d}")
    if isinstance(X, np.ndarray):
        return np.hstack([X, np.zeros((X.shape[0], d - X.shape[1]))])
    return sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], d))


def _laid_out(X: Matrix, layout: str, name: str, most: int) -> Matrix:
    """Dense: 8 bytes an entry. CSR: 12 bytes a non-zero and 4 a row."""
    n, d = X.shape
    nnz = np.count_nonzero(X if isinstance(X, np.ndarray) else X.data)
    dense = layout == "dense" or (layout == "auto" and 8 * n * d <= 12 * nnz + 4 * (n + 1))
    if isinstance(X, np.ndarray) and dense:
        return X
    if not isinstance(X, np.ndarray) and dense:
        if layout == "dense" and 8 * n * d > most:
            raise TooLarge(name, most)
        return _dense(X)
    X = sp.csr_array(X)
    X.eliminate_zeros()
    return X


def _dense(X: sp.csr_array) -> Array:
    """X as a dense array. X is used up, from its end: never are both there in full."""
    made = np.zeros(X.shape)  # pages that were not written to take no memory
    for rows in reversed(list(row_blocks(X))):
        ends = X.indptr[rows.start : rows.stop + 1]
        first, last = int(ends[0]), int(ends[-1])
        some = X.data[first:last], X.indices[first:last], ends - first
        sp.csr_array(some, shape=(rows.stop - rows.start, X.shape[1])).toarray(out=made[rows])
        del some
        for array in (X.data, X.indices):
            if array.flags.owndata:
                array.resize(first, refcheck=False)
    return made
