"""What is drawn, by matplotlib and by the page alike: convergence curves, bounds of theory, effects of parameters."""

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

from marginbench.harness.model.bounds import Bounds
from marginbench.harness.records.record import Record
from marginbench.harness.reporting.comparison import (
    Comparison,
    Task,
    number,
    representative,
    seconds,
    succeeded,
)
from marginbench.harness.reporting.variation import configuration, part, short_names, text, written

FLOOR = 1e-16
"""A gap of zero is drawn here: the axes are logarithmic."""

X_AXES = {
    "seconds": "seconds, build included",
    "passes": "passes over the data, build included",
    "iterations": "iterations",
}
Y_AXES = {"gap": "certified gap", "suboptimality": "suboptimality", "own_residual": "residual of its own program"}

Values = list[float | None]


@dataclass(frozen=True)
class Curve:
    """One run: aligned lists, None where the iterate had no such number. `ladder`: independent solves, not a path."""

    label: str
    main: bool
    ladder: bool
    x: dict[str, Values]
    y: dict[str, Values]
    bound: Values = field(default_factory=list)
    """What theory promises of the suboptimality; empty where it promises nothing."""


def curves(task: Task, most: int = 6) -> list[Curve]:
    """Of each method the run that stands for it, then at most `most` - 1 others."""
    found = []
    for label, runs in task.runs.items():
        main = representative([r for r in runs if r.curve] or runs)
        others = [r for r in runs if r is not main]
        found += [curve(r, label, task.bounds, r is main) for r in [main, *others][:most] if r.curve]
    return found


def curve(r: Record, label: str, known: Bounds, main: bool = True, points: int = 60) -> Curve:
    ladder = bool(r.info.get("restarts", _goes_back(r.curve)))
    entries = _thinned([e for e in r.curve if (number(e.get("iteration")) or 0.0) > 0.0], points)
    build, unit = number(r.build_seconds) or 0.0, number(r.pass_seconds)
    spent = [None if (s := number(e.get("seconds"))) is None else s + build for e in entries]
    x: dict[str, Values] = {
        "seconds": spent,
        "passes": [None if s is None or not unit else s / unit for s in spent],
        "iterations": [number(e.get("iteration")) for e in entries],
    }
    y: dict[str, Values] = {
        "gap": [number(e.get("gap")) for e in entries],
        "suboptimality": [known.suboptimality(e.get("primal")) for e in entries],
        "own_residual": [number(e.get("own_residual")) for e in entries],
    }
    drawn = {name: [_floored(v) for v in values] for name, values in y.items()}
    promised = [number(e.get("bound")) for e in entries]
    scale = known.lower if 0.0 < known.lower < math.inf else math.inf
    bound = [None if v is None else v / scale for v in promised] if math.isfinite(scale) and any(promised) else []
    return Curve(label, main, ladder, x, drawn, bound)


def _goes_back(entries: list[dict[str, Any]]) -> bool:
    """A clock that goes back between two iterates is a clock that was restarted."""
    times = [number(e.get("seconds")) or 0.0 for e in entries]
    return any(b < a for a, b in pairwise(times))


def _thinned(entries: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """At most `most` entries, evenly on the logarithm of their number from both ends: the last may be expensive."""
    if len(entries) <= most:
        return entries
    step = math.log(len(entries)) / (most // 2 - 1)
    marks = {min(round(math.exp(k * step)), len(entries)) for k in range(most // 2)}
    return [entries[k] for k in sorted({mark - 1 for mark in marks} | {len(entries) - mark for mark in marks})]


# -- effects of parameters -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """Points of one method, joined where their order means something."""

    label: str
    x: list[float]
    y: Values
    kind: Literal["line", "points", "bound"] = "line"


@dataclass(frozen=True)
class Panel:
    """A small chart on its own."""

    title: str
    x_label: str
    y_label: str
    lines: list[Line]


def panels(comparison: Comparison) -> dict[str, list[Panel]]:
    """The special charts that the records have data for, by name of the figure."""
    found = {name: make(comparison) for name, (_, _, make) in SPECIAL.items()}
    return {name: charts for name, charts in found.items() if charts}


def smoothing(comparison: Comparison) -> list[Panel]:
    """Per problem: how far from the optimum the smoothed hinge ends as delta shrinks, below C n delta / 2."""
    others = _labels_without(comparison, DELTA)
    charts = []
    for task in comparison.tasks:
        lines: dict[str, dict[float, Record]] = defaultdict(dict)
        for runs in task.runs.values():
            r = representative(runs)
            delta = number(part(r, "formulation").get("delta"))
            if delta and r.primal is not None:
                lines[others[id(r)]][delta] = r
        drawn = [
            Line(name, sorted(runs), [_floored(task.bounds.suboptimality(runs[x].primal)) for x in sorted(runs)])
            for name, runs in sorted(lines.items())
            if len(runs) > 1
        ]
        if drawn and 0.0 < task.bounds.lower < math.inf and math.inf > task.sample.C:
            deltas = sorted({x for line in drawn for x in line.x})
            scale = 0.5 * task.sample.C * task.sample.n / task.bounds.lower
            drawn.append(Line("bound C n δ / 2", deltas, [scale * x for x in deltas], kind="bound"))
        if drawn:
            charts.append(Panel(task.title, "smoothing δ", "suboptimality", drawn))
    return charts


DELTA = "formulation.delta"


def _labels_without(comparison: Comparison, path: str) -> dict[int, str]:
    """For each record formulation, solver and the settings that name its variant, but for the one on the axis."""
    kept = [{p: value for p, value in values.items() if p != path} for values in comparison.settings]
    short = short_names(sorted({p for values in kept for p in values}))
    return {
        id(r): f"{r.formulation} + {r.solver} {written(values, short)}".strip()
        for r, values in zip(comparison.records, kept, strict=True)
    }


def effect_of_C(comparison: Comparison) -> list[Panel]:
    """Per data set and bias: objective, support vectors and time against C, of the runs that succeeded."""
    sweeps: dict[tuple[str, ...], list[Task]] = defaultdict(list)
    for task in comparison.tasks:
        r = task.sample
        if math.isfinite(r.C):
            made = {p: text(v) for p, v in configuration(r).items() if p.startswith(("dataset.", "problem."))}
            made.pop("problem.C", None)
            sweeps[r.dataset, r.bias, r.loss, str(r.n), str(sorted(made.items()))].append(task)
    charts = []
    for (dataset, bias, *_), tasks in sweeps.items():
        if len({task.sample.C for task in tasks}) < 2:
            continue
        told = f" {tasks[0].told}" if tasks[0].told else ""
        for y_label, value in (("objective P", _objective), ("support vectors", _support), ("seconds", seconds)):
            lines = [_against_C(name, tasks, value) for name in comparison.methods]
            lines = [line for line in lines if len(line.x) > 1]
            if lines:
                charts.append(Panel(f"{dataset}, bias {bias}{told}", "C", y_label, lines))
    return charts


def _against_C(label: str, tasks: list[Task], value: Any) -> Line:
    chosen = [representative(task.runs[label]) for task in tasks if label in task.runs]
    points = sorted((r.C, y) for r in chosen if succeeded(r) and (y := value(r)) is not None and y > 0.0)
    return Line(label, [C for C, _ in points], [y for _, y in points])


def _objective(r: Record) -> float | None:
    return number(r.primal)


def _support(r: Record) -> float | None:
    counts = (r.sv_margin, r.sv_inside, r.sv_wrong)
    return None if any(c is None for c in counts) else float(sum(c or 0 for c in counts))


def updates(comparison: Comparison) -> list[Panel]:
    """Updates against Novikoff's bound (R / gamma)^2: no point may lie above the diagonal."""
    points: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for r, label in zip(comparison.records, comparison.labels, strict=True):
        bound, made = number(r.updates_bound), number(r.updates)
        if bound and made and r.status == "solved":
            points[label].append((bound, made))
    if not points:
        return []
    lines = [Line(label, [x for x, _ in p], [y for _, y in p], "points") for label, p in sorted(points.items())]
    ends = [f(v for p in points.values() for pair in p for v in pair) for f in (min, max)]
    diagonal = Line("bound (R / gamma)²", ends, list(ends), kind="bound")
    return [Panel("until the data are separated", "Novikoff's bound", "updates", [*lines, diagonal])]


def _floored(value: float | None) -> float | None:
    return None if value is None else max(value, FLOOR)


SPECIAL: dict[str, tuple[str, str, Callable[[Comparison], list[Panel]]]] = {
    "smoothing": (
        "What smoothing costs",
        "A smoothed hinge solved exactly still misses the optimum of the hinge, by at most C n δ / 2.",
        smoothing,
    ),
    "effect_of_C": ("The effect of C", "Of the runs that succeeded.", effect_of_C),
    "updates": (
        "Updates and Novikoff's bound",
        "From w = 0 there are at most (R / gamma)² updates: no point lies above the line.",
        updates,
    ),
}
"""Name of the figure -> its heading, what it shows, and its charts."""
