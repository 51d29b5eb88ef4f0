"""marginbench show CELL: one record in full."""

import json
from collections.abc import Sequence
from pathlib import Path

from marginbench.harness.commands.options import split_flags
from marginbench.harness.errors import InputError
from marginbench.harness.records.codec import plain
from marginbench.harness.records.solution import has_solution
from marginbench.harness.records.store import NAME, Store

SHORTEST = 4
"""Characters of a hash that may name a cell."""


def main(arguments: Sequence[str]) -> int:
    _, words = split_flags(arguments, {})
    if not 1 <= len(words) <= 2:
        raise InputError("show: which cell? Give its hash or its file, and where to look: show CELL [FOLDER]")
    path = _found(words[0], Path(words[1] if len(words) == 2 else "results"))
    store = Store(path.parent.parent)
    record = store.get(path.stem)
    if record is None:
        raise InputError(f"{path}: {store.damaged.get(path.name, 'is not the record of a cell')}")
    print(json.dumps(plain(record.to_dict()), indent=1))  # ASCII alone: nothing in it moves a cursor
    if has_solution(store.folder, record.hash):
        print(f"solution: {store.folder / 'solutions' / f'{record.hash}.npz'}")
    return 0


def _found(word: str, folder: Path) -> Path:
    """The file of a cell: as given, or the newest one below `folder` whose name begins like that."""
    if Path(word).suffix == ".json" and Path(word).is_file():
        return Path(word)
    if len(word) < SHORTEST or not NAME.fullmatch(word.ljust(16, "0")):
        raise InputError(f"show {word}: needs a file of a cell, or {SHORTEST} or more characters of its hash")
    found = sorted(folder.glob(f"cells/{word}*.json")) or sorted(folder.glob(f"*/*/cells/{word}*.json"))
    found = found or sorted(folder.glob(f"*/cells/{word}*.json"))
    if not found:
        raise InputError(f"show {word}: no such cell below {folder}; show CELL FOLDER looks elsewhere")
    if len({path.name for path in found}) > 1:
        names = ", ".join(sorted({path.stem for path in found})[:5])
        raise InputError(f"show {word}: several cells begin like that: {names}")
    return found[-1]
