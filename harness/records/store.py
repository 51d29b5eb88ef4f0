"""The store: one record, one file, `<folder>/cells/<hash>.json`; any number of writers, on any file system.

A record is written under a temporary name, synced, and renamed: a reader sees all of it or nothing, and a second writer
of the same cell replaces the whole file. A file is

    {"schema": 5, "sha256": "<of the payload>", "record": <payload>}

Reading executes nothing, writes nothing, follows no link and believes no path: a folder may come from a stranger. What
cannot be used stays where it is, is named in `Store.damaged`, and counts as not there.
"""

import contextlib
import errno
import hashlib
import os
import re
import stat
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from marginbench.harness.files import write_atomically
from marginbench.harness.records.codec import Damaged, dumps, loads, record_from_plain, record_to_plain
from marginbench.harness.records.record import SCHEMA, Record
from marginbench.harness.records.sizes import fitted, misfit

LARGEST_FILE = 64 * 2**20
"""Bytes beyond which a file is not a record."""

FRAME_SIZE = 200
"""Bytes around a record, at most."""

ASKED, ANSWERED = 16, 8
"""Hexadecimal digits of the two parts of a key."""

NAME = re.compile(r"[0-9a-f]{16,64}")
FRAME = re.compile(rb'\{"schema": (\d{1,9}), "sha256": "([0-9a-f]{64})", "record": (.*)\}\n', re.DOTALL)
NO_LINK = os.O_NOFOLLOW | os.O_CLOEXEC


def asked_key(
    problem: str,
    formulation: dict[str, Any],
    solver: dict[str, Any],
    budget: dict[str, Any],
    limits: dict[str, Any],
    seed: int,
    repeat: int,
    threads: int = 1,
    past: Sequence[float] = (),
) -> str:
    """The name of what is asked: a hash of the data, the problem and the resolved configuration.

    `problem` names data and judged problem by their content; the names that a user gave to a data set, a method or
    a solver do not enter, and neither does the order of settings or whether 10 was written 10.0. past: the path of C
    that a warm start depends on.
    """
    more: list[Any] = [threads] if threads > 1 else []  # what was asked before there were threads keeps its name
    more += [{"past": list(past)}] if past else []
    return _hash([problem, formulation, solver, budget, limits, seed, repeat, *more], ASKED)


def cell_key(asked: str, code: Mapping[str, str], versions: Mapping[str, str]) -> str:
    """The name of a cell: what is asked, and a hash of the code and of the libraries that answer it.

    Two answers of different code to the same question have names that begin alike: see `Store.answers`.
    """
    return asked + _hash([SCHEMA, dict(code), dict(versions)], ANSWERED)


def _hash(parts: list[Any], digits: int) -> str:
    return hashlib.sha256(dumps(_integral(parts)).encode()).hexdigest()[:digits]


def _integral(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _integral(entry) for key, entry in value.items()}
    return [_integral(entry) for entry in value] if isinstance(value, list | tuple) else value


def encode(record: Record) -> bytes:
    """The file of a record; Damaged when it holds something that could not be read again."""
    payload = dumps(record_to_plain(fitted(record))).encode()
    if len(payload) > LARGEST_FILE - FRAME_SIZE:
        raise Damaged(f"{len(payload)} bytes: too large for a record")
    record_from_plain(loads(payload))
    digest = hashlib.sha256(payload).hexdigest()
    return b'{"schema": %d, "sha256": "%s", "record": %s}\n' % (SCHEMA, digest.encode(), payload)


def decode(data: bytes, name: str) -> Record:
    """The record that file `name` holds; Damaged says why there is none."""
    frame = FRAME.fullmatch(data)
    if frame is None:
        raise Damaged("cut short, or not a record")
    if not 1 <= int(frame[1]) <= SCHEMA:
        made = "a newer marginbench" if int(frame[1]) > SCHEMA else "no marginbench"
        raise Damaged(f"written by {made}: schema {int(frame[1])}, this one reads 1 to {SCHEMA}")
    if hashlib.sha256(frame[3]).hexdigest().encode() != frame[2]:
        raise Damaged("the checksum does not fit")
    record = record_from_plain(loads(frame[3]), int(frame[1]))
    if record.schema != int(frame[1]):
        raise Damaged(f"says schema {int(frame[1])} outside and {record.schema} inside")
    if f"{record.hash}.json" != name:
        raise Damaged(f"holds the cell {record.hash[:64]!r}")
    if reason := misfit(record):
        raise Damaged(reason)
    return record


class Store:
    """Records of one results folder. `damaged`: file name -> why it cannot be used, for those met so far."""

    def __init__(self, folder: Path):
        self.folder = Path(folder)
        self.cells = self.folder / "cells"
        self.damaged: dict[str, str] = {}
        self._names: dict[str, list[str]] | None = None

    def put(self, record: Record) -> Path:
        """Write a record; when this returns it is on the disk, whole, under its name."""
        if not NAME.fullmatch(record.hash):
            raise ValueError(f"hash {record.hash!r}: a record needs the key of its cell")
        return write_atomically(self.cells / f"{record.hash}.json", encode(record))

    def get(self, key: str) -> Record | None:
        """The record of a cell; None when there is none that can be used."""
        return self._read(f"{key}.json") if NAME.fullmatch(key) else None

    def copy(self, record: Record, source: "Store") -> Path:
        """Write a record that was read from another store: its own file, whatever its schema, for all can be read.

        The original stays, so that the copy need not survive a power failure.
        """
        path = self.cells / f"{record.hash}.json"
        if (data := source._bytes(path.name)) is not None:
            return write_atomically(path, data, synced=False)
        whole = replace(record, schema=SCHEMA, curve=list(record.curve))  # its file has gone meanwhile
        return write_atomically(path, encode(whole), synced=False)

    def records(self) -> list[Record]:
        """All records that can be used, in the order of their names."""
        return list(self.each())

    def each(self) -> Iterator[Record]:
        """The same, one at a time."""
        for name in self._listed():
            if (record := self._read(name)) is not None:
                yield record

    def answers(self, asked: str) -> list[Record]:
        """All records that answer a question, whatever code made them."""
        if self._names is None:
            self._names = defaultdict(list)
            for name in self._listed():
                self._names[name[:ASKED]].append(name)
        return [record for name in self._names.get(asked, ()) if (record := self._read(name)) is not None]

    def without_code(self) -> int:
        """How many records have the shorter keys of schemas 1 to 3, in which the code does not enter."""
        names = (name.removesuffix(".json") for name in self._listed())
        return sum(NAME.fullmatch(name) is not None and len(name) < ASKED + ANSWERED for name in names)

    def _listed(self) -> list[str]:
        """Names of the files; none where `cells` is a link or no folder."""
        if self.cells.is_symlink() or not self.cells.is_dir():
            return []
        try:
            return sorted(entry.name for entry in os.scandir(self.cells) if not entry.name.startswith("."))
        except OSError as error:
            self.damaged["cells"] = f"cannot be opened: {error.strerror}"
            return []

    def _read(self, name: str) -> Record | None:
        data = self._bytes(name)
        try:
            return None if data is None else decode(data, name)
        except Damaged as reason:
            self.damaged[name] = str(reason)
            return None

    def _bytes(self, name: str) -> bytes | None:
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
                link = error.errno in (errno.ELOOP, errno.EMLINK)
                self.damaged[name] = "a link" if link else f"cannot be opened: {error.strerror}"
                return None
            status = os.fstat(file)
            try:
                if not stat.S_ISREG(status.st_mode):
                    raise Damaged("not a file")
                if status.st_size > LARGEST_FILE:
                    raise Damaged(f"{status.st_size} bytes: too large for a record")
                return _read_all(file, status.st_size)
            except Damaged as reason:
                self.damaged[name] = str(reason)
                return None


def _read_all(file: int, size: int) -> bytes:
    """All of a file that had `size` bytes just now; it may have grown since."""
    parts = []
    while part := os.read(file, size + 1):
        parts.append(part)
        if sum(map(len, parts)) > LARGEST_FILE:
            raise Damaged("too large for a record")
    return b"".join(parts)
