"""The store: one record, one file, `<folder>/cells/<hash>.json`; any number of writers, on any file system.

A record is written under a temporary name, synced, and renamed: a reader sees all of it or nothing, and a second writer
of the same cell replaces the whole file. A file is

    {"schema": 3, "sha256": "<of the payload>", "record": <payload>}

Reading executes nothing, follows no link and believes no path: a folder may come from a stranger. What cannot be used
is moved to `<folder>/damaged/`, named in `Store.damaged`, and counts as not there.
"""

import contextlib
import hashlib
import os
import re
import stat
from pathlib import Path
from typing import Any

from marginbench.harness.files import write_atomically
from marginbench.harness.records.codec import Damaged, dumps, loads, record_from_plain, record_to_plain
from marginbench.harness.records.record import SCHEMA, Record

LARGEST_FILE = 64 * 2**20
"""Bytes beyond which a file is not a record."""

NAME = re.compile(r"[0-9a-f]{16,64}")
FRAME = re.compile(rb'\{"schema": (\d{1,9}), "sha256": "([0-9a-f]{64})", "record": (.*)\}\n', re.DOTALL)
NO_LINK = os.O_NOFOLLOW | os.O_CLOEXEC


def cell_key(
    problem: str,
    formulation: dict[str, Any],
    solver: dict[str, Any],
    budget: dict[str, Any],
    limits: dict[str, Any],
    seed: int,
    repeat: int,
    versions: dict[str, str],
) -> str:
    """The name of a cell: a hash of everything its result may depend on, and of nothing else.

    `problem` names data and judged problem by their content; the names that a user gave to a data set, a method or
    a solver do not enter, and neither does the order of settings or whether 10 was written 10.0.
    """
    parts = [SCHEMA, problem, formulation, solver, budget, limits, seed, repeat, versions]
    return hashlib.sha256(dumps(_integral(parts)).encode()).hexdigest()[:20]


def _integral(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _integral(entry) for key, entry in value.items()}
    return [_integral(entry) for entry in value] if isinstance(value, list | tuple) else value


def encode(record: Record) -> bytes:
    """The file of a record; Damaged when it holds something that could not be read again."""
    payload = dumps(record_to_plain(record)).encode()
    record_from_plain(loads(payload))
    digest = hashlib.sha256(payload).hexdigest()
    return b'{"schema": %d, "sha256": "%s", "record": %s}\n' % (SCHEMA, digest.encode(), payload)


def decode(data: bytes, name: str) -> Record:
    """The record that file `name` holds; Damaged says why there is none."""
    frame = FRAME.fullmatch(data)
    if frame is None:
        raise Damaged("cut short, or not a record")
    if not 1 <= int(frame[1]) <= SCHEMA:
        raise Damaged(f"written with schema {int(frame[1])}, this is schema {SCHEMA}")
    if hashlib.sha256(frame[3]).hexdigest().encode() != frame[2]:
        raise Damaged("the checksum does not fit")
    record = record_from_plain(loads(frame[3]), int(frame[1]))
    if record.schema != int(frame[1]):
        raise Damaged(f"says schema {int(frame[1])} outside and {record.schema} inside")
    if f"{record.hash}.json" != name:
        raise Damaged(f"holds the cell {record.hash[:64]!r}")
    return record


class Store:
    """Records of one results folder. `damaged`: file name -> why it was set aside, for those met so far."""

    def __init__(self, folder: Path):
        self.folder = Path(folder)
        self.cells = self.folder / "cells"
        self.damaged: dict[str, str] = {}

    def put(self, record: Record) -> Path:
        """Write a record; when this returns it is on the disk, whole, under its name."""
        if not NAME.fullmatch(record.hash):
            raise ValueError(f"hash {record.hash!r}: a record needs the key of its cell")
        return write_atomically(self.cells / f"{record.hash}.json", encode(record))

    def get(self, key: str) -> Record | None:
        """The record of a cell; None when there is none that can be used."""
        return self._read(f"{key}.json") if NAME.fullmatch(key) else None

    def records(self) -> list[Record]:
        """All records that can be used, in the order of their names."""
        if self.cells.is_symlink() or not self.cells.is_dir():
            return []
        names = sorted(entry.name for entry in os.scandir(self.cells) if not entry.name.startswith("."))
        return [record for name in names if (record := self._read(name)) is not None]

    def _read(self, name: str) -> Record | None:
        with contextlib.ExitStack() as stack:
            try:
                folder = os.open(self.cells, os.O_RDONLY | os.O_DIRECTORY | NO_LINK)
                stack.callback(os.close, folder)
                # A pipe planted under a record's name would block an ordinary open for ever.
                file = os.open(name, os.O_RDONLY | os.O_NONBLOCK | NO_LINK, dir_fd=folder)
                stack.callback(os.close, file)
            except FileNotFoundError:
                return None
            except OSError as error:
                self._set_aside(name, f"cannot be opened: {error.strerror}", None)
                return None
            status = os.fstat(file)
            try:
                if not stat.S_ISREG(status.st_mode):
                    raise Damaged("not a file")
                if status.st_size > LARGEST_FILE:
                    raise Damaged(f"{status.st_size} bytes: too large for a record")
                return decode(_read_all(file), name)
            except Damaged as reason:
                self._set_aside(name, str(reason), status.st_ino)
                return None

    def _set_aside(self, name: str, reason: str, inode: int | None) -> None:
        """Name it, and move it where the next reader need not look. In a folder that is read-only it stays."""
        self.damaged[name] = reason
        aside = self.folder / "damaged"
        with contextlib.suppress(OSError):
            aside.mkdir(exist_ok=True)
            if self.cells.is_symlink() or aside.is_symlink():
                return
            if inode is None or os.lstat(self.cells / name).st_ino == inode:  # not yet replaced by a good one
                os.replace(self.cells / name, aside / name)


def _read_all(file: int) -> bytes:
    parts = []
    while part := os.read(file, 2**20):
        parts.append(part)
        if sum(map(len, parts)) > LARGEST_FILE:
            raise Damaged("too large for a record")
    return b"".join(parts)
