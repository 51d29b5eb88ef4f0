"""`problem.weight`: how much each row counts. C_i = C * weight_i.

    null                          every row counts once
    balanced                      n / (2 n_class): both classes weigh the same
    {positive: 2, negative: 0.5}  a number for each class; 1 where one is left out
    FILE, FILE:COLUMN             a number for each row: .npy, or text with one number a line; a named column of a .csv
    [1, 2, 0.5, ...]              a number for each row, from Python

A row of weight 2 is the same as the row twice, one of weight 0 the same as no row: it is left out of the problem. The
file is read whenever the problem is made; its numbers, not its name, are part of the problem's key.
"""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from marginbench.harness.errors import InputError
from marginbench.harness.model.problem import Array

POSSIBLE = "null, balanced, {positive: NUMBER, negative: NUMBER}, a file of numbers, FILE.csv:COLUMN"
CLASSES = {"positive": 1.0, "negative": -1.0}


def weights_of(given: Any, y: Array) -> Array | None:
    """A finite weight of at least 0 for each row, each class with some above 0; None where all count once."""
    if given is None:
        return None
    if isinstance(given, str):
        return _balanced(y) if given == "balanced" else _checked(_of_file(given), y, f"problem.weight={given}")
    if isinstance(given, Mapping):
        return _of_classes(given, y)
    if isinstance(given, np.ndarray) or (isinstance(given, Sequence) and given):
        return _checked(given, y, "problem.weight")
    raise InputError(f"problem.weight={given}: possible are {POSSIBLE}")


def _balanced(y: Array) -> Array:
    share = np.where(y > 0, (y > 0).mean(), (y < 0).mean())
    return np.asarray(1.0 / (2.0 * share))


def _of_classes(given: Mapping[str, Any], y: Array) -> Array:
    strange = [str(key) for key in given if key not in CLASSES]
    if strange or not given:
        raise InputError(f"problem.weight={dict(given)}: the classes are called positive and negative")
    weight = np.ones(y.size)
    for key, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 < value < np.inf:
            raise InputError(f"problem.weight.{key}={value}: the weight of a class is a finite number above 0")
        weight[y == CLASSES[key]] = float(value)
    return weight


def _of_file(given: str) -> Any:
    path, _, column = given.rpartition(":") if not Path(given).is_file() and ":" in given else (given, "", "")
    if not Path(path).is_file():
        raise InputError(f"problem.weight={given}: no such file; possible are {POSSIBLE}")
    try:
        if column:
            return _of_column(Path(path), column, given)
        if path.endswith(".npy"):
            return np.load(path, allow_pickle=False)
        return np.loadtxt(path, dtype=np.float64, ndmin=1)
    except (ValueError, OSError, EOFError) as error:
        raise InputError(f"problem.weight={given}: needs one number a line: {' '.join(str(error).split())}") from None


def _of_column(path: Path, column: str, given: str) -> list[float]:
    with path.open(newline="") as file:
        rows = csv.DictReader(file)
        if column not in (rows.fieldnames or ()):
            raise InputError(f"problem.weight={given}: no such column; possible are {', '.join(rows.fieldnames or ())}")
        return [float(row[column]) for row in rows]


def _checked(given: Any, y: Array, name: str) -> Array:
    try:
        weight = np.ascontiguousarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name}: needs {y.size} numbers, one for each row") from None
    if weight.shape != (y.size,):
        raise InputError(f"{name}: has {weight.size} numbers; needs {y.size}, one for each row")
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0.0)))
    if bad.size:
        raise InputError(
            f"{name}: row {bad[0]} (counted from 0) has weight {weight[bad[0]]}; needs a finite number, 0 or more"
        )
    if len(np.unique(y[weight > 0.0])) < len(np.unique(y)):
        raise InputError(f"{name}: every row of a class has weight 0; needs both classes")
    return weight
