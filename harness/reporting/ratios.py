"""Two methods against each other, on the problems that both were asked: how much slower, how sure, who wins where.

The ratio is the time of a over the time of b, its geometric mean over the problems that both reach. It has two
intervals, which answer different questions:
- over problems: would it hold on other data sets? By drawing data sets (`resampling`);
- from timing: would it hold if the same cells ran again? By drawing repeats (`costs`). None without repeats.

`best peer` is a method that nobody has: on each problem the fastest of all solvers that wrap a library.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from marginbench.harness.reporting.costs import LEAST, RESAMPLES, Costs
from marginbench.harness.reporting.medians import median_ratio
from marginbench.harness.reporting.resampling import (
    FAILURE,
    Interval,
    holm,
    mean_intervals,
    median_interval,
    signed_rank,
)

BEST = "best peer"


@dataclass(frozen=True)
class Pair:
    """Method a against method b."""

    a: str
    b: str
    both: int
    """Problems that both reach; the ratios are over these."""
    only_a: int
    only_b: int
    neither: int
    ratio: float | None
    """Geometric mean of time of a over time of b."""
    over_problems: Interval | None
    from_timing: Interval | None
    median: float | None
    least: float | None
    """The smallest ratio on any problem, and `most` the largest."""
    most: float | None
    least_on: int | None
    """Number of the problem where a does best against b, and `most_on` where worst."""
    most_on: int | None
    wins: int
    """Problems on which a is faster by more than the noise floor, or alone arrives."""
    ties: int
    losses: int
    p: float
    """Wilcoxon's signed rank test over data sets; `p_holm` corrects it for all pairs that were tested with it."""
    p_holm: float
    verdict: str
    """`faster`, `slower`, `no difference` or `not established`, of a; `why` gives the reason of the last one. No
    difference is none beyond the noise: where that is large, there may be one."""
    why: str

    @property
    def told(self) -> str:
        """The verdict in words."""
        if self.verdict == "no difference":
            return "no difference beyond the noise"
        return f"{self.verdict}: {self.why}" if self.why else self.verdict

    @property
    def established(self) -> bool:
        return self.verdict in ("faster", "slower")

    def inverse(self) -> "Pair":
        turned = {"faster": "slower", "slower": "faster"}
        return replace(
            self,
            a=self.b,
            b=self.a,
            only_a=self.only_b,
            only_b=self.only_a,
            ratio=_inverse(self.ratio),
            over_problems=self.over_problems and self.over_problems.inverse(),
            from_timing=self.from_timing and self.from_timing.inverse(),
            median=_inverse(self.median),
            least=_inverse(self.most),
            most=_inverse(self.least),
            least_on=self.most_on,
            most_on=self.least_on,
            wins=self.losses,
            losses=self.wins,
            verdict=turned.get(self.verdict, self.verdict),
        )


def _inverse(x: float | None) -> float | None:
    return None if x is None else 1.0 / x


@dataclass(frozen=True)
class Contest:
    """Times of some methods on some problems, with what their noise is: the input of all pairs."""

    methods: tuple[str, ...]
    t: np.ndarray
    """[p, s]; NaN where s was not asked p."""
    datasets: np.ndarray
    floor: float | None
    """Of single cells, for wins, ties and losses."""
    costs: Costs
    rows: np.ndarray
    columns: np.ndarray
    """Of the problems and methods, the numbers that they have in `costs`."""
    libraries: tuple[int, ...]
    """The methods among which the best peer is the best; empty where there is none."""

    @classmethod
    def of(
        cls,
        methods: Sequence[str],
        costs: Costs,
        datasets: np.ndarray,
        peers: frozenset[str] = frozenset(),
        problems: Sequence[int] | None = None,
        columns: Sequence[int] | None = None,
    ) -> "Contest":
        """Of chosen problems and methods; with the best peer as one more where there are peers."""
        rows = np.arange(len(costs.t)) if problems is None else np.array(problems, dtype=int)
        chosen = np.arange(len(methods)) if columns is None else np.array(columns, dtype=int)
        t = costs.t[np.ix_(rows, chosen)]
        names = tuple(methods[s] for s in chosen)
        libraries = tuple(k for k, name in enumerate(names) if name in peers)
        if libraries:
            best = np.fmin.reduce(t[:, libraries], axis=1)  # fmin passes over NaN: a peer that was not asked
            t, names = np.column_stack([t, best]), (*names, BEST)
        return cls(names, t, datasets[rows], costs.floor, costs, rows, chosen, libraries)

    def draws(self, p: int) -> np.ndarray:
        """[s, RESAMPLES] of a problem, see Costs. Of the best peer the smallest, where every peer that arrived has
        draws."""
        found = self.costs.draws(self.rows[p], self.columns)
        if not self.libraries:
            return found
        peers = list(self.libraries)
        arrived = np.isfinite(self.t[p, peers])[:, None]
        best = np.where(arrived, found[peers], math.inf).min(axis=0)  # NaN, where an arrived one has none, stays
        return np.vstack([found, np.where(arrived.any(), best, math.nan)], dtype=np.float32)


def pairs(contest: Contest, base: str | None = None) -> list[Pair]:
    """Every pair once, in the order of the methods; or, with `base`, every other method against it.

    A library is not compared with the best peer, which it may be itself. p is corrected for the pairs returned.
    """
    names = contest.methods
    if base is None:
        chosen = list(combinations(range(len(names)), 2))
    else:
        b = names.index(base)
        chosen = [(a, b) for a in range(len(names)) if a != b]
    if contest.libraries:
        best = {len(names) - 1, *contest.libraries}
        chosen = [pair for pair in chosen if len(names) - 1 not in pair or not best.issuperset(pair)]
    if not chosen:
        return []
    first, second = (np.array(side) for side in zip(*chosen, strict=True))
    logs, full = _log_ratios(contest.t, first, second)
    mean, low, high = mean_intervals(logs, contest.datasets)
    timing = _timing(contest, logs, first, second)
    tested = signed_rank(full, contest.datasets)
    corrected = holm(tested)
    found = []
    for k, (i, j) in enumerate(chosen):
        over = None if math.isnan(low[k]) else Interval(math.exp(low[k]), math.exp(high[k]))
        counts = _counts(contest.t[:, i], contest.t[:, j], full[:, k], contest.floor)
        found.append(_pair(contest, (names[i], names[j]), logs[:, k], mean[k], over, timing[k], counts))
        found[-1] = replace(found[-1], p=float(tested[k]), p_holm=float(corrected[k]))
    return found


def _log_ratios(t: np.ndarray, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """ln t[a] / t[b] of each pair: NaN where not both arrived; and with +-FAILURE where one of the two did."""
    x = np.log(np.maximum(t, LEAST))  # NaN and infinity stay
    with np.errstate(invalid="ignore"):
        full = np.clip(x[:, first] - x[:, second], -FAILURE, FAILURE)  # inf - inf is NaN: neither arrived
    both = np.isfinite(x[:, first]) & np.isfinite(x[:, second])
    return np.where(both, full, math.nan), full


def _timing(contest: Contest, logs: np.ndarray, first: np.ndarray, second: np.ndarray) -> list[Interval | None]:
    """Of each pair the interval from repeats: the mean over the problems that both reach, in each resample of runs."""
    both = ~np.isnan(logs)
    sums, told = np.zeros((len(first), RESAMPLES), dtype=np.float32), both.any(axis=0)
    for p in range(len(both)):
        if not (both[p] & told).any():
            continue
        draws = contest.draws(p)
        drawn = ~np.isnan(draws[:, 0])  # a cell has all draws or none
        told &= ~both[p] | (drawn[first] & drawn[second])
        here = np.flatnonzero(both[p] & told)
        sums[here] += draws[first[here]] - draws[second[here]]
    found: list[Interval | None] = [None] * len(first)
    for k in np.flatnonzero(told):
        low, high = np.exp(np.percentile(sums[k] / both[:, k].sum(), [2.5, 97.5]))
        found[k] = Interval(float(low), float(high))
    return found


def _counts(a: np.ndarray, b: np.ndarray, logs: np.ndarray, floor: float | None) -> dict[str, Any]:
    far, asked = math.log(floor or 1.0), ~np.isnan(a) & ~np.isnan(b)
    arrived_a, arrived_b = np.isfinite(a) & asked, np.isfinite(b) & asked
    return {
        "both": int((arrived_a & arrived_b).sum()),
        "only_a": int((arrived_a & ~arrived_b).sum()),
        "only_b": int((arrived_b & ~arrived_a).sum()),
        "neither": int((asked & ~arrived_a & ~arrived_b).sum()),
        "wins": int((logs < -far).sum()),
        "ties": int((np.abs(logs) <= far).sum()),
        "losses": int((logs > far).sum()),
    }


def _pair(
    contest: Contest,
    names: tuple[str, str],
    logs: np.ndarray,
    mean: float,
    over: Interval | None,
    timing: Interval | None,
    counts: dict[str, Any],
) -> Pair:
    reached = np.flatnonzero(~np.isnan(logs))
    if not reached.size:
        why = "no problem that both reach"
        return Pair(*names, **_without(counts), verdict="not established", why=why)
    values = np.exp(logs[reached])
    ratio = math.exp(mean)
    verdict, why = judged(ratio, over, timing)
    return Pair(
        *names,
        **counts,
        ratio=ratio,
        over_problems=over,
        from_timing=timing,
        median=median_ratio(values),
        least=float(values.min()),
        most=float(values.max()),
        least_on=int(reached[values.argmin()]),
        most_on=int(reached[values.argmax()]),
        p=1.0,
        p_holm=1.0,
        verdict=verdict,
        why=why,
    )


def _without(counts: dict[str, Any]) -> dict[str, Any]:
    names = ("ratio", "over_problems", "from_timing", "median", "least", "most", "least_on", "most_on")
    return {**counts, **dict.fromkeys(names), "p": 1.0, "p_holm": 1.0}


def judged(ratio: float, over_problems: Interval | None, from_timing: Interval | None) -> tuple[str, str]:
    """(verdict, why). A difference has to stand out of the noise of timing and of the choice of problems.

    The noise is that of the mean over all problems, which is smaller than that of any of its cells.
    """
    if from_timing is None:
        return "not established", "single runs"
    if from_timing.has_one:
        return "no difference", ""
    if over_problems is None:
        return "not established", "one data set"
    if over_problems.has_one:
        return "not established", "differs between problems"
    return ("slower" if ratio > 1.0 else "faster"), ""


def median_over_problems(contest: Contest, a: str, b: str) -> Interval | None:
    """The interval over problems of the median ratio. None for fewer than two data sets."""
    i, j = contest.methods.index(a), contest.methods.index(b)
    logs, _ = _log_ratios(contest.t, np.array([i]), np.array([j]))
    both = ~np.isnan(logs[:, 0])
    low, high = median_interval(logs[both, 0], contest.datasets[both])
    return None if math.isnan(low) else Interval(math.exp(low), math.exp(high))
