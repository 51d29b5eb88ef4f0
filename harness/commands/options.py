"""What the verbs share: flags of the command line, a folder of the user's own configurations, stored records."""

import sys
from collections.abc import Sequence
from pathlib import Path

from marginbench.harness.model.problem import InputError
from marginbench.harness.records.record import Record
from marginbench.harness.records.store import Store


def split_flags(arguments: Sequence[str], flags: dict[str, bool]) -> tuple[dict[str, str], list[str]]:
    """Flags (name -> whether it takes a value) and what is left."""
    given: dict[str, str] = {}
    rest: list[str] = []
    words = iter(arguments)
    for word in words:
        name, _, value = word.partition("=")
        if not word.startswith("-"):
            rest.append(word)
        elif name not in flags:
            raise InputError(f"{word}: no such option; possible are {', '.join(flags) or 'none'}")
        elif flags[name]:
            given[name] = value or next(words, "")
            if not given[name]:
                raise InputError(f"{name}: needs a value")
        else:
            given[name] = "yes"
    return given, rest


def user_folder(flags: dict[str, str]) -> Path | None:
    """The folder of --config-dir, which becomes importable together with its parent and the current folder."""
    folder = Path(flags["--config-dir"]).resolve() if "--config-dir" in flags else None
    if folder is not None and not folder.is_dir():
        raise InputError(f"--config-dir {folder}: no such folder")
    for path in (Path.cwd(), *((folder, folder.parent) if folder else ())):
        if str(path) not in sys.path:
            sys.path.append(str(path))
    return folder


def stored_records(path: str) -> list[Record]:
    """The records of a results folder; damaged ones are set aside and named."""

    if not (Path(path) / "cells").is_dir():
        raise InputError(f"{path}: no results there (a results folder has a folder `cells`)")
    store = Store(Path(path))
    records = store.records()
    for damaged in store.damaged:
        print(f"set aside, unreadable: {damaged}", file=sys.stderr)
    return records
