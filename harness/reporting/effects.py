"""Effects of parameters, as small charts: what is drawn by matplotlib and by the page alike."""

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from marginbench.harness.records.record import Record
from marginbench.harness.reporting.comparison import Comparison, Task, number, representative, seconds, succeeded
from marginbench.harness.reporting.series import Values, floored
from marginbench.harness.reporting.variation import OF_PROBLEM, configuration, part, short_names, text, written


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
    logarithmic: bool = True
    """The y axis; the x axis always is."""


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
            Line(name, sorted(runs), [floored(task.bounds.suboptimality(runs[x].primal)) for x in sorted(runs)])
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
    """Per data set and bias: what C does to the answer and to the work, of the runs that succeeded."""
    charts = []
    for title, tasks in _sweeps_of_C(comparison):
        for y_label, value, logarithmic in EFFECTS:
            lines = [_against_C(name, tasks, value) for name in comparison.methods]
            lines = [line for line in lines if len(line.x) > 1]
            if lines:
                charts.append(Panel(title, "C", y_label, lines, logarithmic))
    return charts


def _sweeps_of_C(comparison: Comparison) -> list[tuple[str, list[Task]]]:
    """(title, problems): those that differ in C alone, where there are as many C as a curve needs."""
    sweeps: dict[tuple[str, ...], list[Task]] = defaultdict(list)
    for task in comparison.tasks:
        r = task.sample
        if math.isfinite(r.C):
            made = {p: text(v) for p, v in configuration(r).items() if p.startswith(OF_PROBLEM)}
            made.pop("problem.C", None)
            sweeps[r.dataset, r.bias, r.loss, str(r.n), str(sorted(made.items()))].append(task)
    found = []
    for (dataset, bias, loss, *_), tasks in sweeps.items():
        if len({task.sample.C for task in tasks}) >= FEWEST:
            told = f" {tasks[0].told}" if tasks[0].told else ""
            which = "" if loss == "hinge" else f", {loss.replace('_', ' ')}"
            found.append((f"{dataset}, bias {bias}{which}{told}", tasks))
    return found


FEWEST = 3
"""Values of C: through two points goes a straight line, whatever lies between."""


def _against_C(label: str, tasks: list[Task], value: Callable[[Record], float | None]) -> Line:
    chosen = [representative(task.runs[label]) for task in tasks if label in task.runs]
    points = sorted((r.C, y) for r in chosen if succeeded(r) and (y := value(r)) is not None and y > 0.0)
    return Line(label, [C for C, _ in points], [y for _, y in points])


def _objective(r: Record) -> float | None:
    return number(r.primal)


def _support(r: Record) -> float | None:
    counts = (r.sv_margin, r.sv_inside, r.sv_wrong)
    return None if any(c is None for c in counts) else float(sum(c or 0 for c in counts))


def _half_width(r: Record) -> float | None:
    norm = number(r.info.get("w_norm"))
    return 1.0 / norm if norm else None


def _train_accuracy(r: Record) -> float | None:
    return _percent(r.train_accuracy)


def _test_accuracy(r: Record) -> float | None:
    return _percent(r.test_accuracy)


def _percent(share: Any) -> float | None:
    value = number(share)
    return None if value is None else 100.0 * value


EFFECTS: list[tuple[str, Callable[[Record], float | None], bool]] = [
    ("objective P", _objective, True),
    ("support vectors", _support, True),
    ("margin 1 / ||w||", _half_width, True),
    ("training accuracy (%)", _train_accuracy, False),
    ("held-out accuracy (%)", _test_accuracy, False),
    ("wall time (s)", seconds, True),
]
"""Label, value, whether the axis is logarithmic."""

MOST_COMPONENTS = 8
"""Of w, that a chart shows: as many as there are colours."""


def regularisation_path(comparison: Comparison) -> list[Panel]:
    """Per data set and bias: the components of w against C, of the most exact run for each C. Those that become
    largest are shown."""
    charts = []
    for title, tasks in _sweeps_of_C(comparison):
        found = {}
        for task in tasks:
            runs = [r for r in task.records if succeeded(r) and _components(r)]
            if runs:
                found[task.sample.C] = _components(min(runs, key=lambda r: math.inf if r.gap is None else r.gap))
        if len(found) < 2 or len({len(w) for w in found.values()}) > 1:
            continue
        C = sorted(found)
        columns = {f"w{j + 1}": [found[c][j] for c in C] for j in range(len(found[C[0]]))}
        largest = sorted(columns, key=lambda name: -max(map(abs, columns[name])))[:MOST_COMPONENTS]
        lines = [Line(name, C, list(column)) for name, column in columns.items() if name in largest]
        left_out = len(columns) - len(lines)
        y_label = f"component of w ({len(lines)} largest of {len(columns)})" if left_out else "component of w"
        charts.append(Panel(title, "C", y_label, lines, logarithmic=False))
    return charts


def _components(r: Record) -> list[float]:
    """w, where the record says it."""
    w = r.info.get("w")
    found = [number(value) for value in w] if isinstance(w, list) else []
    return [] if None in found else [value for value in found if value is not None]


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
    return [Panel("until the data are separated", "Novikoff's bound of the updates", "updates", [*lines, diagonal])]


SPECIAL: dict[str, tuple[str, str, Callable[[Comparison], list[Panel]]]] = {
    "smoothing": (
        "What smoothing costs",
        "A smoothed hinge solved exactly still misses the optimum of the hinge, by at most C n δ / 2.",
        smoothing,
    ),
    "effect_of_C": (
        "The effect of C",
        "A small C buys a wide margin with many rows inside it, a large one pays for every row on the wrong side. "
        "Of the runs that succeeded.",
        effect_of_C,
    ),
    "regularisation_path": (
        "The regularisation path",
        "How w grows as slack becomes expensive, from the most exact run for each C.",
        regularisation_path,
    ),
    "updates": (
        "Updates and Novikoff's bound",
        "From w = 0 there are at most (R / gamma)² updates: no point lies above the line.",
        updates,
    ),
}
"""Name of the figure -> its heading, what it shows, and its charts."""
