"""The path of C: `problem.path=[0.01,0.1,1]`, one solve after another, each begun from the last answer.

Every C of a path is a problem of its own with two cells: a cold one, the same as without a path, and a warm one, whose
solver is given its own answer at the C before (`harness/model/start.py`). The first C has the cold one only.
"""

import math
from collections.abc import Iterator
from typing import Any

from marginbench.harness.errors import InputError


def path_of(given: Any) -> list[float]:
    """The values of `problem.path`; InputError where it is no list of different numbers above 0."""
    if given is None:
        return []
    said = f"problem.path={given}".replace(" ", "")
    needed = "needs a list of different numbers above 0, such as [0.01,0.1,1]"
    if not isinstance(given, list):
        raise InputError(f"{said}: {needed}")
    if not given:
        raise InputError(f"{said}: the list is empty; {needed}")
    for value in given:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InputError(f"{said}: {value} is no number; {needed}")
        if not 0.0 < value < math.inf:
            raise InputError(f"{said}: {value} is not above 0 and finite; {needed}")
    values = [float(value) for value in given]
    for k, value in enumerate(values):
        if value in values[:k]:
            raise InputError(f"{said}: {given[k]} is there twice; {needed}")
    return values


def starts(path: list[float]) -> Iterator[tuple[float, str]]:
    """(C, start) of every cell of a path."""
    for k, C in enumerate(path):
        yield C, "cold"
        if k > 0:
            yield C, "warm"
