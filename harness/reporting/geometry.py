"""Lines and strips in a rectangle: where they enter it and where they leave."""

import math
from typing import Any

Pair = tuple[float, float]
Segment = tuple[Pair, Pair]
Frame = tuple[float, float, float, float]
"""Left, right, bottom, top."""


def segment(w: Pair, b: float, frame: Frame) -> Segment | None:
    """The part of the line w.x + b = 0 inside the frame; None where it passes by."""
    norm2 = w[0] * w[0] + w[1] * w[1]
    if not 0.0 < norm2 < math.inf:
        return None
    start = (-b * w[0] / norm2, -b * w[1] / norm2)
    along = (-w[1] / math.sqrt(norm2), w[0] / math.sqrt(norm2))
    first, last = -math.inf, math.inf
    for x, v, low, high in ((start[0], along[0], *frame[:2]), (start[1], along[1], *frame[2:])):
        if abs(v) < 1e-12:
            if not low <= x <= high:
                return None
            continue
        ends = sorted(((low - x) / v, (high - x) / v))
        first, last = max(first, ends[0]), min(last, ends[1])
    if first >= last:
        return None
    a, c = ((start[0] + t * along[0], start[1] + t * along[1]) for t in (first, last))
    return a, c


def clipped(w: Pair, b: float, width: float, frame: Frame) -> list[Pair]:
    """The corners of the strip |w.x + b| <= width inside the frame, in order; none where it is outside."""
    left, right, bottom, top = frame
    corners = [(left, bottom), (right, bottom), (right, top), (left, top)]
    for sign in (1.0, -1.0):
        corners = _half_plane(corners, (sign * w[0], sign * w[1]), sign * b + width)
    return corners


def _half_plane(corners: list[Pair], w: Pair, b: float) -> list[Pair]:
    """The part of a convex polygon with w.x + b >= 0. Sutherland and Hodgman 1974."""
    found: list[Pair] = []
    values = [w[0] * x + w[1] * y + b for x, y in corners]
    for k, (p, v) in enumerate(zip(corners, values, strict=True)):
        before, u = corners[k - 1], values[k - 1]
        if (u < 0.0) != (v < 0.0):
            share = u / (u - v)
            found.append((before[0] + share * (p[0] - before[0]), before[1] + share * (p[1] - before[1])))
        if v >= 0.0:
            found.append(p)
    return found


def rounded(value: Any, digits: int = 4) -> Any:
    """Numbers of a picture with no more digits than it shows."""
    if isinstance(value, float):
        return float(f"{value:.{digits}g}")
    if isinstance(value, dict):
        return {key: rounded(entry, digits) for key, entry in value.items()}
    return [rounded(entry, digits) for entry in value] if isinstance(value, list | tuple) else value
