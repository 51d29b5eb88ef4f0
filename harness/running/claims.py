"""What a report claims, tested by a run of today: each verdict, each value, each ranking.

A claim holds, does not hold, or cannot be tested here, and then the answer says why.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from tabulate import tabulate

from marginbench.harness.printable import printable_lines
from marginbench.harness.records.accident import accident
from marginbench.harness.records.record import Record
from marginbench.harness.records.status import status_of

HOLDS, FAILS, UNTESTED = "holds", "does not hold", "cannot be tested here"
CLEAR = 2.0
"""A ranking by one or two runs of a method is clear from this ratio of times on; with more runs, when all of one method
are faster than all of the other."""

TICK = 0.01
"""Seconds: a smaller difference is noise, whatever the ratio."""

KINDS = ("verdict", "value", "ranking")


@dataclass(frozen=True)
class Claim:
    kind: str
    about: tuple[str, str]
    """The problem, and the method or the methods."""
    answer: str
    why: str = ""

    def __str__(self) -> str:
        return (
            self.answer
            if not self.why
            else f"{self.answer}{', because' if self.answer == UNTESTED else ':'} {self.why}"
        )


@dataclass(frozen=True)
class Rerun:
    """One cell, then and now; `now` is None where it could not be run, and `reason` says why."""

    then: Record
    now: Record | None
    reason: str = ""
    capped: str = ""

    @property
    def about(self) -> tuple[str, str]:
        then = self.then
        return f"{then.dataset}, C = {then.C:g}, bias {then.bias}", f"{then.formulation} / {then.solver}"


def claims(reruns: Sequence[Rerun]) -> list[Claim]:
    enclosures = _enclosures(reruns)
    found = [verdict(one) for one in reruns]
    found += [value(one, enclosures.get(one.then.problem)) for one in reruns if one.then.dual is not None]
    return found + rankings(reruns)


def _untestable(one: Rerun) -> str:
    """Why nothing can be said of a cell; empty where something can."""
    if one.now is None:
        return one.reason or "it was interrupted before it ran"
    if one.now.problem != one.then.problem:
        return "the data are not the same"
    if happened := accident(one.now):
        return happened
    if not status_of(one.now.status).ran and one.now.status != one.then.status:
        return one.now.message or f"it is {one.now.status} here"
    return ""


def verdict(one: Rerun) -> Claim:
    """The same status."""
    then, now, why = one.then, one.now, _untestable(one)
    if not why and now is not None and now.status != then.status:
        if not status_of(then.status).ran:
            why = f"it was {then.status} then"
        elif one.capped and status_of(now.status).tone == "limit":
            why = f"it is {now.status} under lower limits ({one.capped})"
        else:
            return Claim("verdict", one.about, FAILS, f"was {then.status}, is {now.status}")
    return Claim("verdict", one.about, UNTESTED if why else HOLDS, why)


def value(one: Rerun, enclosure: tuple[float, float] | None) -> Claim:
    """The optimum lies between D and P of then: they and what was proven now must have a point in common."""
    then, why = one.then, _untestable(one)
    lower, upper = enclosure or (-math.inf, math.inf)
    if not why and not (math.isfinite(lower) or math.isfinite(upper)):
        why = "no bound of the optimum was found"
    if why:
        return Claim("value", one.about, UNTESTED, why)
    rounding = (
        0.0 if then.dual_error is not None else 1e-9 * max(1.0, abs(then.dual or 0.0))
    )  # version 0.1 had no bound
    if then.dual is not None and then.dual > upper + rounding:
        return Claim("value", one.about, FAILS, f"D was {then.dual!r}, the optimum is at most {upper!r}")
    if then.primal is not None and then.primal < lower - rounding:
        return Claim("value", one.about, FAILS, f"P was {then.primal!r}, the optimum is at least {lower!r}")
    return Claim("value", one.about, HOLDS)


def _enclosures(reruns: Sequence[Rerun]) -> dict[str, tuple[float, float]]:
    """Problem -> (best D, best P) of the records of now; D may be that of a proven reference."""
    found: dict[str, tuple[float, float]] = {}
    for one in reruns:
        if one.now is not None:
            lower, upper = found.get(one.now.problem, (-math.inf, math.inf))
            dual, primal = one.now.dual, one.now.primal
            found[one.now.problem] = (
                lower if dual is None else max(lower, dual),
                upper if primal is None else min(upper, primal),
            )
    return found


# -- rankings -----------------------------------------------------------------------------------------------------


def rankings(reruns: Sequence[Rerun]) -> list[Claim]:
    """One claim for each two methods of a problem of which one was clearly faster then."""
    runs: dict[str, dict[tuple[str, str], list[Rerun]]] = defaultdict(lambda: defaultdict(list))
    for one in reruns:
        if one.then.status == "solved":
            runs[one.then.problem][one.about].append(one)
    found = []
    for methods in runs.values():
        for a, b in combinations(methods, 2):
            for fast, slow in ((a, b), (b, a)):
                if faster(_times(methods[fast], then=True), _times(methods[slow], then=True)):
                    found.append(_ranking(methods[fast], methods[slow]))
    return found


def _ranking(fast: list[Rerun], slow: list[Rerun]) -> Claim:
    about = fast[0].about[0], f"{fast[0].about[1]} before {slow[0].about[1]}"
    a, b = _times(fast, then=False), _times(slow, then=False)
    if not a or not b:
        return Claim("ranking", about, UNTESTED, "not both of them solved it")
    if faster(a, b):
        return Claim("ranking", about, HOLDS)
    if faster(b, a):
        then = min(_times(slow, then=True)) / min(_times(fast, then=True))
        return Claim("ranking", about, FAILS, f"was {then:.1f} times faster, is {min(a) / min(b):.1f} times slower")
    return Claim("ranking", about, UNTESTED, f"the difference is within the noise (ratio {min(b) / min(a):.2f})")


def _times(runs: Sequence[Rerun], then: bool) -> list[float]:
    records = [one.then if then else one.now for one in runs]
    return [
        r.solve_seconds + (r.build_seconds or 0.0)
        for r in records
        if r is not None and r.status == "solved" and r.solve_seconds is not None and r.solve_seconds > 0.0
    ]


def faster(a: Sequence[float], b: Sequence[float]) -> bool:
    """Whether times `a` are clearly below times `b`."""
    if not a or not b:
        return False
    return max(a) * (CLEAR if min(len(a), len(b)) < 3 else 1.0) < min(b) and min(b) - max(a) > TICK


# -- in words -----------------------------------------------------------------------------------------------------


def text(found: Sequence[Claim], unreadable: Mapping[str, str], changes: Counter[str]) -> str:
    """What does not hold or cannot be tested, line by line, what changed since, and the counts."""
    rows = [(*one.about, one.kind, str(one)) for one in found if one.answer != HOLDS]
    lines = [tabulate(rows, headers=("problem", "method", "claim", "answer"), tablefmt="simple"), ""] if rows else []
    lines += [f"unreadable: {name}: {reason}" for name, reason in unreadable.items()]
    lines += [f"{change} ({count} of the cells)" for change, count in changes.most_common(10)]
    for kind in KINDS:
        counts = Counter(one.answer for one in found if one.kind == kind)
        bad = len(unreadable) if kind == "verdict" else 0
        parts = [f"{counts[HOLDS]} of {sum(counts.values()) + bad} hold"]
        parts += [f"{counts[FAILS]} {'does' if counts[FAILS] == 1 else 'do'} not"] if counts[FAILS] else []
        parts += [f"{counts[UNTESTED]} cannot be tested here"] if counts[UNTESTED] else []
        parts += [f"{bad} unreadable"] if bad else []
        lines.append(f"{kind}s: {', '.join(parts)}")
    return printable_lines("\n".join(lines))


def all_hold(found: Sequence[Claim], unreadable: Mapping[str, str]) -> bool:
    """Every verdict and value holds, and no ranking has changed: noise may leave a ranking open."""
    return not unreadable and all(
        one.answer == HOLDS or (one.kind == "ranking" and one.answer == UNTESTED) for one in found
    )
