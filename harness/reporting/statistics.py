"""Comparing times in which some runs have none: a failure is infinity in a profile, the limit in a mean, never a win.

t[p, s] is the median over the runs of method s on problem p of build + solve seconds, a failed run counting as
infinity, so that a method that fails in half of its runs has no time. A method without a row on p is a failure on p:
the denominator is the number of problems of the family, the same for all.

Dolan and More 2002 (profiles); Efron 1979 (the bootstrap behind the intervals).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from marginbench.harness.records.record import Record
from marginbench.harness.reporting.comparison import Family, Task, cost, median, number, seconds
from marginbench.harness.reporting.variation import part

SHIFT = 0.01
"""Seconds added before the logarithm of a geometric mean: differences far below 10 ms count for nothing."""

RESAMPLES = 1000


def time_of(runs: list[Record]) -> float:
    """The median time; a failed run is infinity."""
    return median([cost(r) for r in runs])


def times(family: Family) -> np.ndarray:
    """t[p, s]"""
    rows = [[time_of(task.runs.get(label, [])) for label in family.methods] for task in family.tasks]
    return np.array(rows, dtype=float).reshape(len(family.tasks), len(family.methods))


Steps = list[tuple[float, float]]
"""A staircase: from x on, the share is y."""


def profile(t: np.ndarray) -> list[Steps]:
    """For each method: rho(tau) = share of all problems solved within tau times the best method's time."""
    best = t.min(axis=1, initial=math.inf)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = np.where(np.isfinite(t), t / np.maximum(best, 1e-12)[:, None], math.inf)
    return [_staircase(column) for column in ratios.T]


def absolute_profile(t: np.ndarray) -> list[Steps]:
    """For each method: the share of all problems solved within x seconds, whatever the others do."""
    return [_staircase(column) for column in t.T]


def _staircase(values: np.ndarray) -> Steps:
    finite = np.sort(values[np.isfinite(values)])
    return [(float(x), (k + 1) / values.size) for k, x in enumerate(finite)]


def limits(family: Family) -> list[float]:
    """For each problem the time a failure is charged: the budget, or the longest time of any of its rows."""
    return [max((_limit(r) for r in task.records), default=0.0) for task in family.tasks]


def _limit(r: Record) -> float:
    asked = [number(part(r, group).get("seconds")) for group in ("budget", "limits")]
    return max(asked[0] or asked[1] or 0.0, seconds(r) or 0.0)


def shifted_geometric_mean(t: np.ndarray, limit: list[float], shift: float = SHIFT) -> list[float]:
    """exp(mean ln(t + shift)) - shift over all problems, failures at the limit."""
    if not t.size:
        return [math.inf] * t.shape[1]
    at_limit = np.minimum(t, np.array(limit)[:, None])
    return [float(mean) for mean in np.exp(np.log(at_limit + shift).mean(axis=0)) - shift]


@dataclass(frozen=True)
class Ratio:
    """Time of `a` over time of `b`: geometric mean over the problems both solve, with a 95 % interval from repeats."""

    a: str
    b: str
    ratio: float | None
    low: float | None
    high: float | None
    both: int
    only_a: int
    only_b: int

    def inverse(self) -> "Ratio":
        ratio, low, high = (None if x is None else 1.0 / x for x in (self.ratio, self.high, self.low))
        return Ratio(self.b, self.a, ratio, low, high, self.both, self.only_b, self.only_a)

    def verdict(self, floor: float | None) -> str:
        """`faster`, `slower` or `no difference` for a; what only one of them solves comes before any time."""
        if self.only_a != self.only_b and 0 in (self.only_a, self.only_b):
            return "solves more" if self.only_a else "solves less"
        if self.ratio is None:
            return "not comparable"
        if self.only_a:
            return "solves others"
        low, high = self.low or self.ratio, self.high or self.ratio
        if low <= 1.0 <= high or max(self.ratio, 1.0 / self.ratio) <= (floor or 1.0):
            return "no difference"
        return "faster" if self.ratio < 1.0 else "slower"


Draws = list[list[np.ndarray | None]]
"""draws[p][s]: ln of the median time of s on p in bootstrap samples of its runs; None where these are too few."""


def ratios(family: Family) -> list[Ratio]:
    """Of every ordered pair of methods."""
    draws: Draws = [
        [resampled([cost(r) for r in task.runs.get(label, [])], f"{task.key}|{label}") for label in family.methods]
        for task in family.tasks
    ]
    return compared(family.methods, times(family), draws)


def compared(labels: Sequence[str], t: np.ndarray, draws: Draws) -> list[Ratio]:
    """Of every ordered pair of columns of t[p, s]; a problem on which one of the two is NaN was not asked of it."""
    found = []
    for i, j in combinations(range(len(labels)), 2):
        asked = ~np.isnan(t[:, [i, j]]).any(axis=1)
        solved = np.isfinite(t[:, [i, j]]) & asked[:, None]
        both = [p for p in range(len(t)) if solved[p].all()]
        only = int((solved[:, 0] & ~solved[:, 1]).sum()), int((solved[:, 1] & ~solved[:, 0]).sum())
        centre = low = high = None
        if both:
            centre = float(np.exp(np.mean([log_ratio(t[p, i], t[p, j]) for p in both])))
            sampled = [(draws[p][i], draws[p][j]) for p in both]
            logs = [a - b for a, b in sampled if a is not None and b is not None]
            if len(logs) == len(both):
                low, high = (float(x) for x in np.exp(np.percentile(np.mean(logs, axis=0), [2.5, 97.5])))
        found.append(Ratio(labels[i], labels[j], centre, low, high, len(both), *only))
        found.append(found[-1].inverse())
    return found


def log_ratio(a: float, b: float) -> float:
    return math.log(max(a, 1e-9) / max(b, 1e-9))


def resampled(costs: Sequence[float], stream: str, spread: np.ndarray | None = None) -> np.ndarray | None:
    """ln of the median in bootstrap samples of the finite costs. Fewer than three of them tell too little of their own
    noise: `spread`, that of other cells, takes its place; None without it.

    `stream` names the random numbers: its own for each method and problem, so that no other method changes them.
    """
    finite = np.array([max(cost, 1e-9) for cost in costs if math.isfinite(cost)])
    rng = np.random.default_rng(list(stream.encode()))
    if finite.size >= 3:
        return np.log(median(rng.choice(finite, size=(RESAMPLES, finite.size))))
    if finite.size == 0 or spread is None:
        return None
    return math.log(median(finite)) + median(rng.choice(spread, size=(RESAMPLES, finite.size)))


def spread_of(cells: Sequence[Sequence[float]]) -> np.ndarray | None:
    """ln of each cost over the median of its cell, in all cells with three or more, widened by what the median took."""
    logs = [np.log(np.maximum(c, 1e-9)) for c in cells if len(c) >= 3 and all(map(math.isfinite, c))]
    around = [(x - median(x)) * math.sqrt(x.size / (x.size - 1)) for x in logs]
    return np.concatenate(around) if around else None


def noise_floor(tasks: Sequence[Task]) -> float | None:
    """The largest ratio of times of one and the same configuration under two names; None without such a pair."""
    worst = []
    for task in tasks:
        for a, b in combinations(task.runs, 2):
            if _same(task.runs[a][0], task.runs[b][0]):
                pair = time_of(task.runs[a]), time_of(task.runs[b])
                if all(math.isfinite(x) for x in pair):
                    worst.append(math.exp(abs(log_ratio(*pair))))
    return max(worst, default=None)


def _same(a: Record, b: Record) -> bool:
    """A/A: two names, one configuration."""
    parts = ("formulation", "solver")
    return all(isinstance(r.cell.get(p), dict) and r.cell[p] for r in (a, b) for p in parts) and all(
        a.cell[p] == b.cell[p] for p in parts
    )
