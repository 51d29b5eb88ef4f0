"""What went wrong, in one list: rows with the same status and, but for numbers, the same message together."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from marginbench.harness.records.status import RANK, status_of
from marginbench.harness.reporting.comparison import Comparison, natural

VARYING = re.compile(r"0x[0-9a-fA-F]+|[-+]?\d+(?:[.,]\d+)*(?:[eE][-+]?\d+)?")
"""Numbers, which differ between messages that say the same."""


@dataclass(frozen=True)
class Case:
    """One row of a group: where it happened, and the key of its record."""

    method: str
    problem: str
    hash: str


@dataclass(frozen=True)
class FailureGroup:
    status: str
    message: str
    """Numbers that differ between the cases are left out of it."""
    cases: tuple[Case, ...]

    @property
    def methods(self) -> tuple[str, ...]:
        return tuple(sorted({case.method for case in self.cases}, key=natural))

    @property
    def problems(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(case.problem for case in self.cases))


def failures(comparison: Comparison) -> list[FailureGroup]:
    """The gravest status first; within one, the most frequent message. What never ran comes last."""
    grouped: dict[tuple[str, str], list[Case]] = {}
    messages: dict[tuple[str, str], list[str]] = {}
    titles = {task.key: task.title for task in comparison.tasks}
    rows = zip(comparison.records, comparison.labels, comparison.keys, strict=True)
    for r, label, key in rows:
        if not status_of(r.status).success:
            kind = r.status, same(r.message)
            messages.setdefault(kind, []).append(r.message)
            grouped.setdefault(kind, []).append(Case(label, titles[key], r.hash))
    found = [FailureGroup(kind[0], common(messages[kind]), tuple(cases)) for kind, cases in grouped.items()]
    return sorted(found, key=_grave)


def _grave(group: FailureGroup) -> tuple[bool, int, int, str]:
    return not status_of(group.status).ran, -RANK.get(group.status, -1), -len(group.cases), group.message


def same(message: str) -> str:
    """What two messages have in common when they differ in numbers alone."""
    return VARYING.sub("#", message)


def common(messages: Sequence[str]) -> str:
    """The first message, without the numbers in which others differ from it."""
    numbers = zip(*(VARYING.findall(message) for message in dict.fromkeys(messages)), strict=False)
    kept = iter([found[0] if len(set(found)) == 1 else "…" for found in numbers])
    return VARYING.sub(lambda _: next(kept, "…"), messages[0])


def counted(groups: Sequence[FailureGroup]) -> dict[str, int]:
    """Status -> rows, in the order of the groups."""
    found: dict[str, int] = {}
    for group in groups:
        found[group.status] = found.get(group.status, 0) + len(group.cases)
    return found
