"""Bounds that were computed for a run, and the files of a results folder that keep them."""

import contextlib
import math
from pathlib import Path
from typing import Any

import numpy as np

from marginbench.harness.files import write_atomically
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.model.problem import Point

FOLDER = "references"
"""Below a results folder: one file per problem, of optima that were computed and certified for that run."""


def path_of(folder: Path, problem: str) -> Path:
    return folder / FOLDER / f"{problem}.npz"


def write_bounds(folder: Path, problem: str, bounds: Bounds) -> None:
    """Plain arrays; NaN stands for an end that is not known."""
    ends = [end if math.isfinite(end) else math.nan for end in (bounds.lower, bounds.upper)]
    point = bounds.point or Point(np.zeros(0))
    arrays: dict[str, Any] = {
        "bounds": np.array(ends),
        "infeasible": np.array(bounds.infeasible),
        "w": point.w,
        "b": np.array(point.b),
        "alpha": np.zeros(0) if point.alpha is None else point.alpha,
    }
    write_atomically(path_of(folder, problem), lambda file: np.savez(file, **arrays))


def read_bounds(folder: Path, problem: str) -> Bounds | None:
    """None where the file is missing or is no such file."""
    unreadable = (OSError, ValueError, KeyError, EOFError)
    with contextlib.suppress(*unreadable), np.load(path_of(folder, problem), allow_pickle=False) as data:
        if data["infeasible"]:
            return Bounds(math.inf, math.inf, "computed")
        lower, upper = (float(end) for end in data["bounds"])
        alpha = data["alpha"] if data["alpha"].size else None
        point = Point(data["w"], float(data["b"]), alpha) if data["w"].size else None
        lower, upper = (-math.inf if math.isnan(lower) else lower), (math.inf if math.isnan(upper) else upper)
        return Bounds(lower, upper, "computed", point)
    return None
