"""What is known of a problem's optimum before a cell runs, and the files of a results folder that keep it."""

import contextlib
import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from marginbench.harness.model.bounds import Known
from marginbench.harness.model.problem import Point

FOLDER = "references"
"""Below a results folder: one file per problem, of optima that were computed and certified for that run."""


def write_known(path: Path, known: Known) -> None:
    """Plain arrays; NaN stands for None. Under a temporary name first, since others may write the same."""
    path.parent.mkdir(parents=True, exist_ok=True)
    point = known.point or Point(np.zeros(0))
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(
                file,
                bounds=np.array([known.lower, known.upper], dtype=float),
                infeasible=known.infeasible,
                w=point.w,
                b=point.b,
                alpha=np.zeros(0) if point.alpha is None else point.alpha,
            )
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def read_known(path: Path) -> Known | None:
    """None where the file is missing or is no such file."""
    with contextlib.suppress(OSError, ValueError, KeyError, EOFError), np.load(path, allow_pickle=False) as data:
        lower, upper = _bounds(data["bounds"])
        alpha = data["alpha"] if data["alpha"].size else None
        point = Point(data["w"], float(data["b"]), alpha) if data["w"].size else None
        return Known(lower, upper, "computed", point, bool(data["infeasible"]))
    return None


def references(folders: Sequence[Path], problems: Iterable[str]) -> dict[str, tuple[float, float | None, str]]:
    """Problem key -> (lower, upper, source), for tables, from the files of results folders."""
    found = {}
    for key in set(problems):
        for path in (folder / FOLDER / f"{key}.npz" for folder in folders):
            with (
                contextlib.suppress(OSError, ValueError, KeyError, EOFError),
                np.load(path, allow_pickle=False) as data,
            ):
                lower, upper = _bounds(data["bounds"])
                if lower is not None:
                    found[key] = (lower, upper, "computed")
                    break
    return found


def _bounds(pair: np.ndarray) -> tuple[float | None, float | None]:
    lower, upper = (None if np.isnan(v) else float(v) for v in pair)
    return lower, upper
