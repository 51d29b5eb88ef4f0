"""Under which conditions times were measured, in one line; and what to beware of, only where there is something."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from marginbench.harness.records.machine import machine_name, machines
from marginbench.harness.records.record import Record
from marginbench.harness.reporting.accuracy import accuracy_text, asked_gap, given_seconds
from marginbench.harness.reporting.comparison import number
from marginbench.harness.reporting.coverage import Coverage, Question

CONTENTION = 1.2
"""Wall over CPU time from which on something else used the cores."""


@dataclass(frozen=True)
class Conditions:
    gaps: tuple[float, ...]
    """Accuracies that were asked for, ascending; and likewise seconds of the budget, and runs of a cell."""
    budgets: tuple[float, ...]
    repeats: tuple[int, ...]
    days: tuple[str, ...]
    machines: tuple[str, ...]
    contention: float | None
    """Wall over CPU time of all solves together; None where they were not measured."""


def conditions(question: Question, dates: Sequence[str]) -> Conditions:
    cells = [cell for row in question.runs for cell in row if cell]
    records = [r for cell in cells for r in cell]
    return Conditions(
        tuple(sorted({gap for r in records if (gap := asked_gap(r)) > 0.0})),
        tuple(sorted({s for r in records if math.isfinite(s := given_seconds(r)[0])})),
        tuple(sorted({len(cell) for cell in cells})),
        tuple(sorted({date[:10] for date in dates if date})),
        tuple(sorted({machine_name(r) for r in records} - {"not named"})),
        contention(records),
    )


def contention(records: Sequence[Record]) -> float | None:
    both = [(number(r.solve_seconds), number(r.cpu_seconds)) for r in records]
    wall = sum(w for w, c in both if w is not None and c is not None)
    cpu = sum(c for w, c in both if w is not None and c is not None)
    return wall / cpu if cpu > 0.0 else None


def setting(accuracy: float | None, found: Conditions) -> str:
    """Accuracy, budget, date, machine, repeats and contention."""
    asked, to = _range(found.gaps, accuracy_text), accuracy_text(accuracy)
    what = to if accuracy is None else f"{to} (certified relative gap)"
    parts = [f"accuracy {what}" + (f", asked {asked}" if asked and asked != to else "")]
    parts += [f"budget {_range(found.budgets, lambda x: f'{x:g} s')}"] if found.budgets else []
    parts += [_range(found.days, str)] if found.days else []
    if found.machines:
        parts.append(found.machines[0] if len(found.machines) == 1 else f"{len(found.machines)} machines")
    parts += ["one run per cell" if found.repeats == (1,) else f"{_range(found.repeats, str)} runs per cell"]
    parts += [f"wall over CPU {found.contention:.2f}"] if found.contention is not None else []
    return ", ".join(parts)


def _range(values: Sequence[Any], text: Callable[[Any], str]) -> str:
    return "" if not values else text(values[0]) if len(values) == 1 else f"{text(values[0])} to {text(values[-1])}"


# -- what to beware of ---------------------------------------------------------------------------------------------


def warnings(records: Sequence[Record], contradictions: Sequence[Record]) -> tuple[str, ...]:
    """One sentence each, none where all is well."""
    found, ours = [], {id(r) for r in records}
    if against := [r for r in contradictions if id(r) in ours]:
        found.append(contradicting(against))
    if wrong := [r for r in records if r.status == "wrong"]:
        found.append(f"Wrong: {count(len(wrong), 'run')} claimed an optimum that is none: {_who(wrong)}.")
    gaps = Counter(accuracy_text(asked_gap(r)) for r in records if asked_gap(r) > 0.0)
    if len(gaps) > 1:
        found.append(f"Mixed accuracies were asked for: {_listed(gaps)}.")
    budgets = Counter(f"{s:g} s" for r in records if math.isfinite(s := given_seconds(r)[0]))
    if len(budgets) > 1:
        found.append(f"Mixed budgets: {_listed(budgets)}; a failure is charged the time of its own cell.")
    ratio = contention(records)
    if ratio is not None and ratio > CONTENTION:
        found.append(f"Contention: wall time was {ratio:.2f} times CPU time; something else used the cores.")
    if several := machines(records):
        found.append(f"{several[0].upper()}{several[1:]}.")
    return tuple(found)


def contradicting(rows: Sequence[Record]) -> str:
    return f"Contradiction: {count(len(rows), 'row')} against what is proven of the same problem: {_who(rows)}."


def coverage_warnings(question: Question, coverage: Coverage) -> tuple[str, ...]:
    """What not all methods were asked, where anything is compared at all."""
    found = []
    if coverage.problems and coverage.other_problems:
        kept, all_of = len(coverage.problems), len(question.tasks)
        found.append(f"Unequal coverage: {kept} of {all_of} problems were asked of all compared methods.")
    if coverage.problems and coverage.other_methods:
        names = ", ".join(f"{one.name} ({one.why})" for one in coverage.other_methods)
        found.append(f"Not ranked: {names}.")
    return tuple(found)


def count(k: int, noun: str) -> str:
    return f"{k} {noun}" if k == 1 else f"{k} {noun}s"


def _who(records: Sequence[Record]) -> str:
    return _listed(Counter(r.method or f"{r.formulation} + {r.solver}" for r in records))


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{name} ({k})" for name, k in counts.most_common())
