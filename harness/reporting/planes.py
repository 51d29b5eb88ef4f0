"""Problems with one or two features as pictures, in plain numbers: rows, hyperplane, margin, support vectors, iterates.

`planes` gives one `Plane` per problem, `plain` gives it as JSON takes it. With two features the picture is the plane of
x; with one it has x to the right and f(x) = w x + b upwards, where a row stands at its label. Both frames are what a
figure shows: every segment ends at its edge.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from marginbench.harness.model.problem import Array
from marginbench.harness.records.points import DIGITS, Points, read_points
from marginbench.harness.records.record import Record
from marginbench.harness.reporting.comparison import (
    Comparison,
    Task,
    kernel_words,
    number,
    representative,
    show_C,
    succeeded,
)
from marginbench.harness.reporting.geometry import Pair, Segment, clipped, rounded, segment
from marginbench.harness.reporting.lessons import found_sentence, lesson

ON_MARGIN = 1e-3
"""How far from 1 the margin of a row may be that is drawn on the edge: a picture shows no less."""

KINDS = {"m": "on the margin", "i": "inside the margin", "w": "on the wrong side", ".": "beyond the margin"}
"""Letter of a row -> what it is to a hyperplane."""

IMPOSSIBLE = ("infeasible", "unbounded")
"""Statuses of problems without a hyperplane."""

MOST_ITERATES, MOST_STEPS = 12, 60
"""Hyperplanes of a path, and points of a path of w, that are kept."""


@dataclass(frozen=True)
class Answer:
    """What one method made of the problem."""

    label: str
    method: str
    status: str
    lesson: str
    """What it teaches, in a sentence; empty where nothing is written of its formulation."""
    found: str
    """What came out, in a sentence."""
    kinds: str
    """A letter of KINDS for each row; empty where there is no hyperplane."""
    line: Segment | None
    edges: list[Segment]
    band: list[Pair]
    """The margin as a polygon."""
    slope: Segment | None
    """With one feature, f(x)."""
    iterates: list[Segment]
    """The hyperplanes on its way, the first first. A ladder has none: its rungs are no path."""
    weights: list[Pair]
    """The way of (w1, w2); with one feature of (w, b)."""


@dataclass(frozen=True)
class Plane:
    title: str
    features: int
    axes: tuple[str, str]
    frame: tuple[float, float, float, float]
    """Left, right, bottom, top."""
    rows: list[Pair]
    labels: list[int]
    of: int
    """How many rows the data have: more than are drawn, where they are very many."""
    answers: list[Answer]


def plain(plane: Plane) -> dict[str, Any]:
    """As JSON takes it, with four digits."""
    return rounded(asdict(plane))


def planes(comparison: Comparison, folder: Path) -> list[Plane]:
    """One picture for each problem whose rows are kept in `folder`, with its methods in the order that teaches; and one
    for each data set with several C, from small to large. Rows that can be separated come first, and of each data set
    the hard margin."""
    drawn: dict[str, list[tuple[Task, Points]]] = {}
    for task in comparison.tasks:
        flat = task.sample.d <= 2 and not kernel_words(task.sample)
        if flat and (points := read_points(folder, task.key[:DIGITS])) is not None:
            drawn.setdefault(f"{task.key[:DIGITS]} {task.sample.bias} {task.sample.loss}", []).append((task, points))
    found = []
    for group in sorted(drawn.values(), key=lambda pairs: any(task.impossible for task, _ in pairs)):
        group.sort(key=lambda pair: (math.isfinite(pair[0].sample.C), pair[0].sample.C))
        found += [plane for task, points in group if (plane := _problem(task, points)).answers]
        if len(group) > 1:
            found.append(_growing_C([task for task, _ in group], group[0][1]))
    return [plane for plane in found if plane.answers]


def _problem(task: Task, points: Points) -> Plane:
    frame, rows = framed(points)
    answers = []
    for label, runs in task.runs.items():
        r = representative(runs)
        order, words = lesson(r)
        answer = _answer(r, label, label, words, task, points, frame)
        if answer.line is not None or answer.status in IMPOSSIBLE:
            answers.append((order, label, answer))
    return _plane(task.title, points, frame, rows, [a for _, _, a in sorted(answers, key=lambda entry: entry[:2])])


def _growing_C(tasks: Sequence[Task], points: Points) -> Plane:
    """The most exact answer for each C, side by side."""
    frame, rows = framed(points)
    answers = []
    for task in sorted(tasks, key=lambda t: t.sample.C):
        runs = [(r, label) for label, one in task.runs.items() for r in one if succeeded(r) and r.gap is not None]
        if runs:
            r, label = min(runs, key=lambda pair: (pair[0].gap or 0.0, pair[1]))
            answers.append(_answer(r, f"C = {show_C(r.C)}", label, "", task, points, frame))
    r = tasks[0].sample
    return _plane(f"{r.dataset}, bias {r.bias}: as C grows", points, frame, rows, answers if len(answers) > 1 else [])


def _plane(title: str, points: Points, frame: Any, rows: Array, answers: list[Answer]) -> Plane:
    features = points.X.shape[1]
    axes = ("x1", "x2") if features == 2 else ("x", "f(x)")
    pairs = [(float(a), float(b)) for a, b in rows]
    return Plane(title, features, axes, frame, pairs, [int(y) for y in points.y], points.of, answers)


def framed(points: Points) -> tuple[tuple[float, float, float, float], Array]:
    """The frame of a picture and the places of the rows. Two features have the same scale: right angles stay right."""
    X = points.X
    if X.shape[1] == 1:
        spread = 0.5 * ((np.arange(len(X)) * 0.618034) % 1.0 - 0.5)  # rows at one place are seen side by side
        rows = np.column_stack([X[:, 0], points.y + spread])
        low, high = float(X.min()), float(X.max())
        pad = 0.08 * (high - low) or 1.0
        return (low - pad, high + pad, -2.4, 2.4), rows
    centre = 0.5 * (X.max(axis=0) + X.min(axis=0))
    half = 0.56 * float((X.max(axis=0) - X.min(axis=0)).max()) or 1.0
    (left, right), (bottom, top) = ((float(c - half), float(c + half)) for c in centre)
    return (left, right, bottom, top), X


def _answer(
    r: Record, label: str, method: str, words: str, task: Task, points: Points, frame: tuple[float, float, float, float]
) -> Answer:
    w, b = _hyperplane(r)
    if w.size != points.X.shape[1] or not w.any() or r.status in IMPOSSIBLE:
        nothing: list[Any] = []
        said = found_sentence(r, task.bounds, "")
        return Answer(label, method, r.status, words, said, "", None, nothing, nothing, None, nothing, nothing)
    m = points.y * (points.X @ w + b)
    scale, kinds = _kinds(r, m)
    wide, offset = _in_frame(w, b)
    edges = [s for c in (-scale, scale) if scale > 0.0 and (s := segment(wide, offset - c, frame))]
    slope = segment((float(w[0]), -1.0), b, frame) if w.size == 1 else None
    way = [] if r.info.get("restarts") else _way(r, w.size)
    few = _thinned([step for step in way if step[0].any()], MOST_ITERATES)
    iterates = [s for v, c in few if (s := segment(*_in_frame(v, c), frame))]
    weights = [(float(v[0]), float(v[1] if v.size == 2 else c)) for v, c in _thinned(way, MOST_STEPS)]
    band = clipped(wide, offset, scale, frame) if scale > 0.0 else []
    said = found_sentence(r, task.bounds, kinds)
    line = segment(wide, offset, frame)
    return Answer(label, method, r.status, words, said, kinds, line, edges, band, slope, iterates, weights)


def _in_frame(w: Array, b: float) -> tuple[Pair, float]:
    """w.x + b = 0 in the two coordinates of the picture."""
    return (float(w[0]), float(w[1]) if w.size == 2 else 0.0), b


def _hyperplane(r: Record) -> tuple[Array, float]:
    w = r.info.get("w")
    values = [number(v) for v in w] if isinstance(w, list) else []
    b = number(r.info.get("b"))
    if b is None or None in values:
        return np.zeros(0), 0.0
    return np.array(values, dtype=float), b


def _kinds(r: Record, m: Array) -> tuple[float, str]:
    """(half width of the band in units of f, letters). Where only the direction of w counts, the band reaches to the
    nearest row; where it does not separate, there is none."""
    scale = 1.0 if math.isfinite(r.C) else float(m.min())
    if scale <= 0.0:
        return 0.0, "".join("w" if v <= 0.0 else "." for v in m)
    t = m / scale
    near = np.abs(t - 1.0) <= ON_MARGIN
    letters = np.where(t <= 0.0, "w", np.where(near, "m", np.where(t < 1.0, "i", ".")))
    return scale, "".join(letters)


def _way(r: Record, d: int) -> list[tuple[Array, float]]:
    """(w, b) of each iterate that was looked at."""
    found = []
    for entry in r.curve:
        values = [number(entry.get(name)) for name in [*(f"w{j + 1}" for j in range(d)), "b"]]
        if None not in values:
            found.append((np.array(values[:-1], dtype=float), float(values[-1] or 0.0)))
    return found


def _thinned(steps: list[tuple[Array, float]], most: int) -> list[tuple[Array, float]]:
    """First and last, and between them evenly on the logarithm of their number: the first move most."""
    if len(steps) <= most:
        return steps
    marks = np.unique(np.round(np.geomspace(1, len(steps), most)).astype(int)) - 1
    return [steps[k] for k in marks]
