"""Stored results, for the verbs that read them: a results folder, or a bundle of one."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from marginbench.harness.errors import InputError
from marginbench.harness.printable import printable
from marginbench.harness.records.archive import unpacked
from marginbench.harness.records.record import Record
from marginbench.harness.records.store import Store


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
    """All records of a folder. Those that cannot be used are named with the reason."""
    store = Store(folder)
    records = store.records()
    for name, reason in store.damaged.items():
        print(printable(f"unreadable, left where it is: {name}: {reason}"), file=sys.stderr)
    return Stored(records, dict(store.damaged))
