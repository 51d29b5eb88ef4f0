"""What became of each cell, as a picture: problems by methods."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from marginbench.harness.records.record import Record
from marginbench.harness.records.status import STATUSES, TONES, status_of, worst
from marginbench.harness.reporting.canvas import LETTER, SMALL, WIDE, legend, legend_size, place, text
from marginbench.harness.reporting.comparison import Comparison, succeeded

MOST_ROWS = 40
"""Problems that have a line each; of more, each data set has one."""


@dataclass(frozen=True)
class Row:
    name: str
    runs: dict[str, list[Record]]


def statuses(comparison: Comparison, width: float = WIDE) -> Figure:
    """Of several runs in a place, the share that succeeded is written; the worst one colours it."""
    lines, methods = _lines(comparison), comparison.methods
    most = int(0.36 * width / LETTER)
    names, titles = [text(line.name, most) for line in lines], [text(label, most) for label in methods]
    used = {worst(r.status for r in runs) for line in lines for runs in line.runs.values()}
    patches = {f"{s.sign} {s.name}": Patch(color=TONES[s.tone]) for s in STATUSES.values() if s.name in used}
    patches |= {name: Patch(color=TONES[status_of(name).tone]) for name in sorted(used - set(STATUSES))}
    left, head = max(map(len, names)) * LETTER + 0.12, max(map(len, titles)) * LETTER + 0.15
    side = min(0.6, (width - left - 0.1) / len(methods))
    height = max(min(side, 0.19), 0.13)
    _, below = legend_size(list(patches), width)
    figure = Figure(figsize=(width, head + height * len(lines) + 0.15 + below))
    ax = place(figure, left, head, side * len(methods), height * len(lines))
    for i, line in enumerate(lines):
        for j, label in enumerate(methods):
            if line.runs.get(label):
                _mark(ax, j, i, line.runs[label], side)
    ax.set(xlim=(0, len(methods)), ylim=(len(lines), 0))
    ax.set_xticks([k + 0.5 for k in range(len(methods))], titles, rotation=90)
    ax.set_yticks([k + 0.5 for k in range(len(lines))], names)
    ax.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
    ax.tick_params(axis="x", labelsize=min(SMALL, 72.0 * 0.95 * side))
    ax.tick_params(axis="y", labelsize=min(SMALL, 72.0 * 0.95 * height))
    ax.grid(False)
    ax.spines[:].set_visible(False)
    legend(figure, patches)
    return figure


def _lines(comparison: Comparison) -> list[Row]:
    if len(comparison.tasks) <= MOST_ROWS:
        return [Row(task.title, task.runs) for task in comparison.tasks]
    grouped: dict[str, dict[str, list[Record]]] = {}
    for task in comparison.tasks:
        runs = grouped.setdefault(task.sample.dataset, {})
        for label, some in task.runs.items():
            runs.setdefault(label, []).extend(some)
    return [Row(name, runs) for name, runs in grouped.items()][:MOST_ROWS]


def _mark(ax: Axes, x: int, y: int, runs: Sequence[Record], side: float) -> None:
    status = status_of(worst(r.status for r in runs))
    good = sum(succeeded(r) for r in runs)
    ax.add_patch(Rectangle((x + 0.03, y + 0.05), 0.94, 0.9, color=TONES[status.tone], linewidth=0))
    shown = text(status.sign) if good in (0, len(runs)) else f"{good}/{len(runs)}"
    size = min(SMALL, 72.0 * 1.4 * side / max(len(shown), 2))
    ax.text(x + 0.5, y + 0.52, shown, ha="center", va="center", color="white", weight="bold", size=size)
