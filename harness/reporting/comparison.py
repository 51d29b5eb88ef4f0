"""Records put side by side: which problem a record belongs to, what its method is called, what is proven of P*.

Everything that tables, figures and report show is made from this arrangement, so that they cannot disagree.
"""

import json
import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from marginbench.harness.model.bounds import Bounds
from marginbench.harness.records.record import Record
from marginbench.harness.records.status import status_of

NUMBER = r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?"


def number(value: Any) -> float | None:
    """`value` as a finite float, None where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def seconds(record: Record) -> float | None:
    """What the answer cost: building the program and solving it."""
    solve = number(record.solve_seconds)
    return None if solve is None else solve + (number(record.build_seconds) or 0.0)


def succeeded(record: Record) -> bool:
    return status_of(record.status).success


def ordered(records: Sequence[Record]) -> list[Record]:
    """By problem, then method, then repetition; the rest of the key makes the order the same every time."""

    def key(r: Record) -> tuple[Any, ...]:
        cell = (r.dataset, r.C, r.bias, r.loss, r.formulation, r.solver, r.seed, r.repeat)
        return (*cell, r.problem, r.method, r.hash, r.status, r.message)

    return sorted(records, key=key)


def bounds(records: Sequence[Record], references: Mapping[str, Bounds]) -> dict[str, Bounds]:
    """The best proven bounds of each problem: of the references, and of every record's own point.

    What contradicts a reference never replaces it.
    """
    found = dict(references)
    for r in records:
        own = own_bounds(r)
        if not references.get(r.problem, Bounds()).contradiction(own):
            found[r.problem] = found.get(r.problem, Bounds()).meet(own)
    return found


def own_bounds(r: Record) -> Bounds:
    """What the point of a record proves of the optimum."""
    primal, dual = number(r.primal), number(r.own_dual)
    return Bounds(-math.inf if dual is None else dual, math.inf if primal is None else primal, "run")


@dataclass(frozen=True)
class Task:
    """One problem and its rows, each method's runs together."""

    key: str
    title: str
    bounds: Bounds
    runs: dict[str, list[Record]]

    @property
    def records(self) -> list[Record]:
        return [record for runs in self.runs.values() for record in runs]

    @property
    def sample(self) -> Record:
        return self.records[0]

    @property
    def impossible(self) -> bool:
        """Proven to have no solution."""
        return any(status_of(r.status).no_solution for r in self.records)

    @property
    def family(self) -> str:
        r = self.sample
        return "hard margin" if math.inf == r.C else "soft margin" if r.loss == "hinge" else r.loss.replace("_", " ")


@dataclass(frozen=True)
class Family:
    """Problems of one kind, and the methods with a row among them whose times can be ranked against each other.

    A hard and a soft margin are different questions: no method answers both, so that each has profiles of its own.
    """

    name: str
    tasks: list[Task]
    methods: list[str]


def representative(runs: Sequence[Record]) -> Record:
    """The run that stands for several: the one of median time of those that succeeded, else of all."""
    chosen = [r for r in runs if succeeded(r)] or list(runs)
    chosen = sorted(chosen, key=lambda r: math.inf if seconds(r) is None else seconds(r) or 0.0)
    return chosen[(len(chosen) - 1) // 2]


@dataclass(frozen=True)
class Comparison:
    """All records of a report, in order, and the references they are compared with."""

    records: list[Record]
    references: Mapping[str, Bounds]

    @classmethod
    def of(cls, records: Sequence[Record], references: Mapping[str, Bounds] | None = None) -> "Comparison":
        return cls(ordered(records), references or {})

    @cached_property
    def bounds(self) -> dict[str, Bounds]:
        return bounds(self.records, self.references)

    @cached_property
    def labels(self) -> list[str]:
        """The method's name of each record: its own, or formulation and solver; its variant where it has several."""
        names = _names(self.records)
        return [f"{name} {variant}".strip() for name, variant in zip(names, self.variants, strict=True)]

    @cached_property
    def variants(self) -> list[str]:
        """The settings that tell a record from others of the same method on the same problem, `delta=0.1`; or empty."""
        return _variants(self.records, _names(self.records))

    @cached_property
    def methods(self) -> list[str]:
        return sorted(set(self.labels), key=natural)

    @cached_property
    def tasks(self) -> list[Task]:
        """The problems, in order. A row without a key joins the one problem that looks the same."""
        twins: dict[tuple[Any, ...], set[str]] = defaultdict(set)
        for r in self.records:
            if r.problem:
                twins[_looks(r)].add(r.problem)
        grouped: dict[str, dict[str, list[Record]]] = {}
        for record, label in zip(self.records, self.labels, strict=True):
            same = twins[_looks(record)]
            key = record.problem or (next(iter(same)) if len(same) == 1 else f"unknown {_looks(record)}")
            grouped.setdefault(key, {}).setdefault(label, []).append(record)
        titles = _titles({key: next(iter(runs.values()))[0] for key, runs in grouped.items()})
        found = [
            Task(
                key,
                titles[key],
                self.bounds.get(key, Bounds()),
                {name: runs[name] for name in sorted(runs, key=natural)},
            )
            for key, runs in grouped.items()
        ]
        return sorted(found, key=lambda task: (*_looks(task.sample), natural(task.title)))

    @cached_property
    def separators(self) -> set[str]:
        """Methods judged by separation: right when no row is misclassified, not when the optimum is reached.

        They answer an easier question, so that their times are not ranked with the others'.
        """
        return {label for r, label in zip(self.records, self.labels, strict=True) if _separates(r)}

    @cached_property
    def families(self) -> list[Family]:
        grouped: dict[str, list[Task]] = defaultdict(list)
        for task in self.tasks:
            grouped[task.family].append(task)
        return [
            Family(
                name, tasks, [m for m in self.methods if m not in self.separators and any(m in t.runs for t in tasks)]
            )
            for name, tasks in sorted(grouped.items(), reverse=True)
        ]

    @cached_property
    def contradictions(self) -> list[Record]:
        """Rows that contradict what is proven of the same problem: one of the two certificates is false.

        P below a proven D, D above the P of a reference, or `infeasible` where a hyperplane separates the data.
        """
        return [r for r in self.records if self._contradicts(r)]

    def _contradicts(self, r: Record) -> bool:
        known, own = self.bounds[r.problem], own_bounds(r)
        if r.status == "infeasible" and known.upper < math.inf:
            return True
        return own.upper < known.lower or bool(self.references.get(r.problem, Bounds()).contradiction(own))


def natural(label: str) -> list[tuple[int, float, str]]:
    """Sorts delta=1e-05 before delta=0.1: by numbers where there are numbers."""
    parts = re.split(r"((?<==)[-+.\deE]+)", label)
    return [(1, float(part), "") if re.fullmatch(NUMBER, part) else (0, 0.0, part) for part in parts]


def show_C(C: float) -> str:
    return "∞" if math.inf == C else f"{C:g}"


def _looks(r: Record) -> tuple[Any, ...]:
    return r.dataset, r.C, r.bias, r.loss


def _titles(samples: dict[str, Record]) -> dict[str, str]:
    """Title of each problem; those that look alike are told apart by how their data were made, then by their keys."""

    def title(r: Record) -> str:
        loss = "" if r.loss == "hinge" else f", {r.loss}"
        return f"{r.dataset}, C = {show_C(r.C)}, bias {r.bias}{loss}"

    alike: dict[str, dict[str, dict[str, str]]] = defaultdict(dict)
    for key, r in samples.items():
        config = r.cell.get("dataset")
        made = {name: _text(value) for name, value in config.items()} if isinstance(config, dict) else {}
        alike[title(r)][key] = made | {"n": str(r.n), "d": str(r.d)}
    titles = {}
    for name, twins in alike.items():
        options = sorted({option for made in twins.values() for option in made})
        telling = [o for o in options if len({made.get(o) for made in twins.values()}) > 1]
        for key, made in twins.items():
            titles[key] = " ".join([name, *(f"{o}={made[o]}" for o in telling if o in made)])
    seen = list(titles.values())
    return {key: f"{name} [{key[:16]}]" if seen.count(name) > 1 else name for key, name in titles.items()}


def _settings(r: Record) -> dict[str, str]:
    """What the formulation and the solver were configured with, as text; the seed is a column of its own."""
    flat: dict[str, str] = {}
    for part in ("formulation", "solver"):
        config = r.cell.get(part)
        if isinstance(config, dict):
            flat |= {key: _text(value) for key, value in config.items() if key != "seed"}
    return flat


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)


def _names(records: Sequence[Record]) -> list[str]:
    """The method's name; formulation and solver where it has none, or one that stands for several pairs."""
    pairs = defaultdict(set)
    for r in records:
        pairs[r.method].add((r.formulation, r.solver))
    return [r.method if r.method and len(pairs[r.method]) == 1 else f"{r.formulation} + {r.solver}" for r in records]


def _variants(records: Sequence[Record], names: Sequence[str]) -> list[str]:
    settings = [_settings(r) for r in records]
    values: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for name, r, config in zip(names, records, settings, strict=True):
        for key, value in config.items():
            values[name, r.problem, key].add(value)
    differing: dict[str, set[str]] = defaultdict(set)
    for (name, _, key), seen in values.items():
        if len(seen) > 1:
            differing[name].add(key)
    return [
        " ".join(f"{key}={config[key]}" for key in sorted(differing[name]) if key in config)
        for name, config in zip(names, settings, strict=True)
    ]


def _separates(r: Record) -> bool:
    if r.info.get("judge") == "separation":
        return True
    asked = number((r.cell.get("budget") or {}).get("gap"))
    gap = number(r.gap)
    return r.status == "solved" and (gap is None or (asked is not None and gap > asked))
