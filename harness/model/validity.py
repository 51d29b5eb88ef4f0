"""Whether what a solver gives is a point at all."""

import numpy as np

from marginbench.harness.model.problem import Array, Point, Problem


class InvalidPoint(ValueError):
    """The proposed point is not a point at all: NaN, wrong shape, wrong type, beyond all numbers."""


def validated(problem: Problem, point: Point) -> Point:
    """The point with float64 arrays; InvalidPoint in words where it is none."""
    w = vector("w", point.w, problem.size)
    b = vector("b", np.atleast_1d(np.asarray(point.b)), 1)
    alpha = None if point.alpha is None else vector("alpha", point.alpha, problem.n)
    xi = None if point.xi is None else vector("xi", point.xi, problem.n)
    return Point(w, float(b[0]), alpha, xi)


def vector(name: str, value: object, size: int) -> Array:
    """`value` as `size` finite float64 numbers."""
    array = np.asarray(value)
    if array.dtype.kind not in "fiu":
        raise InvalidPoint(f"{name} has type {array.dtype}, not real numbers")
    if array.shape != (size,):
        raise InvalidPoint(f"{name} has shape {array.shape}, not ({size},)")
    array = array.astype(np.float64, copy=False)
    if not np.isfinite(array).all():
        raise InvalidPoint(f"{name} has {int((~np.isfinite(array)).sum())} entries that are NaN or infinite")
    return array
