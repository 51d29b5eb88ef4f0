"""Run a stored report's cells again, and say what still holds: verdicts, values, rankings.

Nothing of the stored folder is executed or followed: a cell is made from the configurations of this installation, by
name; from the record come plain settings (numbers, words) for options that exist here. A data file is read only where
the user names it. A cell that cannot be made this way, or whose data have another digest, is said to be so.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tabulate import tabulate

from marginbench.harness.cell.spec import Cell
from marginbench.harness.model.problem import InputError
from marginbench.harness.records.record import Record

Config = dict[str, Any]
PLAIN = (int, float, str, bool, type(None))
CLEAR = 2.0
"""A ranking counts as changed when both runs saw a ratio of times above this, in opposite directions."""


@dataclass(frozen=True)
class Rerun:
    """One cell, then and now; `now` is None where it could not be run, and `note` says why or what changed."""

    then: Record
    now: Record | None
    note: str = ""

    @property
    def holds(self) -> bool:
        return self.now is not None and not self.note


def cell_again(record: Record, local: Callable[[str, str], Config | None], files: Mapping[str, str]) -> Cell | str:
    """The cell of a record, made from local configurations; or the sentence why that cannot be."""
    said = record.cell
    parts = {}
    for group, name in (("formulation", record.formulation), ("solver", record.solver), ("dataset", record.dataset)):
        if group == "dataset" and name in files:
            named = local("dataset", name) or {}  # how its file is read; a name that stands for no file says nothing
            parts[group] = {**(named if "path" in named else local("dataset", "file") or {}), "path": files[name]}
            continue
        if group == "dataset" and "path" in _dict(said.get(group)):
            return f"the data file is not part of the results: give it as {name}=FILE"
        config = local(group, name)
        if config is None:
            return f"there is no {group} '{name}' in this installation"
        parts[group] = _with_settings(config, _dict(said.get(group)))
    return Cell(
        **parts,
        problem=_numbers(said.get("problem")),
        budget=_numbers(said.get("budget")),
        limits=_numbers(said.get("limits")),
        dataset_name=record.dataset,
        formulation_name=record.formulation,
        solver_name=record.solver,
        method=record.method,
        seed=record.seed,
        repeat=record.repeat,
    )


def _dict(value: Any) -> Config:
    return value if isinstance(value, dict) else {}


def _numbers(value: Any) -> Config:
    return {str(key): entry for key, entry in _dict(value).items() if isinstance(entry, PLAIN)}


def _with_settings(config: Config, stored: Config) -> Config:
    """The local configuration with the stored settings of the same name, where they are plain and of the same kind."""
    plain = {k: v for k, v in stored.items() if k in config and k != "_target_" and _is_plain(v)}
    return {**config, **plain}


def _is_plain(value: Any) -> bool:
    return isinstance(value, PLAIN) or (isinstance(value, list) and all(isinstance(entry, PLAIN) for entry in value))


def compare(then: Record, now: Record | None) -> Rerun:
    """The same problem, the same verdict, and enclosures of the optimum that meet."""
    if now is None:
        return Rerun(then, None, "interrupted before it ran")
    if now.problem != then.problem:
        return Rerun(then, now, "the data are not the same")
    if now.status != then.status:
        return Rerun(then, now, f"was {then.status}, is {now.status}")
    for low, high in ((then, now), (now, then)):
        if low.dual is not None and high.primal is not None and high.primal < low.dual - _rounding(low, high):
            return Rerun(then, now, f"the bounds exclude each other: D = {low.dual}, P = {high.primal}")
    return Rerun(then, now)


def _rounding(low: Record, high: Record) -> float:
    """What rounding may have done to D and P of records that carry no bound of it: those of version 0.1."""
    bounded = low.dual_error is not None and high.primal_error is not None
    return 0.0 if bounded or low.dual is None else 1e-9 * max(1.0, abs(low.dual))


def rankings(pairs: Sequence[Rerun]) -> list[str]:
    """Problems on which two methods clearly changed places, as sentences."""
    times: dict[str, dict[str, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
    for pair in pairs:
        if pair.holds and pair.then.status == "solved" and pair.now is not None:
            title = f"{pair.then.dataset}, C = {pair.then.C:g}, bias {pair.then.bias}"
            method = f"{pair.then.formulation} / {pair.then.solver}"
            times[title][method].append((pair.then.solve_seconds or 0.0, pair.now.solve_seconds or 0.0))
    found = []
    for title, methods in times.items():
        best = {name: tuple(min(column) for column in zip(*runs, strict=True)) for name, runs in methods.items()}
        for a, (a_then, a_now) in best.items():
            for b, (b_then, b_now) in best.items():
                if a_then * CLEAR < b_then and b_now * CLEAR < a_now:
                    found.append(f"{title}: {a} was {b_then / a_then:.1f} times faster than {b}, now {b} is faster")
    return found


def text(pairs: Sequence[Rerun]) -> str:
    """What does not hold, line by line, and the counts."""
    rows = [
        (p.then.dataset, f"{p.then.C:g}", p.then.bias, f"{p.then.formulation} / {p.then.solver}", p.note)
        for p in pairs
        if not p.holds
    ]
    changed = rankings(pairs)
    table = tabulate(rows, headers=("dataset", "C", "bias", "method", "what changed"), tablefmt="simple") + "\n\n"
    held = sum(p.holds for p in pairs)
    lines = [f"{held} of {len(pairs)} verdicts and values hold; {len(changed)} clear rankings changed", *changed]
    return (table if rows else "") + "\n".join(lines)


def named_files(words: Sequence[str]) -> dict[str, str]:
    """NAME=FILE pairs of the command line."""
    pairs = [word.partition("=") for word in words]
    for name, sign, path in pairs:
        if not (name and sign and path):
            raise InputError(f"reproduce {name}: give data files as NAME=FILE")
    return {name: path for name, _, path in pairs}
