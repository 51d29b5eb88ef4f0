"""A data set in a file: LIBSVM text, CSV, NumPy arrays or Parquet, plain or compressed."""

import bz2
import gzip
import hashlib
import json
import lzma
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from marginbench.datasets import cache
from marginbench.datasets.check import Array, Matrix, check, listed
from marginbench.datasets.libsvm import read_libsvm
from marginbench.datasets.scaling import scaled
from marginbench.datasets.table_files import Column, read_csv, read_npz, read_parquet

FORMATS = {
    ".libsvm": "libsvm",
    ".svm": "libsvm",
    ".svmlight": "libsvm",
    ".txt": "libsvm",
    ".csv": "csv",
    ".npz": "npz",
    ".parquet": "parquet",
}
COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")
ENDINGS = f"{' '.join(FORMATS)}, each plain or with {' '.join(COMPRESSIONS)}"
PARSER = 1  # part of every cache key: raise it when the same bytes shall give other arrays
LARGE = 2**20  # bytes of text from which parsing is worth a cache entry


def file(
    path: str,
    format: str | None = None,
    labels: Column | None = None,
    positive: Any = None,
    header: bool | None = None,
    d: int | None = None,
    layout: str = "auto",
    scale: str = "none",
) -> tuple[Matrix, Array]:
    """(X, y) of the file at `path`, relative to the current directory; `a9a` also finds `a9a.libsvm.xz`.

    format     libsvm, csv, npz or parquet; by default told by the ending.
    labels     csv and parquet: the label column, by name or by number from 0; by default the first.
    positive   the label, or list of labels, that becomes +1 against all others; by default the file must have
               exactly two labels, of which the larger (in text: the later) becomes +1, as 1 of {0, 1}, 2 of {1, 2}.
    header     csv: whether the first line holds names; by default found out.
    d          the number of features, when the file may lack its last columns; more than d are refused.
    layout     dense, csr, or auto: whichever takes less memory.
    scale      none, or standard: each column to mean 0 and variance 1, which leaves no zeros and so makes X dense.
    """
    path = _found(str(path), format)
    name, raw = path, _bytes(path)
    kind, compression = _format(path, format)
    if labels is not None and kind not in ("csv", "parquet"):
        raise ValueError(f"{name}: dataset.labels={labels}: a label column can be chosen for csv and parquet only")
    if header is not None and kind != "csv":
        raise ValueError(f"{name}: dataset.header={header}: for csv only")
    if d is not None and not (isinstance(d, int) and d >= 1):
        raise ValueError(f"{name}: dataset.d={d}: need a whole number of at least 1")
    if layout not in ("auto", "dense", "csr"):
        raise ValueError(f"{name}: dataset.layout={layout}: possible are auto, dense, csr")
    if scale not in ("none", "standard") or (scale, layout) == ("standard", "csr"):
        raise ValueError(f"{name}: dataset.scale={scale}: possible are none, and standard where layout is not csr")
    layout = "dense" if scale == "standard" else layout
    wanted = None if positive is None else _listed_labels(positive)
    options = json.dumps([PARSER, kind, compression, labels, wanted, header, d, layout])
    key = hashlib.sha256(options.encode() + hashlib.sha256(raw).digest()).hexdigest()
    known = cache.load(key)
    if known is None:
        text = _decompressed(raw, compression, name)
        X, given = _read(text, kind, name, labels, header, d)
        X, y = check(_widened(X, d, name), _signs(given, wanted, name), name)
        X = _laid_out(X, layout)
        if kind in ("libsvm", "csv") and len(text) >= LARGE:
            cache.save(key, X, y)
    else:
        X, y = known
    return (scaled(X, scale) if isinstance(X, np.ndarray) and scale != "none" else X), y


def _found(path: str, format: str | None) -> str:
    """`path`, or the first file of that name with an ending of its own that is known."""
    kinds = ["", *(ending for ending, kind in FORMATS.items() if format in (None, kind))]
    names = (path + kind + compression for kind in kinds for compression in ("", *COMPRESSIONS))
    return next((name for name in names if Path(name).is_file()), path)


def _bytes(path: str) -> bytes:
    if not Path(path).is_file():
        where = "data=DIR says where the files of named data sets are"
        raise ValueError(f"dataset.path={path}: no such file; possible endings are {ENDINGS}; {where}")
    try:
        return Path(path).read_bytes()
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


def _decompressed(raw: bytes, compression: str, name: str) -> bytes:
    try:
        if compression == ".gz":
            return gzip.decompress(raw)
        if compression == ".bz2":
            return bz2.decompress(raw)
        if compression == ".xz":
            return lzma.decompress(raw)
        return _unzstd(raw) if compression == ".zst" else raw
    except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
        raise ValueError(f"{name}: damaged {compression} data: {str(error).splitlines()[0]}") from None


def _unzstd(raw: bytes) -> bytes:
    """All frames of a .zst file; a file that ends inside a frame is damaged."""
    import zstandard

    parts = []
    while raw:
        frame = zstandard.ZstdDecompressor().decompressobj()
        try:
            parts.append(frame.decompress(raw))
        except zstandard.ZstdError as error:
            raise ValueError(str(error)) from None
        if not frame.eof:
            raise ValueError("the data end early")
        raw = frame.unused_data
    return b"".join(parts)


def _read(text: bytes, kind: str, name: str, labels: Column | None, header: bool | None, d: int | None):
    if kind == "libsvm":
        X, given = read_libsvm(text, name, d)
    elif kind == "csv":
        X, given = read_csv(text, name, labels, header)
    elif kind == "npz":
        X, given = read_npz(text, name)
    else:
        X, given = read_parquet(text, name, labels)
    if X.shape[0] == 0:
        raise ValueError(f"{name}: no rows")
    return X, given


def _signs(given: Array, wanted: list[str] | None, name: str) -> Array:
    """-1 and +1 from labels as they are written: numbers where all of them are, else text."""
    try:
        given = np.asarray(given).astype(np.float64)
    except (ValueError, TypeError):
        given = np.asarray(given).astype(str)
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        row = int(np.flatnonzero(~np.isfinite(given))[0])
        raise ValueError(f"{name}: row {row} (counted from 0) has the label {given[row]}; need finite numbers or text")
    found = np.unique(given)
    if wanted is None:
        if found.size != 2:
            raise ValueError(
                f"{name}: labels {listed(found)}: need exactly two classes; choose with dataset.positive=..."
            )
        return np.where(given == found[1], 1.0, -1.0)
    chosen = [v for v in found if any(_same(v, w) for w in wanted)]
    missing = [w for w in wanted if not any(_same(v, w) for v in found)]
    if missing:
        raise ValueError(f"{name}: dataset.positive={missing[0]} is not among the labels {listed(found)}")
    if len(chosen) == found.size:
        raise ValueError(f"{name}: dataset.positive takes every label ({listed(found)}); none is left for -1")
    return np.where(np.isin(given, chosen), 1.0, -1.0)


def _listed_labels(positive: Any) -> list[str]:
    return [str(v) for v in ([positive] if isinstance(positive, str | int | float) else positive)]


def _same(label, wanted: str) -> bool:
    """Whether the option's text means this label; 1, +1 and 1.0 are one number."""
    try:
        return float(label) == float(wanted)
    except ValueError:
        return str(label) == wanted


def _widened(X: Matrix, d: int | None, name: str) -> Matrix:
    """X with empty columns up to d."""
    if X.ndim != 2 or d is None or X.shape[1] == d:
        return X
    if X.shape[1] > d:
        raise ValueError(f"{name}: {X.shape[1]} features, but dataset.d={d}")
    if isinstance(X, np.ndarray):
        return np.hstack([X, np.zeros((X.shape[0], d - X.shape[1]))])
    return sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], d))


def _laid_out(X: Matrix, layout: str) -> Matrix:
    """Dense: 8 bytes an entry. CSR: 12 bytes a non-zero and 4 a row."""
    n, d = X.shape
    nnz = np.count_nonzero(X if isinstance(X, np.ndarray) else X.data)
    dense = layout == "dense" or (layout == "auto" and 8 * n * d <= 12 * nnz + 4 * (n + 1))
    if dense:
        return X if isinstance(X, np.ndarray) else X.toarray(order="C")
    X = sp.csr_array(X)
    X.eliminate_zeros()
    return X
