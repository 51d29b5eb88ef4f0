"""Problems with one or two features as pictures in the page: paths of SVG, so that they are there without scripts.

Of a problem the rows are drawn once, under a name of their own; each method's picture refers to them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from marginbench.harness.reporting.geometry import Frame, Pair, Segment
from marginbench.harness.reporting.palette import COLOURS, Look
from marginbench.harness.reporting.planes import KINDS, Answer, Plane

SIDE = 240.0
"""Of a picture, in its own units."""

PAD = 0.1
"""Room around the ways of w, as a part of their extent."""

MOST = 80
"""Pictures of a page; the others are among the figures for papers."""

RINGS = {
    "m": "M{x:.1f} {y:.1f}m-5.5 0a5.5 5.5 0 1 0 11 0a5.5 5.5 0 1 0-11 0Z",
    "i": "M{x:.1f} {y:.1f}m-4.5-4.5h9v9h-9Z",
    "w": "M{x:.1f} {y:.1f}m-4.5-4.5l9 9m0-9l-9 9",
}
"""Around a support vector, by its kind, as in `plane_figures`."""

ROWS = {1: "M{x:.1f} {y:.1f}m-2.4 0a2.4 2.4 0 1 0 4.8 0a2.4 2.4 0 1 0-4.8 0Z", -1: "M{x:.1f} {y:.1f}m0-3l2.8 4.8h-5.6Z"}


def pictures(found: Sequence[Plane], look_of: Mapping[str, Look]) -> list[dict[str, Any]]:
    """What the template draws, problem by problem, as long as there are no more than MOST."""
    drawn, left = [], MOST
    for plane in found:
        if len(plane.answers) <= left:
            drawn.append(_plane(plane, look_of))
            left -= len(plane.answers)
    return drawn


def _plane(plane: Plane, look_of: Mapping[str, Look]) -> dict[str, Any]:
    places = [_at(row, plane.frame) for row in plane.rows]
    return {
        "title": plane.title,
        "axes": plane.axes,
        "cut": "" if plane.of == len(plane.rows) else f"{len(plane.rows)} of {plane.of} rows are drawn.",
        "rows": {y: _marks(mark, [p for p, y_i in zip(places, plane.labels, strict=True) if y_i == y])
                 for y, mark in ROWS.items()},
        "kinds": [(k, KINDS[k]) for k in RINGS if any(k in answer.kinds for answer in plane.answers)],
        "slope": any(answer.slope for answer in plane.answers),
        "moves": any(len(answer.iterates) > 1 for answer in plane.answers),
        "answers": [_answer(answer, places, plane.frame) for answer in plane.answers],
        "ways": _ways(plane, look_of),
    }  # fmt: skip


def _answer(answer: Answer, places: Sequence[Pair], frame: Frame) -> dict[str, Any]:
    rings = {k: [p for p, kind in zip(places, answer.kinds, strict=False) if kind == k] for k in RINGS}
    steps = answer.iterates[:-1]
    return {
        "label": answer.label,
        "lesson": answer.lesson,
        "found": answer.found,
        "band": _path([_at(p, frame) for p in answer.band]) + "Z" if answer.band else "",
        "iterates": [(_line(s, frame), f"{0.2 + 0.5 * (k + 1) / len(steps):.2f}") for k, s in enumerate(steps)],
        "edges": "".join(_line(edge, frame) for edge in answer.edges),
        "slope": _line(answer.slope, frame) if answer.slope else "",
        "line": _line(answer.line, frame) if answer.line else "",
        "rings": {k: _marks(RINGS[k], found) for k, found in rings.items() if found},
    }


def _ways(plane: Plane, look_of: Mapping[str, Look]) -> dict[str, Any] | None:
    """How w moved in each method that has a path; None where none has, and where one problem follows another."""
    moving = [a for a in plane.answers if len(a.weights) > 2 and a.label == a.method and a.label in look_of]
    if not moving:
        return None
    frame = _frame([p for answer in moving for p in answer.weights])
    lines = []
    for answer in moving:
        steps = [_at(p, frame) for p in answer.weights]
        one = look_of[answer.label]
        colour = f"var(--c{COLOURS.index(one.colour)})" if one.colour in COLOURS else one.colour
        dash = " ".join(f"{2.0 * x:g}" for x in one.dash)
        lines.append({"label": answer.label, "path": _path(steps), "end": steps[-1], "colour": colour, "dash": dash})
    names = ("w1", "w2") if plane.features == 2 else ("w", "b")
    ends = [f"{x:.3g}" for x in frame]
    return {"lines": lines, "axes": names, "ends": ends}


def _frame(points: Sequence[Pair]) -> Frame:
    (left, right), (bottom, top) = ((min(v), max(v)) for v in zip(*points, strict=True))
    across, up = (PAD * (high - low) or 1.0 for low, high in ((left, right), (bottom, top)))
    return left - across, right + across, bottom - up, top + up


def _at(point: Pair, frame: Frame) -> Pair:
    left, right, bottom, top = frame
    return SIDE * (point[0] - left) / (right - left), SIDE * (top - point[1]) / (top - bottom)


def _marks(mark: str, places: Sequence[Pair]) -> str:
    return "".join(mark.format(x=x, y=y) for x, y in places)


def _line(segment: Segment, frame: Frame) -> str:
    return _path([_at(p, frame) for p in segment])


def _path(points: Sequence[Pair]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
