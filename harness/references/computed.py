"""Bounds that were computed for a run, and the files of a results folder that keep them.

A file holds the point that proves the bounds. Whoever has the data proves them again (`bounds_of_point`) and uses what
comes out, not what the file says. A report has no data: it reads the numbers, and a checksum tells damage.
"""

import contextlib
import hashlib
import math
import re
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from marginbench.harness.cell.certificate import certify
from marginbench.harness.cell.hulls import proven_to_meet
from marginbench.harness.files import write_atomically
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.model.problem import Point, Problem
from marginbench.harness.model.validity import InvalidPoint

FOLDER = "references"
"""Below a results folder: one file per problem, of optima that were computed and certified for that run."""

SHARP = 1e-11
"""The gap that bounds should have."""


def bounds_of_point(problem: Problem, point: Point | None) -> Bounds:
    """What `point` proves of the optimum; nothing where it is none."""
    if point is None:
        return Bounds()
    try:
        found = certify(problem, point, accuracy=SHARP)
    except InvalidPoint:
        return Bounds()
    if found.beyond:
        return Bounds()
    if problem.hard and found.primal is None and point.alpha is not None and proven_to_meet(problem, point.alpha):
        return Bounds(math.inf, math.inf, "computed", point)
    lower = -math.inf if found.own_dual is None else max(0.0, found.own_dual)
    return Bounds(lower, math.inf if found.primal is None else found.primal, "computed", point)


def is_key(problem: str) -> bool:
    """Whether a text can be the key of a problem. What a record holds may be anything, a path as well."""
    return re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,200}", problem) is not None


def path_of(folder: Path, problem: str) -> Path:
    return folder / FOLDER / f"{problem}.npz"


def write_bounds(folder: Path, problem: str, bounds: Bounds) -> None:
    """Plain arrays, with the problem's key and a checksum."""
    point = bounds.point or Point(np.zeros(0))
    arrays: dict[str, Any] = {
        "key": np.array(problem),
        "bounds": np.array([bounds.lower, bounds.upper]),
        "w": point.w,
        "b": np.array(point.b),
        "alpha": np.zeros(0) if point.alpha is None else point.alpha,
    }
    arrays["sha256"] = np.array(_checksum(arrays))
    write_atomically(path_of(folder, problem), lambda file: np.savez(file, **arrays))


def _checksum(arrays: dict[str, Any]) -> str:
    sha = hashlib.sha256(str(arrays["key"]).encode())
    for name in ("bounds", "w", "b", "alpha"):
        sha.update(f"{name} {np.shape(arrays[name])}".encode() + np.asarray(arrays[name], dtype="<f8").tobytes())
    return sha.hexdigest()


def read_bounds(folder: Path, problem: str) -> Bounds | None:
    """None where the file is missing, damaged, a link, or about another problem."""
    path = path_of(folder, problem)
    if not is_key(problem) or path.is_symlink() or path.parent.is_symlink():
        return None
    unreadable = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error)
    with contextlib.suppress(*unreadable), np.load(path, allow_pickle=False) as data:
        arrays = dict(data)
        if "infeasible" in arrays:  # version 0.1: neither key nor checksum
            arrays["bounds"] = np.full(2, math.inf) if arrays["infeasible"] else arrays["bounds"]
        elif str(arrays["key"]) != problem or str(arrays["sha256"]) != _checksum(arrays):
            return None
        lower, upper = (float(end) for end in arrays["bounds"])
        alpha = arrays["alpha"] if arrays["alpha"].size else None
        point = Point(arrays["w"], float(arrays["b"]), alpha) if arrays["w"].size else None
        return Bounds(lower, upper, "computed", point)
    return None
