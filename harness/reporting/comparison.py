"""Records put side by side: which problem a record belongs to, what its method is called, what is proven of P*.

Everything that tables, figures and report show is made from this arrangement, so that they cannot disagree.
"""

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from marginbench.harness.model.bounds import Bounds
from marginbench.harness.printable import printable
from marginbench.harness.records.record import Record
from marginbench.harness.records.status import status_of
from marginbench.harness.reporting import variation

NAMES = ("dataset", "bias", "loss", "formulation", "solver", "method", "start", "status", "claim", "message", "hash")
"""Text of a record that tables and figures show."""

NUMBER = r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?"


def number(value: Any) -> float | None:
    """`value` as a finite float, None where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:  # a whole number beyond all doubles
        return None
    return found if math.isfinite(found) else None


def seconds(record: Record) -> float | None:
    """What the answer cost: building the program and solving it."""
    solve = number(record.solve_seconds)
    return None if solve is None else solve + (number(record.build_seconds) or 0.0)


def succeeded(record: Record) -> bool:
    return status_of(record.status).success


def refuted(record: Record, known: Bounds) -> bool:
    """Whether it says that there is no solution, though a point with a finite P is proven."""
    return status_of(record.status).no_solution and known.upper < math.inf


def cost(record: Record) -> float:
    """Seconds of a run that succeeded; infinity for a failure."""
    spent = seconds(record)
    return spent if succeeded(record) and spent is not None else math.inf


def representative(runs: Sequence[Record]) -> Record:
    """The run that stands for several: the one whose cost is the median."""
    spent = {id(r): math.inf if (s := seconds(r)) is None else s for r in runs}
    return sorted(runs, key=lambda r: (cost(r), spent[id(r)]))[len(runs) // 2]


def ordered(records: Sequence[Record]) -> list[Record]:
    """By problem, then method, settings and repetition; the rest of the key makes the order the same every time."""

    def asked(r: Record, groups: tuple[str, ...]) -> list[tuple[str, Any]]:
        config = variation.configuration(r)
        values = [(path, natural(f"={variation.text(value)}")) for path, value in config.items()]
        return sorted(entry for entry in values if entry[0].startswith(groups))

    def key(r: Record) -> tuple[Any, ...]:
        problem = (r.dataset, r.C, r.bias, r.loss, asked(r, variation.OF_PROBLEM), r.problem)
        method = (r.formulation, r.solver, asked(r, ("formulation.", "solver.", "budget.", "limits.")))
        return (*problem, *method, r.threads, r.start, r.seed, r.repeat, r.method, r.hash, r.status, r.message)

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
    told: str
    """The end of the title: the values that tell it from problems which look the same; empty where there are none."""
    bounds: Bounds
    runs: dict[str, list[Record]]
    """Label of a method -> its repetitions: rows that were asked for the same in everything else."""

    @property
    def records(self) -> list[Record]:
        return [record for runs in self.runs.values() for record in runs]

    @property
    def sample(self) -> Record:
        return next(iter(self.runs.values()))[0]

    @property
    def impossible(self) -> bool:
        """Proven to have no solution, by a reference or by a row, and no point speaks against it."""
        proven = self.bounds.infeasible or any(status_of(r.status).no_solution for r in self.records)
        return proven and self.bounds.upper == math.inf

    def good(self, runs: Sequence[Record]) -> int:
        """How many of these runs on it succeeded. A proof that a point refutes is no success."""
        return sum(succeeded(r) and not refuted(r, self.bounds) for r in runs)

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


@dataclass(frozen=True)
class Comparison:
    """All records of a report, in order, and the references they are compared with."""

    records: list[Record]
    references: Mapping[str, Bounds]
    by_budget: bool = True
    """Whether rows of one method that differ in budget or limits alone have labels of their own."""

    @classmethod
    def of(
        cls, records: Sequence[Record], references: Mapping[str, Bounds] | None = None, by_budget: bool = True
    ) -> "Comparison":
        return cls(ordered([_clean(r) for r in records]), references or {}, by_budget)

    @cached_property
    def merged(self) -> "Comparison":
        """The same records with one label for all budgets of a method. Itself, where that changes no label."""
        if not any(path.startswith(("budget.", "limits.")) for values in self.settings for path in values):
            return self
        found = replace(self, by_budget=False)
        vars(found).update(bounds=self.bounds, configurations=self.configurations, keys=self.keys)
        return found

    @cached_property
    def bounds(self) -> dict[str, Bounds]:
        return bounds(self.records, self.references)

    @cached_property
    def configurations(self) -> list[dict[str, Any]]:
        """For each record what was asked for, by path."""
        return [variation.configuration(r) for r in self.records]

    @cached_property
    def varied(self) -> list[str]:
        """The paths of all values that differ between records."""
        return variation.varied(self.records, self.configurations)

    @cached_property
    def untold(self) -> list[str]:
        """Those of them that the names in a row do not tell."""
        return variation.untold(self.records, self.configurations)

    @cached_property
    def labels(self) -> list[str]:
        """The method's name of each record: its own, or formulation and solver; its variant where it has several."""
        names = _names(self.records)
        return [f"{name} {variant}".strip() for name, variant in zip(names, self.variants, strict=True)]

    @cached_property
    def settings(self) -> list[dict[str, Any]]:
        """For each record the settings that tell it from others of the same method on the same problem, by path."""
        groups = ("formulation", "solver", *(("budget", "limits") if self.by_budget else ()))
        return variation.settings(self.records, self.configurations, _names(self.records), self.keys, groups)

    @cached_property
    def variants(self) -> list[str]:
        """`settings` as text, `delta=0.1`; or empty."""
        short = variation.short_names(sorted({path for values in self.settings for path in values}))
        return [variation.written(values, short) for values in self.settings]

    @cached_property
    def methods(self) -> list[str]:
        return sorted(set(self.labels), key=natural)

    @cached_property
    def keys(self) -> list[str]:
        """The problem of each record. A row without a key joins the one problem for which the same was asked."""
        asked = [_asked_problem(r, config) for r, config in zip(self.records, self.configurations, strict=True)]
        twins: dict[str, set[str]] = defaultdict(set)
        for r, look in zip(self.records, asked, strict=True):
            if r.problem:
                twins[look].add(r.problem)
        return [
            r.problem or (next(iter(twins[look])) if len(twins[look]) == 1 else f"unknown {look}")
            for r, look in zip(self.records, asked, strict=True)
        ]

    @cached_property
    def tasks(self) -> list[Task]:
        """The problems, in order."""
        grouped: dict[str, dict[str, list[Record]]] = {}
        samples: dict[str, tuple[str, Record, dict[str, Any]]] = {}
        for key, r, config, label in zip(self.keys, self.records, self.configurations, self.labels, strict=True):
            grouped.setdefault(key, {}).setdefault(label, []).append(r)
            samples.setdefault(key, (_look(r), r, config))
        told = variation.titles(samples)
        found = [
            Task(
                key,
                f"{samples[key][0]} {told[key]}".strip(),
                told[key],
                self.bounds.get(key, Bounds()),
                {name: runs[name] for name in sorted(runs, key=natural)},
            )
            for key, runs in grouped.items()
        ]
        return sorted(
            found, key=lambda t: (t.sample.dataset, t.sample.C, t.sample.bias, t.sample.loss, natural(t.title))
        )

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
            for name, tasks in sorted(grouped.items(), key=lambda item: (item[0] != "soft margin", item[0]))
        ]

    @cached_property
    def contradictions(self) -> list[Record]:
        """Rows that contradict what is proven of the same problem: one of the two certificates is false.

        P below a proven D, D above the P of a reference, or no solution where a hyperplane separates the data.
        """
        return [r for r in self.records if self.contradiction(r)]

    def contradiction(self, r: Record) -> str:
        """What a row says against what is proven, in words; "" where it does not."""
        known, own = self.bounds[r.problem], own_bounds(r)
        if refuted(r, known):
            return f"{r.status}, though a point with P = {known.upper!r} is proven"
        if own.upper < known.lower:
            return known.contradiction(own)
        return self.references.get(r.problem, Bounds()).contradiction(own)


@lru_cache(maxsize=100_000)
def natural(label: str) -> tuple[tuple[int, float, str], ...]:
    """Sorts delta=1e-05 before delta=0.1: by numbers where there are numbers."""
    parts = re.split(r"((?<==)[-+.\deE]+)", label)
    return tuple((1, float(part), "") if re.fullmatch(NUMBER, part) else (0, 0.0, part) for part in parts)


def show_C(C: float) -> str:
    return "∞" if math.inf == C else f"{C:g}"


def _clean(r: Record) -> Record:
    """Without characters that a terminal would obey."""
    texts: dict[str, Any] = {name: getattr(r, name) for name in NAMES}
    if all(text.isprintable() for text in texts.values()):
        return r
    texts = {name: printable(text) for name, text in texts.items()}
    return replace(r, **texts)


def kernel_words(r: Record) -> str:
    """`, gaussian kernel (gamma 0.5)`; empty for a linear problem."""
    if not isinstance(name := r.info.get("kernel"), str):
        return ""
    given = {key: number(r.info.get(key)) for key in ("gamma", "coef0", "degree")}
    return f", {printable(name)} kernel ({', '.join(f'{k} {v:g}' for k, v in given.items() if v is not None)})"


def _look(r: Record) -> str:
    loss = "" if r.loss == "hinge" else f", {r.loss}"
    return f"{r.dataset}, C = {show_C(r.C)}, bias {r.bias}{loss}{kernel_words(r)}"


def _asked_problem(r: Record, config: dict[str, Any]) -> str:
    made = {path: variation.text(v) for path, v in config.items() if path.startswith(variation.OF_PROBLEM)}
    return f"{_look(r)} {sorted(made.items())}"


def _names(records: Sequence[Record]) -> list[str]:
    """The method's name; formulation and solver where it has none, or one that stands for several pairs."""
    pairs = defaultdict(set)
    for r in records:
        pairs[r.method].add((r.formulation, r.solver))
    return [r.method if r.method and len(pairs[r.method]) == 1 else f"{r.formulation} + {r.solver}" for r in records]


def _separates(r: Record) -> bool:
    if r.info.get("judge") == "separation":
        return True
    asked = number(variation.part(r, "budget").get("gap"))
    gap = number(r.gap)
    return r.status == "solved" and (gap is None or (asked is not None and gap > asked))
