"""The size of a folder of data: what was used longest ago is removed first, never what a living process uses.

The limit is $MARGINBENCH_CACHE_GB, 20 by default. Who uses data holds a shared lock on a file beside them until its
process ends, however that ends; who removes data needs that lock for itself alone. When data were used last is the
time of their folder.
"""

import contextlib
import fcntl
import os
import re
import time
from pathlib import Path

from marginbench.datasets.mapped import remove
from marginbench.harness.errors import InputError, StoreError

VARIABLE = "MARGINBENCH_CACHE_GB"
DEFAULT = 20.0
LOCKS = ".locks"
NAME = re.compile(r"[0-9a-f]{64}(-[a-z0-9.+-]+)?")
ABANDONED = 24 * 3600.0
"""Seconds after which what a writer left half done is removed."""

HELD: dict[Path, int] = {}
"""Folders that this process uses, and the open files that say so."""


def limit() -> float:
    """Bytes that a folder of data may take."""
    given = os.environ.get(VARIABLE, "")
    try:
        gigabytes = float(given) if given else DEFAULT
    except ValueError:
        gigabytes = -1.0
    if not gigabytes >= 0.0:
        raise InputError(f"{VARIABLE}={given}: needs a number of gigabytes, 0 or more")
    return gigabytes * 1e9


def hold(path: Path) -> None:
    """Keep a folder from being removed as long as this process lives, and mark it as used now."""
    with contextlib.suppress(OSError):  # in a folder that cannot be written to, nobody removes anything
        os.utime(path)
    if path not in HELD:
        with contextlib.suppress(OSError):
            file = _lock_file(path)
            fcntl.flock(file, fcntl.LOCK_SH)
            HELD[path] = file


def _lock_file(path: Path) -> int:
    place = path.parent / LOCKS / path.name
    place.parent.mkdir(parents=True, exist_ok=True)
    return os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)


def size(folder: Path) -> int:
    """Bytes of all data in a folder."""
    return sum(_bytes(path) for path in _entries(folder))


def trim(folder: Path) -> None:
    """Remove data until the folder is below its limit, or all that is left is used by somebody."""
    entries = sorted(_entries(folder), key=_used)
    sizes = {path: _bytes(path) for path in entries}
    total, most = sum(sizes.values()), limit()
    for path in entries:
        if total <= most:
            return
        if path not in HELD and _removed(path):
            total -= sizes[path]


def _removed(path: Path) -> bool:
    try:
        file = _lock_file(path)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        remove(path)
        return True
    except (OSError, StoreError):
        return False
    finally:
        os.close(file)


def _entries(folder: Path) -> list[Path]:
    """Data, and what a writer left behind long ago."""
    try:
        found = list(folder.iterdir())
    except OSError:
        return []
    old = time.time() - ABANDONED
    return [
        path for path in found if NAME.fullmatch(path.name) or (path.name.endswith(".tmp") and 0.0 < _used(path) < old)
    ]


def _used(path: Path) -> float:
    with contextlib.suppress(OSError):
        return path.stat().st_mtime
    return 0.0


def _bytes(path: Path) -> int:
    with contextlib.suppress(OSError):
        return sum(file.stat().st_size for file in path.iterdir())
    return 0
