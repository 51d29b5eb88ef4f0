"""What was varied: the configuration values that differ between records, and the texts that tell records apart.

A value is named by its path, as on the command line: `dataset.positive`, `problem.weight`, `solver.batch`. A field
that only one class has is not varied: fields of a solver are compared between cells with the same solver class, and
those of data sets and formulations likewise.
"""

import hashlib
import json
import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from sys import intern
from typing import Any

from marginbench.harness.old_names import current_name
from marginbench.harness.printable import printable
from marginbench.harness.records.record import Record

GROUPS = ("dataset", "preprocess", "problem", "formulation", "solver", "budget", "limits")
ALWAYS = ("budget.gap", "budget.seconds", "budget.iterations", "budget.wrong_gap")
"""What every row was asked for: these columns are there whether or not they vary."""

OF_PROBLEM = ("dataset.", "preprocess.", "problem.")
"""Beginnings of the paths that say which problem it is."""

TOLD = ("problem.C", "problem.bias")
"""Paths with a column of a shorter name in every table."""

LONGEST = 60
"""Characters of a value in a label."""

ABSENT = "\0absent"


def part(r: Record, group: str) -> dict[str, Any]:
    """One group of the configuration that was run; empty where a record has none."""
    config = r.cell.get(group)
    return config if isinstance(config, dict) else {}


def configuration(r: Record) -> dict[str, Any]:
    """Every value that was asked for, by its path. A hard margin has no C, whatever was asked."""
    found: dict[str, Any] = {}
    for group in GROUPS:
        found |= _flat(group, part(r, group))
    for group in ("dataset", "formulation", "solver"):
        if f"{group}._target_" in found:
            found[f"{group}._target_"] = current_name(str(found[f"{group}._target_"]))
    if math.inf == r.C != found.get("problem.C"):
        found.pop("problem.C", None)
    return found


def _flat(path: str, config: Mapping[str, Any], depth: int = 4) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in config.items():
        below = intern(f"{path}.{printable(key)}")  # the same for thousands of records
        found |= _flat(below, value, depth - 1) if isinstance(value, dict) and value and depth else {below: value}
    return found


def text(value: Any) -> str:
    """As one would type it: 10.0 is 10, None is null."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    try:
        if value is None or isinstance(value, int):  # most values that are no text; True is true
            return "null" if value is None else str(value).lower()
        return printable(json.dumps(value, sort_keys=True, default=str))
    except (RecursionError, ValueError):
        return "a value too deep to show"


def brief(value: Any) -> str:
    """A value in a label. A long one is cut, and ends in a few characters that are its own."""
    shown = text(value)
    if len(shown) <= LONGEST:
        return shown
    return f"{shown[: LONGEST - 10]}…{hashlib.sha256(shown.encode('utf-8', 'replace')).hexdigest()[:8]}"


# -- columns -------------------------------------------------------------------------------------------------------


def varied(records: Sequence[Record], configs: Sequence[dict[str, Any]]) -> list[str]:
    """The paths of all values that differ between records."""
    return _differing(records, configs, _class)


def untold(records: Sequence[Record], configs: Sequence[dict[str, Any]]) -> list[str]:
    """Those that the names of data set, formulation and solver, and the columns C and bias, do not tell already."""
    return [path for path in _differing(records, configs, _name) if path not in TOLD]


def _class(r: Record, config: dict[str, Any], path: str) -> Hashable:
    """What a record shares with those that it is compared with."""
    group = path.partition(".")[0]
    return config.get(f"{group}._target_") if path != f"{group}._target_" else _name(r, config, path)


def _name(r: Record, _: dict[str, Any], path: str) -> Hashable:
    group = path.partition(".")[0]
    names = {"dataset": r.dataset, "formulation": r.formulation, "solver": (r.formulation, r.solver)}
    return names.get(group, "")


def _differing(
    records: Sequence[Record],
    configs: Sequence[dict[str, Any]],
    alike: Callable[[Record, dict[str, Any], str], Hashable],
) -> list[str]:
    paths = sorted({path for config in configs for path in config}, key=_order)
    having = {group: [k for k, r in enumerate(records) if part(r, group)] for group in GROUPS}
    found = []
    for path in paths:
        values: dict[Hashable, set[str]] = defaultdict(set)
        for k in having[path.partition(".")[0]]:
            values[alike(records[k], configs[k], path)].add(text(configs[k].get(path, ABSENT)))
        if path == "problem.C":  # absent: a hard margin
            values = {kind: seen - {text(ABSENT)} for kind, seen in values.items()}
        if any(len(seen) > 1 for seen in values.values()):
            found.append(path)
    return [path for path in found if path != "solver.seed" or not _seeds_follow(records, configs)]


def _order(path: str) -> tuple[int, str]:
    return GROUPS.index(path.partition(".")[0]), path


def _seeds_follow(records: Sequence[Record], configs: Sequence[dict[str, Any]]) -> bool:
    """Whether every solver has the seed of its cell, which is a column."""
    return all(config.get("solver.seed", r.seed) == r.seed for r, config in zip(records, configs, strict=True))


# -- labels --------------------------------------------------------------------------------------------------------


def short_names(paths: Sequence[str]) -> dict[str, str]:
    """`batch` for `solver.batch`, where no other of the paths ends so. Budgets and limits keep their group."""
    last = [path.partition(".")[2] or path for path in paths]
    return {
        path: name if last.count(name) == 1 and not path.startswith(("budget.", "limits.")) else path
        for path, name in zip(paths, last, strict=True)
    }


def settings(
    records: Sequence[Record],
    configs: Sequence[dict[str, Any]],
    names: Sequence[str],
    problems: Sequence[str],
    groups: Sequence[str],
) -> list[dict[str, Any]]:
    """For each record the values that tell it from others of the same name: those that differ on one problem."""
    seeds = {"solver.seed"} if _seeds_follow(records, configs) else set()
    asked = [
        {path: value for path, value in config.items() if path.partition(".")[0] in groups and path not in seeds}
        | {"seed": r.seed, "threads": r.threads, "start": r.start}
        for r, config in zip(records, configs, strict=True)
    ]
    together: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for name, problem, config in zip(names, problems, asked, strict=True):
        together[name, problem].append(config)
    differing: dict[str, set[str]] = defaultdict(set)
    for (name, _), group in together.items():
        differing[name] |= {path for path in set().union(*group) if len({text(c.get(path, ABSENT)) for c in group}) > 1}
    return [
        {path: config[path] for path in sorted(differing[name]) if path in config}
        for name, config in zip(names, asked, strict=True)
    ]


def written(values: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """`batch=4 seed=1`"""
    return " ".join(f"{names[path]}={brief(value)}" for path, value in values.items())


def titles(samples: Mapping[str, tuple[str, Record, dict[str, Any]]]) -> dict[str, str]:
    """Problem key -> what tells it from the others that look the same; empty where nothing has to.

    `samples`: problem key -> how it looks, one of its records, and that one's configuration. Problems are told apart by
    how their data were made and what is asked of them; else by their size; else by their keys.
    """
    alike: dict[str, dict[str, dict[str, str]]] = defaultdict(dict)
    for key, (look, _, config) in samples.items():
        paths = [p for p in config if p.startswith(OF_PROBLEM) and p not in TOLD and p != "problem.loss"]
        alike[look][key] = {path: text(config[path]) for path in sorted(paths, key=_order)}
    found: dict[str, str] = {}
    for twins in alike.values():
        shown = _told_apart(twins)
        if len(set(shown.values())) < len(shown):
            sizes = {key: {"n": str(r.n), "d": str(r.d)} for key, (_, r, _) in samples.items()}
            shown = _told_apart({key: made | sizes[key] for key, made in twins.items()})
        every = list(shown.values())
        for key, told in shown.items():
            found[key] = f"{told} [{printable(key)}]".strip() if every.count(told) > 1 else told
    return found


def _told_apart(twins: Mapping[str, dict[str, str]]) -> dict[str, str]:
    paths = list(dict.fromkeys(path for made in twins.values() for path in made))
    telling = [path for path in paths if len({made.get(path) for made in twins.values()}) > 1]
    names = short_names(telling)
    return {
        key: written({path: made[path] for path in telling if path in made}, names)
        for key, made in _without_common_folders(twins).items()
    }


def _without_common_folders(twins: Mapping[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """Files are told apart by the end of their paths: `a/x.csv` and `b/x.csv`."""
    files = [made["dataset.path"].split("/") for made in twins.values() if "dataset.path" in made]
    common = 0
    while len(files) > 1 and all(len(f) > common + 1 and f[common] == files[0][common] for f in files):
        common += 1
    cut = {path: "/".join(path.split("/")[common:]) for path in map("/".join, files)}
    return {key: {p: cut[v] if p == "dataset.path" else v for p, v in made.items()} for key, made in twins.items()}
