"""Pictures of problems with one or two features: rows, margins and hyperplanes, and the ways of w."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from marginbench.harness.reporting.canvas import (
    LETTER,
    NARROW,
    SIZE,
    SMALL,
    WIDE,
    drawn_as,
    grid,
    handle,
    legend,
    legend_size,
    place,
    text,
)
from marginbench.harness.reporting.palette import COLOURS, NEUTRAL, Look
from marginbench.harness.reporting.planes import KINDS, Answer, Plane

CLASSES: dict[int, dict[str, Any]] = {
    1: {"marker": "o", "color": COLOURS[0]},
    -1: {"marker": "^", "color": COLOURS[1]},
}
RINGS: dict[str, dict[str, Any]] = {
    "m": {"marker": "o", "markersize": 6.5, "markeredgewidth": 1.0},
    "i": {"marker": "s", "markersize": 5.5, "markeredgewidth": 0.7},
    "w": {"marker": "x", "markersize": 5.5, "markeredgewidth": 1.0},
}
"""Around a support vector, by its kind."""

ROW: dict[str, Any] = {"linestyle": "none", "markersize": 2.6, "markeredgewidth": 0.0}
RING: dict[str, Any] = {"linestyle": "none", "markerfacecolor": "none", "markeredgecolor": "#222222"}
STEP = 1.35 * SMALL / 72.0
"""Inches from one line of a sentence to the next."""


def drawn(found: Sequence[Plane], look_of: Mapping[str, Look], width: float = WIDE) -> Iterator[tuple[str, Figure]]:
    """Numbered in the order in which they are to be read."""
    for k, plane in enumerate(found, 1):
        yield f"plane_{k:02d}", picture(plane, width)
        if any(len(answer.weights) > 2 and answer.label == answer.method for answer in plane.answers):
            yield f"plane_{k:02d}_path", ways(plane, look_of)


def picture(plane: Plane, width: float = WIDE) -> Figure:
    """A square for each method, with its sentences below."""
    across = min(3 if width > NARROW else 1, len(plane.answers))
    cell = width / across if width > NARROW else width
    side = min(cell - 0.25, 2.5)
    letters = int((cell - 0.12) / (0.92 * LETTER))
    words = [_words(answer, letters) for answer in plane.answers]
    below = max(len(lines) for lines in words) * STEP + 0.12
    lines = -(-len(words) // across)
    entries = _entries(plane)
    _, foot = legend_size(list(entries), width)
    step = 0.22 + side + below
    figure = Figure(figsize=(width, 0.3 + lines * step + foot))
    more = "" if plane.of == len(plane.rows) else f" ({len(plane.rows)} of {plane.of} rows drawn)"
    H = figure.get_figheight()
    figure.text(
        0.05 / width, 1.0 - 0.05 / H, text(plane.title + more, int(width * 15)), va="top", weight="bold", size=SIZE
    )
    for k, (answer, said) in enumerate(zip(plane.answers, words, strict=True)):
        left, top = 0.08 + cell * (k % across), 0.52 + step * (k // across)
        ax = place(figure, left, top, side, side)
        _scene(ax, plane, answer)
        ax.set_title(text(answer.label, int(side / LETTER)), loc="left", weight="bold")
        figure.text(
            left / width, 1.0 - (top + side + 0.05) / H, "\n".join(said), va="top", size=SMALL, linespacing=1.25
        )
    legend(figure, entries)
    return figure


def _words(answer: Answer, letters: int) -> list[str]:
    return [line for said in (answer.lesson, answer.found) if said for line in textwrap.wrap(text(said, 400), letters)]


def _scene(ax: Axes, plane: Plane, answer: Answer) -> None:
    left, right, bottom, top = plane.frame
    if answer.band:
        ax.fill(*zip(*answer.band, strict=True), color="#E3E7EC", linewidth=0, zorder=0)
    for k, step in enumerate(answer.iterates[:-1]):
        shade = 0.15 + 0.45 * (k + 1) / len(answer.iterates)
        ax.plot(*zip(*step, strict=True), color="#882255", linewidth=0.6, alpha=shade, zorder=1)
    for edge in answer.edges:
        ax.plot(*zip(*edge, strict=True), color=NEUTRAL, linewidth=0.7, linestyle=(0, (4, 2)), zorder=2)
    if answer.slope:
        ax.plot(*zip(*answer.slope, strict=True), color=NEUTRAL, linewidth=0.9, zorder=2)
    if answer.line:
        ax.plot(*zip(*answer.line, strict=True), color="#222222", linewidth=1.4, zorder=2)
    for label, options in CLASSES.items():
        rows = [row for row, y in zip(plane.rows, plane.labels, strict=True) if y == label]
        if rows:
            ax.plot(*zip(*rows, strict=True), **ROW, **options, zorder=3)
    for letter, options in RINGS.items():
        rows = [row for row, kind in zip(plane.rows, answer.kinds, strict=False) if kind == letter]
        if rows:
            ax.plot(*zip(*rows, strict=True), **RING, **options, zorder=4)
    ax.set(xlim=(left, right), ylim=(bottom, top), xticks=[], yticks=[])
    ax.spines[:].set_visible(True)
    paper = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
    ax.text(0.98, 0.02, plane.axes[0], transform=ax.transAxes, ha="right", va="bottom", size=SMALL, bbox=paper)
    ax.text(0.02, 0.98, plane.axes[1], transform=ax.transAxes, ha="left", va="top", size=SMALL, bbox=paper)


def _entries(plane: Plane) -> dict[str, Any]:
    """What the legend explains: only what is there."""
    kinds = {letter for answer in plane.answers for letter in answer.kinds}
    entries: dict[str, Any] = {
        f"y = {label:+d}": Line2D([], [], **(ROW | {"markersize": 4.0}), **options)
        for label, options in CLASSES.items()
        if label in plane.labels
    }
    entries |= {KINDS[k]: Line2D([], [], **RING, **options) for k, options in RINGS.items() if k in kinds}
    entries["hyperplane"] = Line2D([], [], color="#222222", linewidth=1.4)
    if any(answer.slope for answer in plane.answers):
        entries["f(x) = w x + b"] = Line2D([], [], color=NEUTRAL, linewidth=0.9)
    if any(answer.band for answer in plane.answers):
        entries["margin"] = Patch(color="#E3E7EC")
    if any(len(answer.iterates) > 1 for answer in plane.answers):
        entries["on its way (the later, the stronger)"] = Line2D([], [], color="#882255", linewidth=0.8, alpha=0.6)
    return entries


def ways(plane: Plane, look_of: Mapping[str, Look]) -> Figure:
    """How w moved: the way of each method from its first iterate to its last, which is marked."""
    moving = [answer for answer in plane.answers if len(answer.weights) > 2]
    handles = {answer.label: handle(look_of[answer.method]) for answer in moving}
    names = ("w1", "w2") if plane.features == 2 else ("w", "b")
    figure, (ax,) = grid(1, NARROW, list(handles), text(plane.title, 52))
    for answer in moving:
        xs, ys = zip(*answer.weights, strict=True)
        ax.plot(xs, ys, **drawn_as(look_of[answer.method]), markevery=[len(xs) - 1])
    ax.set(xlabel=names[0], ylabel=names[1])
    legend(figure, handles)
    return figure
