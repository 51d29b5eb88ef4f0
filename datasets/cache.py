"""Parsed files, kept so that a large text is parsed once.

An entry is a small <key>.json in $MARGINBENCH_CACHE, or ~/.cache/marginbench: the digest of the data, their folder
below data/, where they lie for all that use them (`mapped.py`), and a checksum of its own. An entry that cannot be
read, or whose data are damaged or gone, counts as none. A cache that cannot be written is no error. The folder may be
deleted at any time; it keeps itself below a size (`eviction.py`).
"""

import contextlib
import hashlib
import json
from pathlib import Path

from marginbench.datasets.digest import digest
from marginbench.datasets.eviction import hold, trim
from marginbench.datasets.mapped import intact, open_data, spill
from marginbench.datasets.samples import Samples, samples
from marginbench.harness.files import StoreError, write_atomically
from marginbench.harness.places import cache_folder


def folder() -> Path:
    return cache_folder()


def data_folder() -> Path:
    """Where data lie by their digest, for all runs."""
    return folder() / "data"


def load(key: str) -> Samples | None:
    """The entry of this key, proven undamaged and mapped from the disk, or None."""
    try:
        entry = json.loads((folder() / f"{key}.json").read_text())
        name, place, notes = entry["digest"], entry["folder"], entry["notes"]
        if entry["sha256"] != _checksum(key, name, place, notes):
            return None
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    path = data_folder() / place
    hold(path)
    return samples(*open_data(path), notes, name) if intact(path, name) else None


def saved(key: str, read: Samples) -> Samples:
    """Keep an entry; the same samples, mapped from the disk where they could be written."""
    X, y = read
    name, notes = digest(X, y), list(read.notes)
    with contextlib.suppress(StoreError):
        path = spill(X, y, name, data_folder())
        hold(path)
        entry = {"digest": name, "folder": path.name, "notes": notes}
        entry["sha256"] = _checksum(key, name, path.name, notes)
        write_atomically(folder() / f"{key}.json", json.dumps(entry))
        for old in folder().glob("*.npz"):  # of version 0.1, which held the data once more
            old.unlink(missing_ok=True)
        trim(data_folder())
        return samples(*open_data(path), notes, name)
    return read


def _checksum(key: str, name: str, place: str, notes: list[str]) -> str:
    return hashlib.sha256(json.dumps([key, name, place, notes]).encode()).hexdigest()
