"""Parsed files, kept so that a large text is parsed once.

An entry is one .npz in $MARGINBENCH_CACHE, or ~/.cache/marginbench; the folder may be deleted at any time. It holds
the digest of its own content: an entry that cannot be read or does not match counts as none. A cache that cannot be
written is no error.
"""

import contextlib
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from marginbench.datasets.digest import digest
from marginbench.datasets.samples import Samples, samples
from marginbench.harness.files import StoreError, write_atomically
from marginbench.harness.places import cache_folder


def folder() -> Path:
    return cache_folder()


def load(key: str) -> Samples | None:
    """The entry of this key, proven undamaged, or None."""
    try:
        with open(folder() / f"{key}.npz", "rb") as file, np.load(file, allow_pickle=False) as entry:
            y, proof, notes = entry["y"], str(entry["digest"]), [str(note) for note in entry["notes"]]
            if "X" in entry:
                X = entry["X"]
            else:
                arrays = entry["data"], entry["indices"], entry["indptr"]
                X = sp.csr_array(arrays, shape=tuple(entry["shape"].tolist()))
                X.check_format(full_check=True)
        return samples(X, y, notes) if digest(X, y) == proof else None
    except (OSError, EOFError, KeyError, ValueError, TypeError, zipfile.BadZipFile, zlib.error):
        return None


def save(key: str, read: Samples) -> None:
    X, y = read
    entry: dict[str, Any] = {"y": y, "digest": np.array(digest(X, y)), "notes": np.array(read.notes, dtype=str)}
    if isinstance(X, np.ndarray):
        entry |= {"X": X}
    else:
        entry |= {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
    with contextlib.suppress(StoreError):
        write_atomically(folder() / f"{key}.npz", lambda file: np.savez(file, **entry))
