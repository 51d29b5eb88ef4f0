"""Time to accuracy: how long each method takes to come within 1e-2, 1e-3, 1e-6, 1e-9 of the optimum, and who is first.

From the stored curves: seconds (build + solve) of the earliest iterate, or of the fastest rung of a ladder, whose
relative error is small enough. Own solvers are held to their certified gap. A *peer*, a solver that wraps a library,
may also be right without a proof of its own: its error is the smaller of certified gap and suboptimality against the
best lower bound known.

    t[a, p, s]   median over repeats; infinity: never reached in the time given; NaN: never ran on p (a misfit, a
                 missing library), so that p says nothing about s

Where a method was given more time on some problems in another run (`marginbench report RUN LONGER`), that run alone
says when it came to the accuracies that it was asked for.

Runs that failed, crashed or were wrong reach nothing, whatever their curve says.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from marginbench.harness.model.bounds import Bounds
from marginbench.harness.old_names import current_name
from marginbench.harness.printable import printable
from marginbench.harness.records.record import Record
from marginbench.harness.records.status import status_of
from marginbench.harness.reporting.comparison import Comparison, Family, Task, median, number
from marginbench.harness.reporting.statistics import Draws, Ratio, compared, log_ratio, resampled, spread_of
from marginbench.harness.reporting.tables import PROBLEM, markdown_line, short
from marginbench.harness.reporting.variation import part

ACCURACIES = (1e-2, 1e-3, 1e-6, 1e-9)
BEST = "best peer"
"""A method that nobody has: on each problem the fastest of all peers."""


def wraps_a_library(r: Record) -> bool:
    """As the record says; those of version 0.1 name more in `versions` than the source of the solver's module."""
    if "peer" in r.info:
        return bool(r.info["peer"])
    module = current_name(str(part(r, "solver").get("_target_", ""))).rpartition(".")[0]
    return bool({current_name(name) for name in r.versions} - {module})


def reached(r: Record, accuracy: float, known: Bounds) -> float:
    """Seconds until the error was at most `accuracy`; infinity where it never was."""
    if not status_of(r.status).curve_counts:
        return math.inf
    build, lenient = number(r.build_seconds) or 0.0, wraps_a_library(r)
    costs = []
    for entry in r.curve:
        seconds, errors = number(entry.get("seconds")), [number(entry.get("gap"))]
        if lenient:
            errors.append(known.suboptimality(entry.get("primal")))
        # An error below zero is a contradiction, not an achievement.
        if seconds is not None and any(e is not None and 0.0 <= e <= accuracy for e in errors):
            costs.append(seconds + build)
    return min(costs, default=math.inf)


@dataclass(frozen=True)
class Pair:
    """Method a against b to one accuracy: `ratio` is time of a over time of b, over the problems that both ran on."""

    ratio: Ratio
    least: float | None
    """The smallest ratio on any problem: where b does worst."""
    where: str
    first: int
    """Problems on which b arrives no later than a."""
    close: int
    """Further ones on which b is later by less than the noise floor."""
    contested: int
    """Problems that a or b reached, of those that both ran on."""


@dataclass(frozen=True)
class Frontier:
    """All methods of a family, with the best peer as one more where there is a peer."""

    name: str
    tasks: list[Task]
    methods: list[str]
    peers: set[str]
    base: str
    """The method that others are compared with unless the reader chooses."""
    seconds: np.ndarray
    passes: np.ndarray
    """Both [a, p, s]."""
    floors: list[float | None]
    """For each accuracy the ratio that 19 of 20 pairs of repeats of one cell stay below; None without repeats."""
    pairs: list[list[Pair]]

    def reached(self, a: int, method: str) -> tuple[int, int]:
        """(problems reached, problems run on)"""
        t = self.seconds[a, :, self.methods.index(method)]
        return int(np.isfinite(t).sum()), int((~np.isnan(t)).sum())


def frontiers(comparison: Comparison) -> list[Frontier]:
    """One per family in which anything was reached. Rows of one method with different budgets are one method here."""
    found = [f for family in replace(comparison, by_budget=False).families if (f := _frontier(family)) is not None]
    return [f for f in found if np.isfinite(f.seconds).any()]


def _frontier(family: Family) -> Frontier | None:
    ran = {m: [_ran(task.runs.get(m, [])) for task in family.tasks] for m in family.methods}
    family = replace(family, methods=[m for m, cells in ran.items() if any(cells)])
    if not family.methods:
        return None
    peers = {m for m in family.methods if any(wraps_a_library(r) for cell in ran[m] for r in cell)}
    runs = [list(row) for row in zip(*(ran[m] for m in family.methods), strict=True)]
    methods = family.methods + ([BEST] if peers else [])
    seconds, passes, floors, pairs = [], [], [], []
    for accuracy in ACCURACIES:
        costs = [
            [[reached(r, accuracy, task.bounds) for r in _telling(cell, accuracy)] for cell in row]
            for task, row in zip(family.tasks, runs, strict=True)
        ]
        t = _with_best(np.array([[median(c) if c else math.nan for c in row] for row in costs]), family.methods, peers)
        floors.append(_floor(costs))
        ratios = compared(methods, t, _draws(family, costs, peers))
        pairs.append([_pair(r, methods, t, family.tasks, floors[-1]) for r in ratios])
        seconds.append(t)
        passes.append(_passes(runs, t))
    base = _base(family, peers, seconds[2])
    return Frontier(family.name, family.tasks, methods, peers, base, np.array(seconds), np.array(passes), floors, pairs)


def _ran(runs: Sequence[Record]) -> list[Record]:
    return [r for r in runs if status_of(r.status).ran]


def _telling(runs: Sequence[Record], accuracy: float) -> list[Record]:
    """Those that were asked for this accuracy, if any were; of these, those that were given the most time."""
    asked = [r for r in runs if _asked(r, "budget", "gap", 0.0) <= accuracy] or runs
    given = [[_asked(r, group, "seconds", math.inf) for group in ("budget", "limits")] for r in asked]
    return [r for r, time in zip(asked, given, strict=True) if time == max(given)]


def _asked(r: Record, group: str, name: str, default: float) -> float:
    value = number(part(r, group).get(name))
    return default if value is None else value


def _with_best(t: np.ndarray, methods: Sequence[str], peers: set[str]) -> np.ndarray:
    if not peers:
        return t
    columns = [s for s, m in enumerate(methods) if m in peers]
    return np.column_stack([t, np.fmin.reduce(t[:, columns], axis=1)])  # fmin passes over NaN


def _draws(family: Family, costs: list[list[list[float]]], peers: set[str]) -> Draws:
    """Of each method; of the best peer the smallest draw, where every peer that arrived has draws.

    Expensive cells are not repeated (`repeat_below`): theirs are drawn from the noise of those that are.
    """
    draws: Draws = []
    spread = spread_of([c for row in costs for c in row])
    for task, row in zip(family.tasks, costs, strict=True):
        found = [resampled(c, f"{task.key}|{m}", spread) for m, c in zip(family.methods, row, strict=True)]
        if peers:
            named = zip(family.methods, row, found, strict=True)
            arrived = [draw for m, c, draw in named if m in peers and math.isfinite(median(c))]
            known = [draw for draw in arrived if draw is not None]
            found.append(np.minimum.reduce(known) if known and len(known) == len(arrived) else None)
        draws.append(found)
    return draws


def _passes(runs: list[list[list[Record]]], t: np.ndarray) -> np.ndarray:
    """t over the median time of a pass of all runs on the problem: one unit for all of its methods."""
    units = [[u for cell in row for r in cell if (u := number(r.pass_seconds)) is not None and u > 0.0] for row in runs]
    return t / np.array([median(u) if u else math.nan for u in units])[:, None]


def _floor(costs: list[list[list[float]]]) -> float | None:
    """An A/A test in every cell that ran more than once: how far its first two runs lie apart."""
    twice = [c[:2] for row in costs for c in row if len(c) > 1 and all(map(math.isfinite, c[:2]))]
    return math.exp(np.percentile([abs(log_ratio(*c)) for c in twice], 95)) if twice else None


def _pair(r: Ratio, methods: list[str], t: np.ndarray, tasks: list[Task], floor: float | None) -> Pair:
    a, b = t[:, methods.index(r.a)], t[:, methods.index(r.b)]
    contested = (np.isfinite(a) | np.isfinite(b)) & ~np.isnan(a) & ~np.isnan(b)
    first = contested & (b <= a)
    close = contested & ~first & (b <= (floor or 1.0) * a)
    both = np.flatnonzero(np.isfinite(a) & np.isfinite(b))
    worst = min(both, key=lambda p: a[p] / b[p], default=None)
    least = None if worst is None else math.exp(log_ratio(a[worst], b[worst]))
    counts = (int(rows.sum()) for rows in (first, close, contested))
    return Pair(r, least, "" if worst is None else tasks[worst].title, *counts)


def _base(family: Family, peers: set[str], t: np.ndarray) -> str:
    """The one whose solver is the base line; else the own method that most often reaches the third accuracy.

    Of several, the fastest.
    """

    def rank(label: str) -> tuple[bool, bool, int, float]:
        column = t[:, family.methods.index(label)]
        arrived = column[np.isfinite(column)]
        chosen = any(r.info.get("baseline") for task in family.tasks for r in task.runs.get(label, []))
        return not chosen, label in peers, -arrived.size, float(np.log(np.maximum(arrived, 1e-9)).sum())

    return min(family.methods, key=rank)


# -- as text -------------------------------------------------------------------------------------------------------


def frame(found: Sequence[Frontier]) -> pd.DataFrame:
    """One row per problem, method and accuracy; infinite seconds where it was not reached."""
    rows = []
    for f in found:
        for (a, p, s), seconds in np.ndenumerate(f.seconds):
            if not math.isnan(seconds):
                about = {name: getattr(f.tasks[p].sample, name) for name in PROBLEM}
                about |= {"problem": printable(f.tasks[p].key), "title": f.tasks[p].title}
                method = f.methods[s]
                kind = "peer" if method in f.peers or method == BEST else "own"
                rows.append(
                    about
                    | {"method": method, "kind": kind, "accuracy": ACCURACIES[a]}
                    | {"seconds": seconds, "passes": f.passes[a, p, s]}
                )
    columns = [*PROBLEM, "method", "kind", "accuracy", "seconds", "passes", "problem", "title"]
    return pd.DataFrame(rows, columns=columns)


def markdown(found: Sequence[Frontier]) -> str:
    """For each family a pipe table: to each accuracy, time of every method over time of the base."""
    parts = []
    for f in found:
        head = [
            "accuracy",
            "method",
            "reached",
            f"time / {f.base}",
            "95 % interval",
            "least",
            f"{f.base} first",
            "noise",
        ]
        rows = [head, ["---", "---", "---:", "---:", "---", "---", "---", "---:"]]
        for a, accuracy in enumerate(ACCURACIES):
            noise = "" if (floor := f.floors[a]) is None else f"{floor:.3g}"
            rows.append([short(accuracy), f.base, "{} / {}".format(*f.reached(a, f.base)), "1", "", "", "", noise])
            shown = [pair for pair in f.pairs[a] if pair.ratio.b == f.base]
            rows += [["", *_line(f, a, pair), ""] for pair in shown]
        parts.append(f"{f.name.capitalize()}\n\n" + "".join(map(markdown_line, rows)))
    return "\n".join(parts)


def _line(f: Frontier, a: int, pair: Pair) -> list[str]:
    r = pair.ratio
    interval = "" if r.low is None or r.high is None else f"{r.low:.3g} to {r.high:.3g}"
    least = "" if pair.least is None else f"{pair.least:.3g} ({pair.where})"
    ratio = "" if r.ratio is None else f"{r.ratio:.3g}"
    first = f"{pair.first} / {pair.contested}" + (f", {pair.close} within noise" if pair.close else "")
    return [r.a, "{} / {}".format(*f.reached(a, r.a)), ratio, interval, least, first]


def plain(f: Frontier) -> dict[str, Any]:
    """What the script of the page shows: times with -1 for never and None for not run; a line per accuracy and pair."""
    times = np.where(np.isposinf([f.seconds, f.passes]), -1.0, [f.seconds, f.passes])
    seconds, passes = (_digits(block) for block in times.tolist())
    pairs = [
        {
            **{name: _digits(getattr(pair.ratio, name)) for name in ("ratio", "low", "high")},
            **{name: getattr(pair.ratio, name) for name in ("a", "b", "both", "only_a", "only_b")},
            "accuracy": a,
            "least": _digits(pair.least),
            "where": pair.where,
            "first": pair.first,
            "close": pair.close,
            "contested": pair.contested,
        }
        for a, block in enumerate(f.pairs)
        for pair in block
    ]
    titles = [task.title for task in f.tasks]
    measured = {"seconds": seconds, "passes": passes, "floors": _digits(f.floors)}
    return {"methods": f.methods, "problems": titles, "pairs": pairs, **measured}


def _digits(value: Any) -> Any:
    """Lists of numbers with four digits each, None for NaN."""
    if isinstance(value, list):
        return [_digits(entry) for entry in value]
    return None if value is None or math.isnan(value) else float(f"{value:.4g}")
