"""Stored results, for the verbs that read them: a results folder, or a bundle of one."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from sys import intern
from typing import Any, cast

from marginbench.harness.errors import InputError
from marginbench.harness.printable import printable
from marginbench.harness.records.archive import unpacked
from marginbench.harness.records.compact import CompactCurve, shared
from marginbench.harness.records.record import Record
from marginbench.harness.records.store import Store

TEXTS = [field.name for field in fields(Record) if field.type is str]
"""Fields of a record; most hold the same few texts in all records."""


@dataclass(frozen=True)
class Stored:
    """The records of a results folder, and why others cannot be used, by file name. Nothing was changed there."""

    records: list[Record]
    unreadable: dict[str, str]


@contextmanager
def opened(path: str) -> Iterator[Path]:
    """The results folder that `path` names. A bundle is unpacked into a temporary folder for as long as it is used."""
    if Path(path).is_file():
        with unpacked(Path(path)) as folder:
            yield folder
    elif (Path(path) / "cells").is_dir():
        yield Path(path)
    else:
        raise InputError(f"{path}: no results there (a results folder has a folder `cells`, a bundle ends in .zip)")


def stored_records(folder: Path) -> Stored:
    """All records of a folder, in little memory: to be read, not changed.

    Those that cannot be used are named with the reason.
    """
    store = Store(folder)
    records, seen = [], dict[str, Any]()
    for record in store.each():
        record.curve = cast(Any, CompactCurve(record.curve))
        for name in TEXTS:
            setattr(record, name, intern(getattr(record, name)))
        for name in ("cell", "code", "versions", "machine"):
            setattr(record, name, shared(getattr(record, name), seen))
        records.append(record)
    for name, reason in store.damaged.items():
        print(printable(f"unreadable, left where it is: {name}: {reason}"), file=sys.stderr)
    return Stored(records, dict(store.damaged))
