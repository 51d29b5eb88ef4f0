"""Parsed files, kept so that a large text is parsed once.

An entry is one .npz in $MARGINBENCH_CACHE, or ~/.cache/marginbench; the folder may be deleted at any time. It holds
the digest of its own content: an entry that cannot be read or does not match counts as none. A cache that cannot be
written is no error.
"""

import contextlib
import os
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from marginbench.datasets.check import Array, Matrix
from marginbench.datasets.digest import digest
from marginbench.harness.files import StoreError, write_atomically


def folder() -> Path:
    return Path(os.environ.get("MARGINBENCH_CACHE") or Path.home() / ".cache" / "marginbench")


def load(key: str) -> tuple[Matrix, Array] | None:
    """The entry of this key, proven undamaged, or None."""
    try:
        with open(folder() / f"{key}.npz", "rb") as file, np.load(file, allow_pickle=False) as entry:
            y, proof = entry["y"], str(entry["digest"])
            if "X" in entry:
                X = entry["X"]
            else:
                arrays = entry["data"], entry["indices"], entry["indptr"]
                X = sp.csr_array(arrays, shape=tuple(entry["shape"].tolist()))
                X.check_format(full_check=True)
        return (X, y) if digest(X, y) == proof else None
    except (OSError, EOFError, KeyError, ValueError, TypeError, zipfile.BadZipFile, zlib.error):
        return None


def save(key: str, X: Matrix, y: Array) -> None:
    entry: dict[str, Any] = {"y": y, "digest": np.array(digest(X, y))}
    if isinstance(X, np.ndarray):
        entry |= {"X": X}
    else:
        entry |= {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
    with contextlib.suppress(StoreError):
        write_atomically(folder() / f"{key}.npz", lambda file: np.savez(file, **entry))
