"""The source of the user's own solvers, kept beside a run: as data, to be read and compared, never to be imported."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from marginbench.harness.files import write_atomically
from marginbench.harness.running.fingerprint import own_files

FOLDER = "sources"
LARGEST = 2**20
"""Bytes of the largest source that is kept."""


def write_sources(folder: Path, targets: Iterable[str]) -> None:
    """`sources/DIGEST/mine.py` and what it imports from its own folder, for each target that is not of this project."""
    for target in sorted(targets):
        files = {name.removeprefix("./"): path for name, path in own_files(target).items()}
        texts = {name: path.read_bytes() for name, path in files.items() if path.stat().st_size <= LARGEST}
        if texts:
            names = "".join(f"{name} {hashlib.sha256(text).hexdigest()}\n" for name, text in sorted(texts.items()))
            place = folder / FOLDER / hashlib.sha256(names.encode()).hexdigest()[:12]
            for name, text in texts.items():
                write_atomically(place / name, text)
