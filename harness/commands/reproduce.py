"""marginbench reproduce PATH: run a stored report's cells again and say, claim by claim, what still holds."""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from marginbench.datasets import cache
from marginbench.harness.commands.options import CONFIG_DIR, split_flags, user_folder
from marginbench.harness.commands.stored import Stored, opened, stored_records
from marginbench.harness.commands.summary import finish
from marginbench.harness.compose import Composer
from marginbench.harness.errors import InputError
from marginbench.harness.records.record import Record
from marginbench.harness.running.claims import Rerun, all_hold, claims, text
from marginbench.harness.running.fingerprint import changed_code, changed_versions
from marginbench.harness.running.planning import check_numbers
from marginbench.harness.running.reproduction import Again, Loaded, Means, OwnSolver, again
from marginbench.harness.running.sources import FOLDER as SOURCES
from marginbench.harness.running.sweep import Finished, run_cells
from marginbench.harness.solver_spec import short_name, solver_class, solver_node

FROM_BUNDLE = "@"
"""Before the name of a solver file: the one that the results bring along."""


def main(arguments: Sequence[str]) -> int:
    flags, words = split_flags(arguments, {"--out": "DIR", **CONFIG_DIR})
    if not words or "=" in words[0]:
        raise InputError(
            "reproduce: which results? Give a folder or a bundle, as in results/comparison/2026-01-31_12-00-00"
        )
    command = " ".join(["marginbench", "reproduce", *arguments])
    composer = Composer("run", user_folder(flags))
    with opened(words[0]) as folder:
        stored = stored_records(folder)
        means = _means(composer, words[1:], folder)
        loaded = Loaded(cache.data_folder())
        every = [again(record, means, loaded) for record in stored.records]
        config = {**composer.config([]), "fresh": True, "out": flags.get("--out", "results")}
        return _compared(every, stored, partial(run_cells, config=config, loaded=loaded.data), command)


def _means(composer: Composer, words: Sequence[str], folder: Path) -> Means:
    """What the command line gives: NAME=FILE, data=DIR, limits.KEY=NUMBER, FILE.py:Class."""
    pairs = dict(word.split("=", 1) for word in words if "=" in word)
    for name, path in pairs.items():
        if not name or not path:
            raise InputError(f"reproduce {name}={path}: give data files as NAME=FILE, their folder as data=DIR")
    overrides = [f"{key}={pairs.pop(key)}" for key in list(pairs) if key.startswith("limits.")]
    data = pairs.pop("data", os.environ.get("MARGINBENCH_DATA", ""))
    if data:
        if not Path(data).is_dir():
            raise InputError(f"data={data}: no such folder")
        quoted = data.replace("\\", "\\\\").replace("'", "\\'")
        overrides.append(f"data='{quoted}'")
    for name, path in pairs.items():
        if not Path(path).is_file():
            raise InputError(f"{name}={path}: no such file")
    limits = composer.config(overrides)["limits"]
    check_numbers("limits.", limits)
    at = [word for word in overrides if word.startswith("data=")]

    def local(group: str, name: str) -> dict[str, Any] | None:
        unnamed = ["dataset.path=unnamed"] if (group, name) == ("dataset", "file") else []
        return composer.part(group, name, [*at, *unnamed])

    return Means(
        local=local,
        limits=limits,
        files=pairs,
        folders=[Path(data)] if data else [],
        by_digest=folder.parent / "data" if (folder.parent / "ro-crate-metadata.json").is_file() else None,
        solvers=[_own_solver(word, folder) for word in words if "=" not in word],
    )


def _own_solver(word: str, folder: Path) -> OwnSolver:
    """A file of the user's, or with @ in front one of those that the results bring along."""
    if ":" not in word:
        raise InputError(f"reproduce {word}: possible are NAME=FILE, data=DIR, limits.KEY=NUMBER and FILE.py:Class")
    if word.startswith(FROM_BUNDLE):
        name = word.removeprefix(FROM_BUNDLE).partition(":")[0]
        places = sorted(path for path in (folder / SOURCES).glob("*/*") if path.name == name and not path.is_symlink())
        if len(places) != 1:
            raise InputError(f"{word}: the results bring {len(places)} files of that name; give a file of your own")
        word = f"{places[0]}:{word.rpartition(':')[2]}"
    node = solver_node(word)
    solver_class(f"reproduce {word}", str(node["_target_"]))
    return OwnSolver(short_name(word), node)


def _compared(every: Sequence[Again], stored: Stored, run: Callable[..., Finished], command: str) -> int:
    """Run what can be run, and print which claims hold."""
    ready = [one.planned for one in every if one.planned is not None]
    code, reruns = 0, []
    now: Iterator[Record | None] = iter(())
    if ready:
        finished = run([one.cell for one in ready], name="reproduce", command=command)
        code = finish(finished.records, finished.folder, command, finished.notes, interrupted=finished.interrupted)
        now = iter(finished.asked)
    for one in every:
        record = next(now) if one.planned is not None else None
        reruns.append(Rerun(one.then, record, one.reason, one.capped))
    found = claims(reruns)
    print(text(found, stored.unreadable, _changes(every)))
    return code if code == 130 else int(not all_hold(found, stored.unreadable))


def _changes(every: Sequence[Again]) -> Counter[str]:
    """What is not as it was then: sources and versions, with the number of cells that it concerns."""
    found: Counter[str] = Counter()
    for one in every:
        if one.planned is None:
            continue
        if not one.then.code:
            found["the code of then is not recorded"] += 1
        elif changed := changed_code(one.then.code, one.planned.code):
            found[f"other code now: {changed}"] += 1
        if one.then.code and (changed := changed_versions(one.then.versions, one.planned.versions)):
            found[f"other versions: {changed}"] += 1
        if one.capped:
            found[f"capped: {one.capped}"] += 1
    return found
