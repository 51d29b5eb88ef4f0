"""Who was asked what: the problems on which methods can be compared, and what is left out with the reason.

A method that nobody asked to solve a problem has not failed on it. So a comparison is over the problems that all of its
methods were asked, to the accuracy in question; the other problems are listed, each with who was not asked and why.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from marginbench.harness.records.record import Record
from marginbench.harness.records.status import status_of
from marginbench.harness.reporting.accuracy import accuracy_text, asked_gap, was_asked, wraps_a_library
from marginbench.harness.reporting.comparison import Comparison, Task, natural

COMMON = 1.0 / 3.0
"""The problems that all compared methods share are at least this part of a question. To get there, the method that was
asked least is left out, which is said."""


@dataclass(frozen=True)
class LeftOut:
    """A problem or a method that is not in a comparison."""

    name: str
    why: str


@dataclass(frozen=True)
class Question:
    """Problems of one kind that have a solution, and the methods that ran on any of them.

    A hard and a soft margin are different questions. Biases are so where different methods take them.
    """

    name: str
    tasks: tuple[Task, ...]
    methods: tuple[str, ...]
    absent: tuple[LeftOut, ...]
    """Methods with rows of which none ran."""

    @cached_property
    def runs(self) -> list[list[list[Record]]]:
        """[p][s]: the runs that were made."""
        return [[ran(task.runs.get(method, [])) for method in self.methods] for task in self.tasks]

    @cached_property
    def peers(self) -> frozenset[str]:
        """Methods that wrap a library."""
        return frozenset(
            method
            for s, method in enumerate(self.methods)
            if any(wraps_a_library(r) for row in self.runs for r in row[s])
        )

    @cached_property
    def datasets(self) -> np.ndarray:
        """For each problem the number of its data set. The same data with another C or bias are one data set."""
        names = [_data(task) for task in self.tasks]
        numbers = {name: k for k, name in enumerate(dict.fromkeys(names))}
        return np.array([numbers[name] for name in names], dtype=int)

    def why_not(self, p: int, s: int, accuracy: float | None) -> str:
        """Why method s says nothing of problem p to this accuracy; empty where it does."""
        rows, made = self.tasks[p].runs.get(self.methods[s], []), self.runs[p][s]
        if not rows:
            return "not asked"
        if not made:
            return _said(rows)
        if not any(was_asked(r, accuracy) for r in made):
            return f"asked for {accuracy_text(min(map(asked_gap, made)))} only"
        return ""


def ran(runs: Sequence[Record]) -> list[Record]:
    return [r for r in runs if status_of(r.status).ran]


def _said(rows: Sequence[Record]) -> str:
    status, message = rows[0].status.replace("_", " "), rows[0].message
    return f"{status}: {message}" if message else status


def _data(task: Task) -> str:
    """The digest of the data, with which the key of a problem begins; the key has it in front of C, bias and loss."""
    r = task.sample
    ending = f"-C{float(r.C)!r}-{r.bias}-{r.loss}"
    place = task.key.find(ending)
    return task.key[:place] if place > 0 else f"{r.dataset} {r.n} {r.d} {r.nnz}"


def questions(comparison: Comparison) -> list[Question]:
    """The soft margin first; within it, biases apart only where the methods that ran are not the same."""
    found = []
    for family in comparison.families:
        tasks = [task for task in family.tasks if not task.impossible]
        by_bias: dict[str, list[Task]] = defaultdict(list)
        for task in tasks:
            by_bias[task.sample.bias].append(task)
        takers: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for bias, group in by_bias.items():
            takers[_takers(group, family.methods)].append(bias)
        for methods, biases in sorted(takers.items(), key=lambda item: item[1]):
            if methods:
                chosen = [task for task in tasks if task.sample.bias in biases]
                name = family.name if len(takers) == 1 else f"{family.name}, bias {' or '.join(sorted(biases))}"
                found.append(Question(name, tuple(chosen), methods, _absent(chosen, family.methods, methods)))
    return found


def _takers(tasks: Sequence[Task], methods: Sequence[str]) -> tuple[str, ...]:
    return tuple(m for m in methods if any(ran(task.runs.get(m, [])) for task in tasks))


def _absent(tasks: Sequence[Task], methods: Sequence[str], taking: Sequence[str]) -> tuple[LeftOut, ...]:
    found = []
    for method in methods:
        rows = [r for task in tasks for r in task.runs.get(method, [])]
        if rows and method not in taking:
            reasons = Counter(_said([r]) for r in rows)
            found.append(LeftOut(method, reasons.most_common(1)[0][0]))
    return tuple(sorted(found, key=lambda one: natural(one.name)))


@dataclass(frozen=True)
class Coverage:
    """A complete block of a question: every method was asked every problem."""

    problems: tuple[int, ...]
    """Numbers of the tasks."""
    methods: tuple[int, ...]
    other_problems: tuple[LeftOut, ...]
    other_methods: tuple[LeftOut, ...]


def coverage(question: Question, asked: np.ndarray, accuracy: float | None) -> Coverage:
    """asked[p, s]: whether method s has a run that was asked for this accuracy."""
    methods = [s for s in range(len(question.methods)) if asked[:, s].any()]
    enough = COMMON * asked[:, methods].any(axis=1).sum() if methods else 0.0
    while len(methods) > 2 and asked[:, methods].all(axis=1).sum() < enough:
        kept = [asked[:, [m for m in methods if m != s]].all(axis=1).sum() for s in methods]
        covered = [asked[:, s].sum() for s in methods]
        worst = min(range(len(methods)), key=lambda k: (-kept[k], covered[k], k))
        methods.pop(worst)
    common = asked[:, methods].all(axis=1) if methods else np.zeros(len(asked), dtype=bool)
    blamed = methods or range(len(question.methods))
    others = [
        LeftOut(question.tasks[p].title, _who(question, p, blamed, accuracy)) for p in np.flatnonzero(~common).tolist()
    ]
    dropped = [s for s in range(len(question.methods)) if s not in methods]
    total = len(question.tasks)
    return Coverage(
        tuple(int(p) for p in np.flatnonzero(common)),
        tuple(methods),
        tuple(others),
        tuple(LeftOut(question.methods[s], f"asked on {asked[:, s].sum()} of {total} problems") for s in dropped),
    )


def _who(question: Question, p: int, methods: Sequence[int], accuracy: float | None) -> str:
    """`libsvm: not asked; liblinear: skipped: ...`; methods with the same reason together."""
    reasons: dict[str, list[str]] = defaultdict(list)
    for s in methods:
        if why := question.why_not(p, s, accuracy):
            reasons[why].append(question.methods[s])
    return "; ".join(f"{', '.join(names)}: {why}" for why, names in reasons.items()) or "its clock was not read"
