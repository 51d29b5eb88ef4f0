"""Where a conclusion holds: every problem with every method's time over the best one there, and what may explain it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from marginbench.harness.reporting.comparison import Task, number, representative
from marginbench.harness.reporting.costs import LEAST, Costs
from marginbench.harness.reporting.coverage import Question
from marginbench.harness.reporting.medians import median_ratio

FEATURES = ("n", "d", "density", "C")


@dataclass(frozen=True)
class HeatRow:
    """One problem. `ratios` in the order of the methods: time over the best; infinity: not reached; NaN: not asked."""

    title: str
    key: str
    dataset: str
    C: float
    bias: str
    n: int
    d: int
    density: float
    compared: bool
    best: str
    seconds: float
    """The best time, on the clock of the map."""
    ratios: tuple[float, ...]

    @property
    def logs(self) -> tuple[float, ...]:
        """log10 of the ratios, which a colour shows."""
        return tuple(math.log10(x) if math.isfinite(x) else x for x in self.ratios)


@dataclass(frozen=True)
class HeatMap:
    """Rows grouped by data set, then bias and C. Totals are over the rows that are compared."""

    methods: tuple[str, ...]
    rows: tuple[HeatRow, ...]
    medians: tuple[float, ...]
    """Of each method the median ratio, a failure counting as infinity."""
    reached: tuple[int, ...]


def heat_map(question: Question, costs: Costs, order: Sequence[int], compared: Sequence[int]) -> HeatMap:
    """`order`: the methods to show, by number. The best is the best of these."""
    t = costs.t[:, list(order)]
    best = np.fmin.reduce(t, axis=1, initial=math.inf)
    with np.errstate(invalid="ignore"):
        ratios = np.where(np.isfinite(t), np.maximum(t, LEAST) / np.maximum(best, LEAST)[:, None], t)
    names = [question.methods[s] for s in order]
    among = set(compared)
    rows = []
    for p in sorted(range(len(question.tasks)), key=lambda p: _place(question.tasks[p])):
        leader = names[int(np.nanargmin(ratios[p]))] if np.isfinite(best[p]) else ""
        rows.append(_row(question.tasks[p], p in among, leader, float(best[p]), ratios[p]))
    block = ratios[list(compared)]
    return HeatMap(
        tuple(names),
        tuple(rows),
        tuple(float(x) for x in (median_ratio(block.T) if len(block) else np.full(len(names), math.nan))),
        tuple(int(x) for x in np.isfinite(block).sum(axis=0)),
    )


def _place(task: Task) -> tuple[str, str, float, str]:
    r = task.sample
    return r.dataset, r.bias, r.C, task.title


def _row(task: Task, compared: bool, leader: str, best: float, ratios: np.ndarray) -> HeatRow:
    r = task.sample
    density = r.nnz / (r.n * r.d) if r.n > 0 and r.d > 0 else math.nan
    names = (task.title, task.key, r.dataset, r.C, r.bias, r.n, r.d, density)
    return HeatRow(*names, compared, leader, best, tuple(float(x) for x in ratios))


@dataclass(frozen=True)
class Effect:
    """The ratio of one method to the best against one property of the problems, over the rows that are compared."""

    method: str
    feature: str
    points: tuple[tuple[float, float], ...]
    rank_correlation: float | None
    """Spearman's: near 1, the method falls behind as the property grows. None below four points or without spread."""


def effects(heat: HeatMap) -> list[Effect]:
    found = []
    rows = [row for row in heat.rows if row.compared]
    for s, method in enumerate(heat.methods):
        for feature in FEATURES:
            points = [(float(getattr(row, feature)), row.ratios[s]) for row in rows]
            points = [point for point in points if all(map(math.isfinite, point))]
            if len({x for x, _ in points}) > 1:
                found.append(Effect(method, feature, tuple(points), spearman(points)))
    return found


def spearman(points: Sequence[tuple[float, float]]) -> float | None:
    if len(points) < 4:
        return None
    x, y = (rankdata(column) for column in zip(*points, strict=True))
    x, y = x - x.mean(), y - y.mean()
    spread = float(x @ x) * float(y @ y)
    return float(x @ y) / math.sqrt(spread) if spread > 0.0 else None


@dataclass(frozen=True)
class Point:
    """One cell: what it took and what it gave. None where it was not measured."""

    method: str
    title: str
    cost: float
    """On the clock of the section; infinity where the accuracy was not reached."""
    peak_mb: float | None
    gap: float | None
    train_accuracy: float | None


def points(question: Question, costs: Costs, compared: Sequence[int], order: Sequence[int]) -> list[Point]:
    """Memory against time and accuracy against time, of the median run of every compared cell."""
    found = []
    for p in compared:
        for s in order:
            chosen = representative(question.runs[p][s])
            values = (number(chosen.peak_mb), number(chosen.gap), number(chosen.train_accuracy))
            found.append(Point(question.methods[s], question.tasks[p].title, float(costs.t[p, s]), *values))
    return found
