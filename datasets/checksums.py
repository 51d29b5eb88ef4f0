"""Checksums of data files: the catalogue's, and for all others that of the first download, which is kept beside.

`NAME.sha256` is written as sha256sum writes it: `sha256sum -c` checks it, too.
"""

import bz2
import gzip
import hashlib
import lzma
import zlib
from pathlib import Path
from typing import Any

from marginbench.datasets.catalogue import Checksum, Source, packing_of
from marginbench.harness.files import write_atomically

OPENERS: dict[str, Any] = {"": open, ".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
STEP = 2**20


def digest_of(path: Path, kind: str = "sha256", opened: Any = open) -> str:
    """The hash of a file, read in pieces; `opened`: what unpacks it."""
    found = hashlib.new(kind, usedforsecurity=False)
    with opened(path, "rb") as file:
        while data := file.read(STEP):
            found.update(data)
    return found.hexdigest()


def misfit(path: Path, name: str, wanted: Checksum) -> str | None:
    """What is wrong with the file at `path`, packed as `name` says; None where it is the one that is wanted."""
    try:
        opened = open if wanted.kind == "md5" else OPENERS[packing_of(name)]
        found = digest_of(path, wanted.kind, opened)
    except (EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
        return f"cannot be unpacked: {str(error).splitlines()[0]}"
    except OSError as error:
        if error.errno is not None:
            raise
        return f"cannot be unpacked: {str(error).splitlines()[0]}"
    return None if found == wanted.digest else f"has the {wanted.kind} {found}, expected was {wanted.digest}"


def beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def record(path: Path) -> None:
    """Keep the sha256 of a file beside it."""
    write_atomically(beside(path), f"{digest_of(path)}  {path.name}\n")


def recorded(path: Path) -> Checksum | None:
    """What was kept."""
    try:
        digest = beside(path).read_text().split()[0]
    except (OSError, ValueError, IndexError):
        return None
    return Checksum("sha256", digest)


def verdict(path: Path, source: Source | None) -> tuple[bool | None, str]:
    """Whether a file here is what it should be, and by what; None where there is nothing to compare it with."""
    told = []
    kept = recorded(path)
    if kept is not None:
        found = digest_of(path)
        if found != kept.digest:
            return False, f"has the sha256 {found}, when it was fetched it had {kept.digest}"
        told.append("as it was fetched")
    known = source.checksum(source.site + packing_of(path.name)) if source else None
    if known is not None and packing_of(path.name) in OPENERS:
        wrong = misfit(path, path.name, known)
        if wrong:
            return False, wrong
        told.append(f"{known.kind} of the catalogue")
    return (True, ", ".join(told)) if told else (None, "nothing is known to compare it with")
