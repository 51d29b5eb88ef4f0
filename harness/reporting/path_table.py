"""Paths of C: what a solve costs from nothing, and from the answer at the C before, side by side.

A *walk* is one method along one path on one problem. At every C stand the times (build and solve, of the run of median
cost) of the cold and of the warm cell, and warm over cold. The first C has no start: its cold time is in both totals,
since the path begins there. A total is over the values of C that both solved.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
from tabulate import tabulate

from marginbench.harness.records.record import Record
from marginbench.harness.reporting import variation
from marginbench.harness.reporting.comparison import (
    Comparison,
    kernel_words,
    natural,
    number,
    representative,
    seconds,
    show_C,
    succeeded,
)
from marginbench.harness.reporting.tables import markdown_line, time_text

HEADS = ["C", "cold", "warm", "warm / cold"]
TOTAL = "total"


@dataclass(frozen=True)
class Stop:
    """One C of a walk: the cold and the warm run that stand for their repetitions. None: there is none."""

    C: float
    position: int
    cold: Record | None
    warm: Record | None

    @property
    def times(self) -> tuple[float, float] | None:
        """Seconds cold and warm, where both were solved; at the first C twice the same."""
        warm = self.cold if self.position == 0 else self.warm
        if self.cold is None or warm is None or not (succeeded(self.cold) and succeeded(warm)):
            return None
        return seconds(self.cold) or 0.0, seconds(warm) or 0.0

    @property
    def row(self) -> list[str]:
        """HEADS as text."""
        return [show_C(self.C), _told(self.cold), _told(self.warm), _ratio(self.times) if self.position else ""]


@dataclass(frozen=True)
class Walk:
    """A method along a path of C on one problem."""

    problem: str
    method: str
    stops: list[Stop]

    @property
    def total(self) -> tuple[float, float] | None:
        """Seconds cold and warm over all C that both solved; None where that is only the first."""
        known = [stop.times for stop in self.stops if stop.times is not None and stop.position > 0]
        if not known:
            return None
        first = [stop.times for stop in self.stops if stop.times is not None and stop.position == 0]
        cold, warm = zip(*first, *known, strict=True)
        return sum(cold), sum(warm)

    @property
    def solved(self) -> int:
        return sum(stop.times is not None for stop in self.stops)

    @property
    def why(self) -> str:
        """The sentence of a walk without a warm run: the solver takes no start."""
        said = [stop.warm.message for stop in self.stops if stop.warm is not None and stop.warm.status == "skipped"]
        return said[0] if said and self.total is None else ""

    @property
    def totals(self) -> list[str]:
        """HEADS of the last line, as text."""
        if self.total is None:
            return [TOTAL, "", "", ""]
        of = "" if self.solved == len(self.stops) else f" of {self.solved} of {len(self.stops)} C"
        return [f"{TOTAL}{of}", time_text(self.total[0]), time_text(self.total[1]), _ratio(self.total)]


def _told(record: Record | None) -> str:
    """The time of a run that succeeded, else its status."""
    if record is None:
        return ""
    return time_text(seconds(record)) if succeeded(record) else record.status


def _ratio(times: tuple[float, float] | None) -> str:
    return "" if times is None or not times[0] > 0.0 else f"{times[1] / times[0]:.2f}"


def walks(comparison: Comparison) -> list[Walk]:
    """Every method on every path."""
    short = variation.short_names(sorted({path for values in comparison.settings for path in values}))
    told = {task.key: task.told for task in comparison.tasks}
    runs: dict[tuple[str, str, str], dict[tuple[float, str], list[Record]]] = defaultdict(lambda: defaultdict(list))
    paths: dict[tuple[str, str, str], list[float]] = {}
    rows = zip(comparison.records, comparison.keys, comparison.configurations, comparison.settings, strict=True)
    for r, problem, config, settings in rows:
        alike = {p: v for p, v in config.items() if p.startswith(variation.OF_PROBLEM) and p != "problem.C"}
        variant = variation.written({path: value for path, value in settings.items() if path != "start"}, short)
        method = f"{r.method or f'{r.formulation} + {r.solver}'} {variant}".strip()
        key = variation.text(alike), _look(r, told[problem]), method
        runs[key][r.C, r.start].append(r)
        if r.start == "warm" and r.C in r.path and len(r.path) > len(paths.get(key, [])) and all(map(number, r.path)):
            paths[key] = r.path
    found = []
    for key, path in paths.items():
        some = {at: representative(records) for at, records in runs[key].items()}
        stops = [Stop(C, k, some.get((C, "cold")), some.get((C, "warm"))) for k, C in enumerate(path)]
        found.append(Walk(*key[1:], stops))
    return sorted(found, key=lambda walk: (walk.problem, natural(walk.method)))


def _look(r: Record, told: str) -> str:
    """What all C of a path have in common, as one reads it."""
    loss = "" if r.loss == "hinge" else f", {r.loss}"
    return f"{r.dataset}: {r.n} x {r.d}, bias {r.bias}{loss}{kernel_words(r)}{', ' if told else ''}{told}"


def frame(found: Sequence[Walk]) -> pd.DataFrame:
    """A row for each C of each walk."""
    columns = ["problem", "method", "position", "C", "cold_status", "warm_status", "cold_seconds", "warm_seconds"]
    columns += ["warm_over_cold", "cold_gap", "warm_gap", "cold_iterations", "warm_iterations"]
    rows = []
    for walk in found:
        for stop in walk.stops:
            both = (stop.cold, stop.warm)
            times = stop.times if stop.position else None
            rows.append(
                [
                    *(walk.problem, walk.method, stop.position, stop.C),
                    *(r and r.status for r in both),
                    *(seconds(r) if r else None for r in both),
                    times[1] / times[0] if times and times[0] > 0.0 else None,
                    *(r and r.gap for r in both),
                    *(r and r.iterations for r in both),
                ]
            )
    return pd.DataFrame(rows, columns=columns)


def markdown(found: Sequence[Walk]) -> str:
    """A table for each walk."""
    text = ""
    for walk in found:
        lines = [HEADS, *(stop.row for stop in walk.stops), walk.totals]
        text += f"{walk.problem}, {walk.method}{f' ({walk.why})' if walk.why else ''}:\n\n"
        text += markdown_line(lines[0]) + "|---:" * len(HEADS) + "|\n"
        text += "".join(map(markdown_line, lines[1:])) + "\n"
    return text


def terminal(found: Sequence[Walk], every: bool) -> str:
    """One line for each walk; with `every`, one for each C too."""
    rows = []
    for walk in found:
        total = [walk.problem, walk.method, *walk.totals, walk.why]
        rows += [[walk.problem, walk.method, *stop.row, ""] for stop in walk.stops if every] + [total]
    for k in range(len(rows) - 1, 0, -1):  # what is said in the line above is not said again
        rows[k][:2] = ["" if new == old else new for new, old in zip(rows[k][:2], rows[k - 1][:2], strict=True)]
    heads = ["path of C", "method", *HEADS, ""]
    align = ["left", "left", "right", "right", "right", "right", "left"]
    return tabulate(rows, heads, "simple", colalign=align, disable_numparse=True)
