"""Convergence curves, as matplotlib and the page draw them: one run each, the spread of its repeats, what was asked,
what theory promises."""

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np

from marginbench.harness.model.bounds import Bounds
from marginbench.harness.records.compact import compact
from marginbench.harness.records.record import Record
from marginbench.harness.reporting.comparison import Task, number, representative
from marginbench.harness.reporting.variation import part

FLOOR = 1e-16
"""A zero is drawn here, with a tick that says so: the axes are logarithmic."""

X_AXES = {
    "seconds": "wall time (s), build included",
    "passes": "passes over the data, build included",
    "iterations": "iterations",
}
Y_AXES = {
    "gap": "certified gap",
    "suboptimality": "suboptimality",
    "dual_error": "distance of D from the optimum",
    "kkt_primal": "KKT: primal feasibility",
    "kkt_dual": "KKT: dual feasibility",
    "kkt_stationarity": "KKT: stationarity",
    "kkt_complementarity": "KKT: complementarity",
    "own_residual": "residual of its own program",
}

Values = list[float | None]


@dataclass(frozen=True)
class Fit:
    """A straight line through the end of a curve: the suboptimality times `factor` in each iteration. Not a theorem."""

    factor: float
    x: list[float]
    y: list[float]


@dataclass(frozen=True)
class Curve:
    """One run: aligned lists, None where the iterate had no such number.

    ladder: independent solves, not a path. They are in the order of their times, each y is the best so far, and there
    is no count of iterations that they share.
    """

    label: str
    main: bool
    ladder: bool
    x: dict[str, Values]
    y: dict[str, Values]
    bound: Values = field(default_factory=list)
    """What theory promises of the suboptimality; empty where it promises nothing."""
    dual_bound: Values = field(default_factory=list)
    """What it promises of `dual_error`."""
    fit: Fit | None = None


def curves(task: Task, most: int = 20) -> list[Curve]:
    """Of each method the run that stands for it, then at most `most` - 1 others; none where there is no optimum."""
    found = []
    for label, runs in task.runs.items() if not task.impossible else ():
        main = representative([r for r in runs if r.curve] or runs)
        others = [r for r in runs if r is not main]
        found += [curve(r, label, task.bounds, r is main) for r in [main, *others][:most] if r.curve]
    return [c for c in found if any(v is not None for values in c.y.values() for v in values)]


def curve(r: Record, label: str, known: Bounds, main: bool = True, points: int = 60) -> Curve:
    steps = compact(r.curve)
    times = np.nan_to_num(steps.column("seconds"))
    # A clock that goes back between two iterates is a clock that was restarted.
    ladder = bool(r.info["restarts"]) if "restarts" in r.info else bool((np.diff(times) < 0.0).any())
    chosen = np.flatnonzero(steps.column("iteration") > 0.0)
    if ladder:
        chosen = chosen[np.argsort(times[chosen], kind="stable")]
    chosen = _thinned(chosen, points)

    def values(name: str) -> Values:
        return [None if v != v else v for v in steps.column(name)[chosen].tolist()]

    build, unit = number(r.build_seconds) or 0.0, number(r.pass_seconds)
    spent = [None if s is None else s + build for s in values("seconds")]
    x: dict[str, Values] = {
        "seconds": spent,
        "passes": [None if s is None or not unit else s / unit for s in spent],
        "iterations": [None] * len(spent) if ladder else values("iteration"),
    }
    y: dict[str, Values] = {name: values(name) for name in Y_AXES if name not in ERRORS}
    y["suboptimality"] = [known.suboptimality(primal) for primal in values("primal")]
    y["dual_error"] = [_dual_error(known, dual) for dual in values("own_dual")]
    y = {name: [floored(v) for v in y[name]] for name in Y_AXES}
    if ladder:
        y = {name: _least_so_far(column) for name, column in y.items()}
    bound, dual_bound = _promised(values("bound"), known.lower), _promised(values("dual_bound"), known.upper)
    fit = None if ladder or not main else fitted(x["iterations"], y["suboptimality"])
    return Curve(label, main, ladder, x, y, bound, dual_bound, fit)


ERRORS = ("suboptimality", "dual_error")
"""Of a curve, what is counted from the best bound that is known."""


def floored(value: float | None) -> float | None:
    return None if value is None else max(value, FLOOR)


def _dual_error(known: Bounds, dual: float | None) -> float | None:
    """(P* - D) / P*, with the best proven P for P*: an upper bound of it."""
    if dual is None or not 0.0 < known.upper < math.inf:
        return None
    return (known.upper - dual) / known.upper


def _promised(promised: Values, optimum: float) -> Values:
    """A bound in units of the optimum, as the error beside it; empty where nothing is promised."""
    if not any(promised) or not 0.0 < optimum < math.inf:
        return []
    return [None if v is None else v / optimum for v in promised]


def _least_so_far(values: Values) -> Values:
    best = accumulate((math.inf if v is None else v for v in values), min)
    return [v if math.isfinite(v) else None for v in best]


def _thinned(places: np.ndarray, most: int) -> np.ndarray:
    """At most `most` of them, evenly on the logarithm of their number from both ends: the last may be expensive."""
    if len(places) <= most:
        return places
    step = math.log(len(places)) / (most // 2 - 1)
    marks = {min(round(math.exp(k * step)), len(places)) for k in range(most // 2)}
    return places[sorted({mark - 1 for mark in marks} | {len(places) - mark for mark in marks})]


# -- what is drawn beside a curve ----------------------------------------------------------------------------------


def pairs(xs: Values, ys: Values) -> list[tuple[float, float]]:
    """The points that a logarithmic chart can show; no y at all is no point."""
    both = ((x, y) for x, y in zip(xs, ys, strict=False) if x is not None and y is not None)
    return [(x, y) for x, y in both if 0.0 < x < math.inf and 0.0 < y < math.inf]


def fitted(xs: Values, ys: Values, least: int = 6, straight: float = 0.98) -> Fit | None:
    """A linear rate, where the second half of a curve shows one: ln y falls by two decades, along a straight line in
    the iterations, and straighter than it is in their logarithm."""
    points = [(x, y) for x, y in pairs(xs, ys) if y > 100.0 * FLOOR]
    points = points[len(points) // 2 :]
    if len(points) < least or points[0][1] < 100.0 * points[-1][1]:
        return None
    k, ln = np.array([x for x, _ in points]), np.log([y for _, y in points])
    correlation, curved = np.corrcoef([ln, k, np.log(k)])[0, 1:].tolist()
    if correlation > -straight or correlation > curved:
        return None
    slope, start = (float(c) for c in np.polyfit(k, ln, 1))
    ends = [float(k[0]), float(k[-1])]
    return Fit(math.exp(slope), ends, [math.exp(start + slope * x) for x in ends])


@dataclass(frozen=True)
class Band:
    """Between the best and the worst of a method's repeats."""

    label: str
    x: list[float]
    low: list[float]
    high: list[float]


def bands(found: Sequence[Curve], x: str, y: str, least: int = 3, points: int = 40) -> list[Band]:
    """Of each method with at least `least` runs that differ: at each x the least and the greatest y reached by then.

    Of times only: repeats have the same seed, and in the same number of iterations they do the same.
    """
    if x == "iterations":
        return []
    runs: dict[str, list[list[tuple[float, float]]]] = defaultdict(list)
    for c in found:
        if drawn := sorted(pairs(c.x[x], c.y[y])):
            runs[c.label].append(drawn)
    made = []
    for label, repeats in runs.items():
        if len(repeats) < least or all(drawn == repeats[0] for drawn in repeats):
            continue
        first, last = max(drawn[0][0] for drawn in repeats), max(drawn[-1][0] for drawn in repeats)
        grid = [float(t) for t in np.geomspace(first, max(last, first * (1.0 + 1e-9)), points)]
        reached = [[drawn[max(bisect_right(drawn, (t, math.inf)), 1) - 1][1] for t in grid] for drawn in repeats]
        made.append(
            Band(
                label, grid, [min(v) for v in zip(*reached, strict=True)], [max(v) for v in zip(*reached, strict=True)]
            )
        )
    return made


def targets(task: Task) -> list[float]:
    """The gaps that were asked for, as far as a chart can show them."""
    asked = {number(part(r, "budget").get("gap")) for r in task.records if r.info.get("judge") != "separation"}
    return sorted(gap for gap in asked if gap is not None and gap >= FLOOR)
