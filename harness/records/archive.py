"""A bundle from outside, opened with care: a zip that may have been made to do harm.

It is unpacked into a temporary folder that is gone afterwards. Refused are names that lead out of it, links, more files
or more bytes than a bundle has, and content that is larger than it says.
"""

import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from marginbench.harness.errors import InputError

MOST_FILES = 200_000
MOST_BYTES = 8 * 2**30
MOST_RATIO, FREE_BYTES = 200, 64 * 2**20
"""How many times larger than its zip a bundle may be, and from which size on that is asked."""

RUN = "run"
"""The folder of a bundle that holds the results folder."""


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """The results folder that a bundle holds. InputError for everything that is not a bundle."""
    with tempfile.TemporaryDirectory(prefix="marginbench-") as temporary:
        folder = Path(temporary)
        try:
            with zipfile.ZipFile(path) as archive:
                entries = archive.infolist()
                check(entries, path.stat().st_size)
                for entry in entries:
                    if not entry.is_dir():
                        _extract(archive, entry, folder)
        except (
            zipfile.BadZipFile,
            zlib.error,
            EOFError,
            NotImplementedError,
            RuntimeError,
            OSError,
            ValueError,
        ) as error:
            raise InputError(f"{path}: cannot be read as a bundle: {error}") from None
        if not (folder / RUN / "cells").is_dir():
            raise InputError(f"{path}: not a bundle of marginbench: it has no folder {RUN}/cells")
        yield folder / RUN


def check(entries: list[zipfile.ZipInfo], packed: int) -> None:
    """ValueError for an archive that no bundle is."""
    if len(entries) > MOST_FILES:
        raise ValueError(f"it has {len(entries)} files; a bundle has at most {MOST_FILES}")
    total = sum(entry.file_size for entry in entries)
    if total > MOST_BYTES or (total > FREE_BYTES and total > MOST_RATIO * packed):
        raise ValueError(f"{packed} bytes would become {total}")
    names = set()
    for entry in entries:
        parts = PurePosixPath(entry.filename).parts
        bad = not parts or entry.filename.startswith("/") or ".." in parts or "\\" in entry.filename
        kind = stat.S_IFMT(entry.external_attr >> 16)
        if bad or ":" in parts[0] or "\0" in entry.filename:
            raise ValueError(f"the name {entry.filename[:80]!r} leads out of it")
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise ValueError(f"{entry.filename[:80]!r} is neither a file nor a folder")
        if entry.filename in names:
            raise ValueError(f"{entry.filename[:80]!r} is there twice")
        names.add(entry.filename)


def _extract(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, folder: Path) -> None:
    path = folder.joinpath(*PurePosixPath(entry.filename).parts)
    path.parent.mkdir(parents=True, exist_ok=True)
    left = entry.file_size
    with archive.open(entry) as source, path.open("xb") as file:
        while part := source.read(2**20):
            left -= len(part)
            if left < 0:
                raise ValueError(f"{entry.filename[:80]!r} is larger than it says")
            file.write(part)
