"""The records of a results folder, for the verbs that read one."""

import sys
from pathlib import Path

from marginbench.harness.errors import InputError
from marginbench.harness.records.record import Record
from marginbench.harness.records.store import Store


def stored_records(path: str) -> list[Record]:
    """The records of a results folder; damaged ones are set aside and named."""
    if not (Path(path) / "cells").is_dir():
        raise InputError(f"{path}: no results there (a results folder has a folder `cells`)")
    store = Store(Path(path))
    records = store.records()
    for damaged in store.damaged:
        print(f"set aside, unreadable: {damaged}", file=sys.stderr)
    return records
