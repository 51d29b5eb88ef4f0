"""Two runs of the same cells, before and after: what changed in verdict, value and time.

Cells are the same when the same was asked: the problem, then formulation, solver, their settings, seed and accuracy.
Which code answered is what the comparison is about. A cell whose settings changed is still found by its method's name
where that is unambiguous, and where each side has one method alone these are taken for two versions of it.

Every matched cell is a problem that two methods, A and B, were asked; so medians, intervals and verdicts are those of
any other comparison of methods.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from marginbench.harness.records.machine import machine_name
from marginbench.harness.records.record import Record
from marginbench.harness.records.status import status_of, worst
from marginbench.harness.reporting.comparison import Comparison, Task, natural, number, own_bounds, representative
from marginbench.harness.reporting.costs import Costs, Ledger
from marginbench.harness.reporting.coverage import Question
from marginbench.harness.reporting.ratios import Contest, Pair, pairs
from marginbench.harness.reporting.resampling import Interval
from marginbench.harness.reporting.variation import configuration, text

A, B = "A", "B"


@dataclass(frozen=True)
class Cell:
    """One cell of one side, with all its repeats."""

    key: str
    problem: str
    method: str
    runs: tuple[Record, ...]

    @property
    def status(self) -> str:
        """The worst of its runs."""
        return worst(r.status for r in self.runs)


@dataclass(frozen=True)
class Change:
    """The same cell in A and in B."""

    problem: str
    method: str
    a: Cell
    b: Cell
    ratio: float | None
    """Time of B over time of A, of the medians; None where not both succeeded."""
    interval: Interval | None
    """Of the ratio, from repeats; None without them."""
    floor: float | None
    """The lower end at a level that holds for all cells together."""
    contradiction: str
    """Why the optimum cannot be what both certificates say; empty where it can."""

    @property
    def status(self) -> tuple[str, str]:
        return self.a.status, self.b.status

    @property
    def worse(self) -> bool:
        """A success in A and none in B."""
        return status_of(self.status[0]).success and not status_of(self.status[1]).success

    @property
    def broke(self) -> bool:
        """Bad in B (wrong, invalid, failed, crashed), and not so in A."""
        return status_of(self.status[1]).bad and not status_of(self.status[0]).bad

    @property
    def beyond_noise(self) -> bool:
        return self.interval is not None and not self.interval.has_one


@dataclass(frozen=True)
class MethodChange:
    """One method over all its matched cells: time of B over time of A."""

    method: str
    pair: Pair


@dataclass(frozen=True)
class Changes:
    clock: str
    cells: tuple[Change, ...]
    methods: tuple[MethodChange, ...]
    only_a: tuple[Cell, ...]
    only_b: tuple[Cell, ...]


def changes(
    a: Sequence[Record],
    b: Sequence[Record],
    method_a: str = "",
    method_b: str = "",
    accuracy: float | None = None,
    clock: str = "",
) -> Changes:
    """method_a, method_b: of each side only this method. accuracy: None compares the times of what was asked. clock:
    wall, or passes where A and B ran on different machines, unless it is given."""
    sides = [_cells(records, chosen) for records, chosen in ((a, method_a), (b, method_b))]
    matched, only_a, only_b = _matched(*sides)
    clock = clock or ("wall" if _machines(a) == _machines(b) else "passes")
    if not matched:
        return Changes(clock, (), (), tuple(only_a), tuple(only_b))
    question = _question(matched, Comparison.of([*a, *b], by_budget=False))
    costs = Ledger.of(question).costs(accuracy, clock)
    found = _changes(matched, costs)
    return Changes(clock, found, _methods(matched, question, costs), tuple(only_a), tuple(only_b))


def _machines(records: Sequence[Record]) -> set[str]:
    return {machine_name(r) for r in records if r.solve_seconds is not None}


# -- which cells are the same --------------------------------------------------------------------------------------


def _cells(records: Sequence[Record], method: str) -> list[Cell]:
    comparison = Comparison.of(records, by_budget=False)
    titles = {task.key: task.title for task in comparison.tasks}
    grouped: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for r, key, label in zip(comparison.records, comparison.keys, comparison.labels, strict=True):
        if not method or method in (label, r.method):
            grouped[key, label].append(r)
    return [Cell(key, titles[key], label, tuple(runs)) for (key, label), runs in grouped.items()]


def _settings(cell: Cell) -> str:
    r = cell.runs[0]
    asked = {path: text(v) for path, v in configuration(r).items() if path.startswith(("formulation.", "solver."))}
    return f"{sorted(asked.items())} {r.seed} {configuration(r).get('budget.gap')}"


def _name(cell: Cell) -> str:
    r = cell.runs[0]
    return f"{r.method} {r.formulation} {r.solver}"


def _matched(a: Sequence[Cell], b: Sequence[Cell]) -> tuple[list[tuple[Cell, Cell]], list[Cell], list[Cell]]:
    """By all that was asked; then by label, by name, and by problem alone, where only one cell is left on each side."""
    found: list[tuple[Cell, Cell]] = []
    left_a, left_b = list(a), list(b)
    levels: list[Callable[[Cell], Hashable]] = [
        lambda cell: (cell.key, _name(cell), _settings(cell)),
        lambda cell: (cell.key, cell.method),
        lambda cell: (cell.key, _name(cell)),
    ]
    if len({_name(cell) for cell in a}) == len({_name(cell) for cell in b}) == 1:
        levels.append(lambda cell: cell.key)
    for level in levels:
        both = _alone(left_a, level), _alone(left_b, level)
        pairs_here = [(cell, both[1][key]) for key, cell in both[0].items() if key in both[1]]
        taken = {id(cell) for pair in pairs_here for cell in pair}
        left_a, left_b = ([cell for cell in side if id(cell) not in taken] for side in (left_a, left_b))
        found += pairs_here
    return sorted(found, key=lambda pair: (natural(pair[0].method), pair[0].problem)), left_a, left_b


def _alone(cells: Sequence[Cell], level: Callable[[Cell], Hashable]) -> dict[Hashable, Cell]:
    """The cells that no other one of their side equals."""
    grouped: dict[Hashable, list[Cell]] = defaultdict(list)
    for cell in cells:
        grouped[level(cell)].append(cell)
    return {key: group[0] for key, group in grouped.items() if len(group) == 1}


# -- what changed --------------------------------------------------------------------------------------------------


def _question(matched: Sequence[tuple[Cell, Cell]], comparison: Comparison) -> Question:
    bounds = comparison.bounds
    tasks = []
    for a, b in matched:
        known = bounds[a.runs[0].problem]
        tasks.append(Task(a.key, a.problem, a.method, known, {A: list(a.runs), B: list(b.runs)}))
    return Question("changes", tuple(tasks), (A, B), ())


def _changes(matched: Sequence[tuple[Cell, Cell]], costs: Costs) -> tuple[Change, ...]:
    found = []
    for k, (a, b) in enumerate(matched):
        ratio = low = interval = None
        before, after = costs.t[k]
        if math.isfinite(before) and math.isfinite(after) and before > 0.0:
            ratio = float(after / before)
            draws = costs.draws(k, np.arange(2))
            logs = draws[1] - draws[0]
            if not np.isnan(logs).any():
                ends = np.exp(np.percentile(logs, [2.5, 97.5, 2.5 / len(matched)]))
                interval, low = Interval(float(ends[0]), float(ends[1])), float(ends[2])
        found.append(Change(a.problem, _both_names(a, b), a, b, ratio, interval, low, _contradiction(a, b)))
    return tuple(found)


def _both_names(a: Cell, b: Cell) -> str:
    return a.method if a.method == b.method else f"{a.method} -> {b.method}"


def _contradiction(a: Cell, b: Cell) -> str:
    before, after = (own_bounds(representative(cell.runs)) for cell in (a, b))
    return before.contradiction(after)


def _methods(matched: Sequence[tuple[Cell, Cell]], question: Question, costs: Costs) -> tuple[MethodChange, ...]:
    names = [_both_names(a, b) for a, b in matched]
    found = []
    for name in sorted(set(names), key=natural):
        rows = [k for k, other in enumerate(names) if other == name]
        contest = Contest.of((A, B), costs, question.datasets, problems=rows)
        found.append(MethodChange(name, pairs(contest, base=A)[0]))
    return tuple(found)


def value(cell: Cell) -> dict[str, Any]:
    """What the median run of a cell says, for a table."""
    r = representative(cell.runs)
    return {"status": cell.status, "primal": number(r.primal), "gap": number(r.gap), "runs": len(cell.runs)}
