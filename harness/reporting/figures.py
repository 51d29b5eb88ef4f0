"""The report's figures by matplotlib, each as SVG, PNG and PDF: convergence, profiles, statuses, effects of parameters.

A method has one colour, dash and marker in every figure. The colours can be told apart with any colour vision; dash
and marker say the same without colour. Nothing is drawn through pyplot: no window, no state between figures.
"""

import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import NullLocator

from marginbench.harness.files import write_atomically
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.records.record import Record
from marginbench.harness.records.status import STATUSES, TONES, status_of, worst
from marginbench.harness.reporting import statistics
from marginbench.harness.reporting.comparison import Comparison, Family, Task, succeeded
from marginbench.harness.reporting.series import X_AXES, Y_AXES, Curve, Line, Panel, Values, curves, panels

COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#882255", "#767676"]
DASHES = [(None, None), (5, 2), (1.5, 1.5), (7, 2, 1.5, 2)]
MARKERS = ["o", "s", "^", "D", "v", "P", "X", "<", ">", "h", "p"]
LOOK: dict[Any, Any] = {
    "font.size": 9, "axes.titlesize": 10, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True,
    "grid.color": "#d9dde3", "grid.linewidth": 0.5, "axes.axisbelow": True, "axes.edgecolor": "#5b6470",
    "lines.linewidth": 1.6, "legend.frameon": False, "svg.fonttype": "none", "svg.hashsalt": "marginbench",
    "path.simplify": True, "figure.dpi": 100, "savefig.dpi": 130,
}  # fmt: skip


def write(
    records: Sequence[Record], frame: pd.DataFrame, folder: Path, references: Mapping[str, Bounds] | None = None
) -> list[Path]:
    """All figures that the records have data for, into folder/figures; the paths of the SVG files."""
    folder = Path(folder) / "figures"
    with matplotlib.rc_context(LOOK):
        return [_save(figure, folder, name) for name, figure in drawn(records, references)]


def drawn(records: Sequence[Record], references: Mapping[str, Bounds] | None = None) -> Iterator[tuple[str, Figure]]:
    """Each figure that the records have data for, with its name."""
    comparison = Comparison.of(records, references)
    style = {label: _style(k) for k, label in enumerate(comparison.methods)}
    with matplotlib.rc_context(LOOK):
        yield from _figures(comparison, style)


def _figures(comparison: Comparison, style: dict[str, dict[str, Any]]):
    if comparison.records:
        yield "statuses", status_matrix(comparison)
    for family in comparison.families:
        if family.methods:
            yield f"profiles_{slug(family.name)}", profiles(family, style)
    for task, name in zip(comparison.tasks, slugs(comparison.tasks), strict=True):
        if found := curves(task):
            yield name, convergence(task, found, style)
    for name, charts in panels(comparison).items():
        yield name, special(charts, style)


def _style(k: int) -> dict[str, Any]:
    turn = k // len(COLOURS)
    return {
        "color": COLOURS[k % len(COLOURS)],
        "dashes": DASHES[turn % len(DASHES)],
        "marker": MARKERS[k % len(MARKERS)],
    }


def slug(title: str) -> str:
    """A file name: letters, digits, dots and dashes only."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", title.replace("∞", "inf")).strip("-.")[:80] or "problem"


def slugs(tasks: Sequence[Task]) -> list[str]:
    """A file name for each problem, no two alike, whatever the case."""
    names: list[str] = []
    used: set[str] = set()
    for task in tasks:
        plain = slug(task.title)
        numbered = (plain if k == 1 else f"{plain}-{k}" for k in count(1))
        names.append(next(name for name in numbered if name.lower() not in used))
        used.add(names[-1].lower())
    return names


def _save(figure: Figure, folder: Path, name: str) -> Path:
    """Same figure, same bytes: no dates in the files."""
    canvas = FigureCanvasAgg(figure)
    for kind, metadata in (("png", {}), ("svg", {"Date": None}), ("pdf", {"CreationDate": None})):
        buffer = io.BytesIO()
        canvas.print_figure(buffer, format=kind, metadata=metadata)
        write_atomically(folder / f"{name}.{kind}", buffer.getvalue())
    return folder / f"{name}.svg"


@cache
def _known_characters() -> frozenset[int]:
    return frozenset(get_font(findfont(FontProperties())).get_charmap())


def text(value: str, most: int = 60) -> str:
    """As matplotlib can draw it: no formula is started by a dollar, no character is missing in the font."""
    known = _known_characters()
    value = "".join(c if ord(c) in known else "?" for c in " ".join(value.split()))
    return (value if len(value) <= most else value[: most - 1] + "…").replace("$", r"\$")


def _inches(figure: Figure, left: float, top: float, width: float, height: float) -> Axes:
    """Axes at a place given in inches from the upper left corner; much cheaper than to have a layout computed."""
    W, H = figure.get_size_inches()
    return figure.add_axes((left / W, 1.0 - (top + height) / H, width / W, height / H))


def _grid(count: int, columns: int = 2) -> tuple[Figure, list[Axes]]:
    """`count` axes in lines of `columns`, and room for a legend on the right."""
    columns, lines = min(count, columns), -(-count // columns)
    figure = Figure(figsize=(4.0 * columns + 3.4, 3.45 * lines))
    places = [(k % columns, k // columns) for k in range(count)]
    return figure, [_inches(figure, 0.65 + 4.0 * i, 0.55 + 3.45 * j, 3.2, 2.35) for i, j in places]


def _legend(figure: Figure, handles: dict[str, Any]) -> None:
    W, _ = figure.get_size_inches()
    names = [text(label, 38) for label in handles]
    figure.legend(handles.values(), names, loc="center left", bbox_to_anchor=(1.0 - 3.4 / W, 0.5), handlelength=3)


POWERS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _decades(axis: Any, values: Sequence[float]) -> None:
    """A logarithmic axis with a tick at every power of ten, or every few; on a short one in between too."""
    pad = max((max(values) / min(values)) ** 0.04, 1.05)
    low, high = min(values) / pad, max(values) * pad
    axis.axes.set(**{f"{axis.axis_name}scale": "log", f"{axis.axis_name}lim": (low, high)})
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    inside = [k for k in powers if low <= 10.0**k <= high]
    if len(inside) > 2:
        ticks = {10.0**k: f"10{str(k).translate(POWERS)}" for k in inside[:: -(-len(inside) // 8)]}
    else:
        for steps in ((1, 2, 5), (1, 2, 3, 4, 5, 6, 8), (1, 1.2, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9)):
            ticks = {x: f"{x:.3g}" for k in powers for m in steps if low <= (x := m * 10.0**k) <= high}
            if len(ticks) > 2:
                break
    shown: list[float] = []
    for x in ticks:  # none so near to the one before that their names would touch
        if not shown or math.log(x / shown[-1]) >= 0.08 * math.log(high / low):
            shown.append(x)
    axis.set_ticks(shown, [ticks[x] for x in shown])
    axis.set_minor_locator(NullLocator())


def _logarithmic(ax: Axes) -> None:
    points = [(x, y) for line in ax.lines for x, y in np.asarray(line.get_xydata()) if x > 0.0 and y > 0.0]
    if points:
        _decades(ax.xaxis, [x for x, _ in points])
        _decades(ax.yaxis, [y for _, y in points])


def convergence(task: Task, found: list[Curve], style: dict[str, dict[str, Any]]) -> Figure:
    """Certified gap against time and passes; suboptimality, beside what theory promises of it, against iterations."""
    figure, axes = _grid(3, columns=3)
    figure.suptitle(text(task.title, 110), x=0.02, y=0.985, ha="left", va="top", weight="bold", size=10)
    handles: dict[str, Any] = {}
    charts = (("seconds", "gap"), ("passes", "gap"), ("iterations", "suboptimality"))
    for ax, (x, y) in zip(axes, charts, strict=True):
        for c in found:
            if points := _pairs(c.x[x], c.y[y]):
                (line,) = ax.plot(*zip(*points, strict=True), **_drawn(c, style[c.label], len(points)))
                handles.setdefault(c.label, line)
            if y == "suboptimality" and c.main and (points := _pairs(c.x[x], c.bound)):
                (line,) = ax.plot(
                    *zip(*points, strict=True), color=style[c.label]["color"], linewidth=1.0, linestyle=":"
                )
                handles[f"{c.label}: theory's bound"] = line
        if not ax.lines:
            ax.text(0.5, 0.5, "no data", ha="center", transform=ax.transAxes, color="#5b6470")
        _logarithmic(ax)
        ax.set_xlabel(X_AXES[x])
        ax.set_title(Y_AXES[y], loc="left")
    _legend(figure, dict(sorted(handles.items())))
    return figure


def _pairs(xs: Values, ys: Values) -> list[tuple[float, float]]:
    """The points that a logarithmic chart can show; no y at all is no point."""
    return [(x, y) for x, y in zip(xs, ys, strict=False) if x is not None and y is not None and x > 0.0 and y > 0.0]


def _drawn(c: Curve, style: dict[str, Any], points: int) -> dict[str, Any]:
    """A ladder of independent solves is marked rung by rung; of a path only its end is. Other runs are thin."""
    options = dict(style, markersize=4.0, alpha=1.0 if c.main else 0.35, linewidth=1.6 if c.main else 0.7)
    if c.ladder:
        return options | {"linewidth": 0.7}
    return options | {"markevery": [points - 1]}


def profiles(family: Family, style: dict[str, dict[str, Any]]) -> Figure:
    """Left: within tau times the best. Right: within so many seconds. Share of all problems; failures never arrive."""
    t = statistics.times(family)
    figure, axes = _grid(2)
    handles: dict[str, Any] = {}
    for ax, steps, label in zip(
        axes,
        (statistics.profile(t), statistics.absolute_profile(t)),
        ("time over the best method's time", "seconds, build included"),
        strict=True,
    ):
        last = max((x for s in steps for x, _ in s), default=1.0) * 1.5
        first = min((x for s in steps for x, _ in s), default=1.0) / (1.05 if ax is axes[0] else 1.5)
        for name, stairs in zip(family.methods, steps, strict=True):
            xs = [first, *(x for x, _ in stairs), last]
            ys = [0.0, *(y for _, y in stairs), stairs[-1][1] if stairs else 0.0]
            (line,) = ax.step(xs, ys, where="post", **style[name], markersize=4, markevery=list(range(1, len(xs) - 1)))
            handles[name] = line
        _decades(ax.xaxis, [first, last])
        ax.set_ylim(-0.03, 1.03)
        ax.set_xlabel(label)
        ax.set_title(text(f"{family.name}: share of {len(t)} problems solved"), loc="left")
    _legend(figure, handles)
    return figure


def status_matrix(comparison: Comparison) -> Figure:
    """Methods by problems. Of several runs in a cell, the share that succeeded is written; the worst one colours it."""
    tasks, methods = comparison.tasks, comparison.methods
    width, height = 0.62 * len(tasks), 0.26 * len(methods)
    names, titles = [text(label, 44) for label in methods], [text(task.title, 44) for task in tasks]
    slanted = 0.065 * max(len(title) for title in titles)
    left = max(0.3 + 0.075 * max(len(name) for name in names), 0.87 * slanted)
    figure = Figure(figsize=(left + width + 1.7, height + 0.5 + 0.5 * slanted))
    ax = _inches(figure, left, 0.15, width, height)
    used: dict[str, str] = {}
    for i, task in enumerate(tasks):
        for j, label in enumerate(methods):
            if runs := task.runs.get(label, []):
                status = status_of(worst(r.status for r in runs))
                colour, sign = TONES[status.tone], status.sign
                used[status.name] = colour
                good = sum(succeeded(r) for r in runs)
                ax.add_patch(Rectangle((i + 0.03, j + 0.05), 0.94, 0.9, color=colour, linewidth=0))
                shown = text(sign) if good in (0, len(runs)) else f"{good}/{len(runs)}"
                ax.text(i + 0.5, j + 0.52, shown, ha="center", va="center", color="white", weight="bold", size=8)
    ax.set(xlim=(0, max(len(tasks), 1)), ylim=(max(len(methods), 1), 0))
    ax.set_xticks([k + 0.5 for k in range(len(tasks))], titles, rotation=30, ha="right")
    ax.set_yticks([k + 0.5 for k in range(len(methods))], names)
    ax.grid(False)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    patches = {text(f"{s.sign} {s.name}"): Patch(color=used[s.name]) for s in STATUSES.values() if s.name in used}
    figure.legend(patches.values(), patches.keys(), loc="upper right")
    return figure


def special(charts: Sequence[Panel], style: dict[str, dict[str, Any]]) -> Figure:
    """Small charts side by side, three to a line."""
    figure, grid = _grid(len(charts), 3)
    handles: dict[str, Any] = {}
    free = iter(range(len(COLOURS)))
    for chart, ax in zip(charts, grid, strict=True):
        for line in chart.lines:
            look = style.get(line.label) or handles.get(line.label, {}) or _style(next(free, 0))
            if not isinstance(look, dict):
                look = {"color": look.get_color(), "marker": look.get_marker()}
            handles[line.label] = _plot(ax, line, look)
        _logarithmic(ax)
        ax.set(xlabel=chart.x_label, ylabel=chart.y_label)
        ax.set_title(text(chart.title, 48), loc="left", size=9)
    _legend(figure, handles)
    return figure


def _plot(ax: Axes, line: Line, look: dict[str, Any]) -> Any:
    if line.kind == "bound":
        look = {"color": "#5b6470", "linestyle": "--", "linewidth": 1.0}
    elif line.kind == "points":
        look = {"color": look["color"], "marker": look["marker"], "linestyle": "none"}
    return ax.plot(line.x, [float("nan") if y is None else y for y in line.y], **look, markersize=4)[0]
