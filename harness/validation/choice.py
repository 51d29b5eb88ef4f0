"""Was the choice of a solver that chooses between two the better one? And the fit that its choice is made by.

From the records of `experiment=choice`: problems of a seeded family, each by the solver that chooses (which notes the
features it chose by, and the names of the two) and by the two that it chooses between. Problems of even blocks of four
are for fitting, the others for judging.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from marginbench.harness.model.problem import Array
from marginbench.harness.records.record import Record

ACCURACY = 1e-6
"""That a choice is fitted for."""
LONGEST = 5.0
"""Seconds that stand for any longer time, and for never."""
RIDGE = 0.3


class Measured(NamedTuple):
    """One problem: what the choice was made from, nothing where no model made it, and the seconds that the two and the
    chooser took to an accuracy."""

    number: int
    features: tuple[float, ...]
    first: float
    second: float
    chooser: float
    noise: float = np.nan
    """Fastest run of the better of the two among every other one, over that among the rest; NaN without repeats."""

    @property
    def fitted(self) -> bool:
        """Whether it is one of those that a choice is fitted on."""
        return self.number // 4 % 2 == 0

    @property
    def regret(self) -> float:
        """Time of the chooser over that of the better of the two; NaN where neither came so far."""
        best = min(self.first, self.second)
        return self.chooser / best if best < np.inf else np.nan


def measured(records: Sequence[Record], accuracy: float) -> list[Measured]:
    """Own solvers reach an accuracy by their certified gap; of several runs the fastest counts."""
    runs: dict[tuple[int, str], list[float]] = {}
    choosers: dict[int, tuple[str, dict[str, Any]]] = {}
    for r in records:
        number = int(r.cell["dataset"].get("number", -1))
        reached = [p["seconds"] for p in r.curve if p["gap"] is not None and p["gap"] <= accuracy]
        runs.setdefault((number, r.method), []).append(min(reached, default=np.inf) + (r.build_seconds or 0.0))
        if r.info.get("between"):
            choosers[number] = r.method, r.info
    found = []
    for number, (chooser, info) in sorted(choosers.items()):
        taken = [runs.get((number, method), []) for method in (*str(info.get("between", "")).split(), chooser)]
        if len(taken) == 3 and all(taken):
            features = tuple(float(word) for word in str(info.get("features", "")).split())
            first, second, own = map(min, taken)
            found.append(Measured(number, features, first, second, own, _noise(min(taken[:2], key=min))))
    return found


def _noise(runs: Sequence[float]) -> float:
    halves = [min(runs[k::2], default=np.inf) for k in (0, 1)]
    return halves[0] / halves[1] if max(halves) < np.inf else np.nan


def fit(problems: Iterable[Measured]) -> Array:
    """Coefficients of log(first / second). Beyond a factor of 20 it no longer matters by how much one is better."""
    known = [one for one in problems if min(one.first, one.second) < np.inf]
    times = np.array([[min(one.first, LONGEST), min(one.second, LONGEST)] for one in known])
    return _least_squares(known, np.clip(np.log(times[:, 0] / times[:, 1]), -3.0, 3.0))


def fit_second(problems: Iterable[Measured]) -> Array:
    """Coefficients of log(nanoseconds of the second), of the problems that it came to an end with."""
    known = [one for one in problems if one.second < np.inf]
    return _least_squares(known, np.log([1e9 * one.second for one in known]))


def _least_squares(problems: Sequence[Measured], z: Array) -> Array:
    """With a small ridge."""
    A = np.array([one.features for one in problems])
    return np.linalg.solve(A.T @ A + RIDGE * np.eye(A.shape[1]), A.T @ z)
