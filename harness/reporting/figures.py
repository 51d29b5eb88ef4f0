"""The report's figures by matplotlib, for papers: profiles, statuses, convergence, effects of parameters, planes.

A method has one look in every figure (`palette`), sizes and fonts are those of `canvas`. Nothing is drawn through
pyplot: no window, no state between figures.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from marginbench.harness.model.bounds import Bounds
from marginbench.harness.records.record import Record
from marginbench.harness.reporting import plane_figures
from marginbench.harness.reporting.accuracy import accuracy_text
from marginbench.harness.reporting.analysis import Analysis, Section
from marginbench.harness.reporting.canvas import (
    LOOK,
    NARROW,
    WIDE,
    decades,
    drawn_as,
    grid,
    handle,
    legend,
    logarithmic,
    save,
    text,
)
from marginbench.harness.reporting.comparison import Comparison, Task
from marginbench.harness.reporting.effects import Line, Panel, panels
from marginbench.harness.reporting.file_names import slug, slugs
from marginbench.harness.reporting.palette import NEUTRAL, Look, look, looks_of
from marginbench.harness.reporting.planes import planes
from marginbench.harness.reporting.profiles import Steps
from marginbench.harness.reporting.series import FLOOR, X_AXES, Y_AXES, Curve, bands, curves, pairs, targets
from marginbench.harness.reporting.status_figure import statuses

MOST_PROBLEMS = 12
"""Problems with a figure of their own, unless all are asked for; and of a run of more than MANY cells, FEW: those have
many curves in every chart, and pages of the problems beside the report."""
MANY, FEW = 500, 4

Looks = Mapping[str, Look]


def write(comparison: Comparison, found: Analysis, folder: Path, every: bool = False) -> list[Path]:
    """The figures that the records have data for, into folder/figures; the paths of the SVG files. found: of the same
    records.

    As SVG, 7 inches wide, and of problems the first few. `every`: of all problems, also as PDF and PNG, and all of it
    once more 3.5 inches wide.
    """
    place = Path(folder) / "figures"
    kinds = ("svg", "pdf", "png") if every else ("svg",)
    with matplotlib.rc_context(LOOK):
        saved = [save(figure, place, name, kinds) for name, figure in _figures(comparison, found, folder, every)]
        if every:
            for name, figure in _figures(comparison, found, folder, every, NARROW):
                save(figure, place, f"{name}_narrow", kinds)
    return saved


def drawn(
    records: Sequence[Record], references: Mapping[str, Bounds] | None = None, folder: Path | None = None
) -> Iterator[tuple[str, Figure]]:
    """Each figure that the records have data for, with its name. `folder`: where the points of planes are."""
    with matplotlib.rc_context(LOOK):
        comparison = Comparison.of(records, references)
        yield from _figures(comparison, Analysis(comparison.merged), folder)


def _figures(
    comparison: Comparison, found: Analysis, folder: Path | None, every: bool = False, width: float = WIDE
) -> Iterator[tuple[str, Figure]]:
    look_of = looks_of(comparison)
    if len(comparison.records) > 1:
        yield "statuses", statuses(comparison, width)
    for study in found.studies:
        for accuracy in study.accuracies if every else (study.accuracy,):
            section = study.section(accuracy)
            if len(section.methods) > 1 and len(section.problems) > 1:
                name = f"profiles_{slug(study.question.name)}"
                yield f"{name}_{slug(accuracy_text(accuracy))}" if every else name, profiles(section, look_of, width)
    most = shown_problems(len(comparison.records))
    shown = comparison.tasks if every else comparison.tasks[:most]
    for task, name in zip(shown, slugs(comparison.tasks), strict=False):
        if figure := convergence(task, look_of, width):
            yield name, figure
    for name, charts in panels(comparison).items():
        for k, page in enumerate(_pages(charts), 1):
            if k <= most or every:
                yield name if k == 1 else f"{name}_{k}", special(page, look_of, width)
    if folder is not None:
        yield from plane_figures.drawn(planes(comparison, folder), look_of, width)


def shown_problems(cells: int) -> int:
    """How many problems of a run of so many cells have a figure of their own."""
    return FEW if cells > MANY else MOST_PROBLEMS


# -- convergence ---------------------------------------------------------------------------------------------------

CHARTS = [
    ("seconds", "gap"),
    ("passes", "suboptimality"),
    ("iterations", "suboptimality"),
    ("iterations", "dual_error"),
    ("seconds", "kkt_primal"),
    ("seconds", "kkt_dual"),
    ("seconds", "kkt_stationarity"),
    ("seconds", "kkt_complementarity"),
]


def convergence(task: Task, look_of: Looks, width: float = WIDE) -> Figure | None:
    """Gap, suboptimality and KKT residuals of every method on a problem; None where no chart has anything to show."""
    found = curves(task)
    charts = [chart for chart in CHARTS if _shows(found, *chart)]
    if not charts:
        return None
    handles: dict[str, Any] = {c.label: handle(look_of[c.label]) for c in found if c.main}
    beside = _beside(found, task, charts)
    title = text(task.title, int(width * 15))
    figure, axes = grid(len(charts), width, [*handles, *(name for name, _ in beside)], title)
    for ax, (x, y) in zip(axes, charts, strict=True):
        _bands(ax, found, x, y, look_of)
        for c in found:
            if c.main and (points := pairs(c.x[x], c.y[y])):
                _path(ax, c, points, look_of[c.label])
        _theory(ax, found, x, y, look_of)
        logarithmic(ax, zero=FLOOR)
        for gap in targets(task) if y == "gap" else ():
            ax.axhline(gap, color=NEUTRAL, linewidth=0.8, linestyle=(0, (4, 2)))
            ax.set_ylim(min(ax.get_ylim()[0], gap / 2.0), None)
        ax.set(xlabel=X_AXES[x], ylabel=Y_AXES[y])
    legend(figure, handles | dict(beside))
    return figure


def _shows(found: Sequence[Curve], x: str, y: str) -> bool:
    """Whether a chart has a curve in it: two points, and not all of them zero. Of the dual, only beside a theorem."""
    if y == "dual_error" and not any(c.dual_bound for c in found):
        return False
    drawn = [pairs(c.x[x], c.y[y]) for c in found if c.main]
    return sum(map(len, drawn)) > 1 and any(v > FLOOR for points in drawn for _, v in points)


def _path(ax: Axes, c: Curve, points: list[tuple[float, float]], look: Look) -> None:
    """A ladder of independent solves is a staircase, marked rung by rung; of a path only the end is marked."""
    xs, ys = zip(*points, strict=True)
    if c.ladder:
        ax.step(xs, ys, where="post", **drawn_as(look))
    else:
        ax.plot(xs, ys, **drawn_as(look), markevery=[len(xs) - 1])


def _bands(ax: Axes, found: Sequence[Curve], x: str, y: str, look_of: Looks) -> None:
    for band in bands(found, x, y):
        ax.fill_between(band.x, band.low, band.high, color=look_of[band.label].colour, alpha=0.2, linewidth=0)


BOUND: dict[str, Any] = {"linewidth": 0.9, "linestyle": ":"}
FEW_FITS = 4
FITTED: dict[str, Any] = {"linewidth": 0.8, "linestyle": (0, (6, 2, 1, 2, 1, 2))}


def _theory(ax: Axes, found: Sequence[Curve], x: str, y: str, look_of: Looks) -> None:
    """What is promised of an error, and the rate that was fitted to it, in the colour of the method."""
    for c in found:
        promised = {"suboptimality": c.bound, "dual_error": c.dual_bound}.get(y, [])
        if c.main and x == "iterations" and (points := pairs(c.x[x], promised)):
            ax.plot(*zip(*points, strict=True), color=look_of[c.label].colour, **BOUND)
        if c.fit and (x, y) == ("iterations", "suboptimality"):
            ax.plot(c.fit.x, c.fit.y, color=look_of[c.label].colour, **FITTED)


def _beside(found: Sequence[Curve], task: Task, charts: Sequence[tuple[str, str]]) -> list[tuple[str, Any]]:
    """What the legend explains beside the methods."""
    entries: list[tuple[str, Any]] = []
    if targets(task) and ("seconds", "gap") in charts:
        entries.append(("gap asked for", Line2D([], [], color=NEUTRAL, linewidth=0.8, linestyle=(0, (4, 2)))))
    if ("iterations", "suboptimality") in charts:
        if any(c.bound or c.dual_bound for c in found if c.main):
            name = "bound by theory (if random, in expectation)"
            entries.append((name, Line2D([], [], color=NEUTRAL, **BOUND)))
        entries += [(name, Line2D([], [], color=NEUTRAL, **FITTED)) for name in _fitted([c for c in found if c.fit])]
    return entries


def _fitted(found: Sequence[Curve]) -> list[str]:
    """What the legend says of fitted rates: of each, or of all together where they would fill it."""
    factors = [(c.label, c.fit.factor) for c in found if c.fit]
    if len(factors) <= FEW_FITS:
        return [f"times {factor:.3g} per iteration, fitted, not proven: {label}" for label, factor in factors]
    low, high = (pick(factor for _, factor in factors) for pick in (min, max))
    return [f"times {low:.3g} to {high:.3g} per iteration, fitted, not proven"]


# -- profiles ------------------------------------------------------------------------------------------------------


def profiles(section: Section, look_of: Looks, width: float = WIDE) -> Figure:
    """Within tau times the best; within so many seconds; and over all targets, a problem to one accuracy each.

    Shares of the problems that all methods were asked; failures never arrive. The legend has the order of the ranking;
    methods that never arrive are named there, not drawn.
    """
    methods, charts = section.methods, _profile_charts(section)
    arrived = {m for m, steps in zip(methods, section.data_profile, strict=True) if steps}
    names = {m: m if m in arrived else f"{m} (never)" for m in methods}
    to = "as asked" if section.accuracy is None else f"gap {accuracy_text(section.accuracy)}"
    title = text(f"{section.study.question.name}, {to}: {len(section.problems)} problems", int(width * 15))
    figure, axes = grid(len(charts), width, list(names.values()), title)
    for ax, (stairs_of, x_label, y_label) in zip(axes, charts, strict=True):
        xs = [x for steps in stairs_of.values() for x, _ in steps] or [1.0]
        first, last = min(xs) / (1.05 if ax is axes[0] else 1.5), max(xs) * 1.5
        for turn, method in enumerate(methods):
            if stairs_of.get(method):
                _stairs(ax, stairs_of[method], first, last, look_of[method], turn)
        decades(ax.xaxis, [first, last])
        ax.set(xlabel=x_label, ylabel=y_label, ylim=(0.0, 1.03))
    legend(figure, {names[m]: handle(look_of[m]) for m in names})
    return figure


def _profile_charts(section: Section) -> list[tuple[dict[str, Steps], str, str]]:
    """(staircases by method, x, y) of each chart."""
    methods = section.methods
    targets_by_name = dict(zip(*section.study.targets(), strict=True))
    return [
        (dict(zip(methods, section.profile, strict=True)), "wall time over the best method's", "share of problems"),
        (dict(zip(methods, section.data_profile, strict=True)), X_AXES["seconds"], "share of problems"),
        (targets_by_name, X_AXES["seconds"], "share of targets"),
    ]


def _stairs(ax: Axes, stairs: Steps, first: float, last: float, look: Look, turn: int) -> None:
    """A staircase, its marks at most a dozen; who leads is drawn on top."""
    xs = [first, *(x for x, _ in stairs), last]
    ys = [0.0, *(y for _, y in stairs), stairs[-1][1]]
    every = max(1, len(stairs) // 12)
    marks = list(range(1 + turn % every, len(xs) - 1, every))
    ax.step(xs, ys, where="post", **drawn_as(look), markevery=[*marks, len(xs) - 1], zorder=3.0 - 0.01 * turn)


# -- effects of parameters -----------------------------------------------------------------------------------------


def _pages(charts: Sequence[Panel], most: int = 6) -> Iterator[list[Panel]]:
    """At most six charts to a figure; those of one title stay together."""
    page: list[Panel] = []
    titles = dict.fromkeys(chart.title for chart in charts)
    for title in titles:
        group = [chart for chart in charts if chart.title == title]
        if page and len(page) + len(group) > most:
            yield page
            page = []
        page += group
    if page:
        yield page


def special(charts: Sequence[Panel], look_of: Looks, width: float = WIDE) -> Figure:
    """Small charts side by side, three to a line."""
    free = count()
    drawn: dict[str, Look] = {}
    for line in (line for chart in charts for line in chart.lines):
        if line.label not in drawn:
            drawn[line.label] = look_of.get(line.label) or look(next(free))
    handles = {line.label: _handle(line, drawn[line.label]) for chart in charts for line in chart.lines}
    alone = charts[0].title if len({chart.title for chart in charts}) == 1 and len(charts) > 1 else ""
    figure, axes = grid(len(charts), width, list(handles), text(alone, int(width * 15)), titled=not alone)
    for chart, ax in zip(charts, axes, strict=True):
        for line in chart.lines:
            _plot(ax, line, drawn[line.label])
        logarithmic(ax, y=chart.logarithmic, zero=FLOOR)
        ax.set(xlabel=chart.x_label, ylabel=chart.y_label)
        if not alone:
            ax.set_title(text(chart.title, 34), loc="left")
    legend(figure, handles)
    return figure


def _options(line: Line, look: Look) -> dict[str, Any]:
    if line.kind == "bound":
        return {"color": NEUTRAL, "linestyle": "--", "linewidth": 1.0}
    return drawn_as(look) | ({"linestyle": "none"} if line.kind == "points" else {})


def _handle(line: Line, look: Look) -> Line2D:
    options = _options(line, look)
    if line.kind == "points":
        options.pop("dashes")
    return Line2D([], [], **options)


def _plot(ax: Axes, line: Line, look: Look) -> None:
    options = _options(line, look)
    if line.kind == "points":
        options.pop("dashes")
    ax.plot(line.x, [float("nan") if y is None else y for y in line.y], **options)
