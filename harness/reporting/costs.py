"""What every method paid on every problem, to one accuracy and on one clock.

    t[p, s]       median over the runs; infinity: asked and not reached; NaN: not asked
    limit[p, s]   what a failure is charged: the time that this very cell was given

Where a method was given more time on some problems in another run (`marginbench report RUN LONGER`), that run alone
says when it came to the accuracies that it was asked for. Passes are seconds over the time of one pass over the same
data on the same machine: the median of what all runs there measured, one unit for all methods of a problem.
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from scipy.stats import binom

from marginbench.harness.model.bounds import Bounds
from marginbench.harness.records.machine import machine_name
from marginbench.harness.records.record import Record
from marginbench.harness.reporting.accuracy import (
    CHOICES,
    CLOCKS,
    EQUAL,
    arrivals,
    asked_gap,
    given_seconds,
    limit,
)
from marginbench.harness.reporting.comparison import number
from marginbench.harness.reporting.coverage import Question
from marginbench.harness.reporting.medians import median

RESAMPLES = 1000
LEAST = 1e-9
"""Seconds: nothing takes less, so that every time has a logarithm."""


@dataclass(frozen=True)
class Costs:
    """All cells of a question at one accuracy and clock. The runs of a cell stand side by side, sorted."""

    values: np.ndarray
    """Costs of all runs that tell, cell after cell, ascending within each."""
    first: np.ndarray
    """[p, s]: where the runs of a cell begin."""
    count: np.ndarray
    """[p, s]: how many it has; 0 where it was not asked."""
    limit: np.ndarray
    uniforms: "Uniforms"

    @cached_property
    def t(self) -> np.ndarray:
        """[p, s], by the one definition of a median: `medians.median`."""
        found = np.full(self.count.shape, math.nan)
        asked = self.count > 0
        found[asked] = self.values[self.first[asked] + self.count[asked] // 2]
        return found

    @cached_property
    def finite(self) -> np.ndarray:
        """[p, s]: runs that arrived. They stand in front."""
        arrived = np.concatenate([[0], np.cumsum(np.isfinite(self.values))])
        return arrived[self.first + self.count] - arrived[self.first]

    def runs(self, p: int, s: int) -> np.ndarray:
        return self.values[self.first[p, s] : self.first[p, s] + self.count[p, s]]

    @cached_property
    def spread(self) -> np.ndarray:
        """ln of each run over the median of its cell, in all cells with three or more, widened by what the median took.

        Sorted. Empty where no cell was repeated so often.
        """
        found = [np.empty(0)]
        for runs in self._repeated(3):
            k = runs.shape[1]
            logs = np.log(np.maximum(runs, LEAST))
            found.append(((logs - median(logs)[:, None]) * math.sqrt(k / (k - 1))).ravel())
        return np.sort(np.concatenate(found))

    @cached_property
    def differences(self) -> np.ndarray:
        """|ln a/b| of all pairs a, b of repeats of one cell: an A/A test in every cell that ran more than once."""
        found = [np.empty(0)]
        for runs in self._repeated(2):
            i, j = np.triu_indices(runs.shape[1], 1)
            logs = np.log(np.maximum(runs, LEAST))
            found.append(np.abs(logs[:, i] - logs[:, j]).ravel())
        return np.concatenate(found)

    def _repeated(self, least: int) -> list[np.ndarray]:
        """Runs of the cells in which all arrived, those with equally many together: [cell, run]."""
        whole = (self.finite == self.count) & (self.count >= least)
        return [
            self.values[self.first[whole & (self.count == k)][:, None] + np.arange(k)]
            for k in np.unique(self.count[whole])
        ]

    @cached_property
    def floor(self) -> float | None:
        """The noise floor: 19 of 20 pairs of repeats of one cell differ by less than this ratio. None without pairs."""
        return math.exp(np.percentile(self.differences, 95)) if self.differences.size else None

    def draws(self, p: int, methods: np.ndarray) -> np.ndarray:
        """[s, RESAMPLES]: ln of the median in bootstrap samples of the runs that arrived; NaN where none did.

        Fewer than three runs tell too little of their own noise: that of all other cells takes its place, and NaN
        where no cell was repeated. The median of a sample is drawn at once, from its exact distribution. Of one problem
        at a time: those of all are larger than all the rest together.
        """
        found = np.full((len(methods), RESAMPLES), math.nan, dtype=np.float32)
        arrived = np.where(np.isfinite(self.t[p, methods]), self.finite[p, methods], 0)
        for m in set(arrived.tolist()) - {0}:
            cells = p, methods[arrived == m]
            if m >= 3:
                place = np.searchsorted(median_cdf(m, m), self.uniforms.values[cells])
                found[arrived == m] = np.log(np.maximum(self.values[self.first[cells][:, None] + place], LEAST))
            elif self.spread.size:
                place = np.searchsorted(median_cdf(m, self.spread.size), self.uniforms.values[cells])
                found[arrived == m] = np.log(np.maximum(self.t[cells], LEAST))[:, None] + self.spread[place]
        return found


@cache
def median_cdf(k: int, m: int) -> np.ndarray:
    """P(the median of k draws out of m sorted values is at most the i-th), i = 1 ... m; the upper median.

    It is where k // 2 + 1 of the draws are.
    """
    found = binom.sf(k // 2, k, np.arange(1, m + 1) / m)
    found[-1] = 1.0
    found.setflags(write=False)
    return np.asarray(found)


@dataclass(frozen=True)
class Ledger:
    """Everything that the runs of a question paid, read once; `costs` picks an accuracy and a clock."""

    shape: tuple[int, int]
    cell: np.ndarray
    """Of each run its cell, p * S + s, ascending."""
    gap: np.ndarray
    given: np.ndarray
    """Of each run the budget and the limit in seconds."""
    limit: np.ndarray
    arrived: np.ndarray
    """[run, accuracy, clock] in seconds and passes."""
    unit: np.ndarray
    """[run]: seconds of a pass."""
    uniforms: "Uniforms"

    @classmethod
    def of(cls, question: Question) -> "Ledger":
        shape = len(question.tasks), len(question.methods)
        flat: list[tuple[int, Record, Bounds]] = [
            (p * shape[1] + s, r, question.tasks[p].bounds)
            for p, row in enumerate(question.runs)
            for s, cell in enumerate(row)
            for r in cell
        ]
        seconds = np.array([arrivals(r, known) for _, r, known in flat]).reshape(len(flat), len(CHOICES), 2)
        unit = _units([(cell // shape[1], r) for cell, r, _ in flat])
        return cls(
            shape,
            np.array([cell for cell, _, _ in flat], dtype=int),
            np.array([asked_gap(r) for _, r, _ in flat]),
            np.array([given_seconds(r) for _, r, _ in flat]).reshape(len(flat), 2),
            np.array([limit(r) for _, r, _ in flat]),
            np.concatenate([seconds, (seconds[:, :, 0] / unit[:, None])[:, :, None]], axis=2),
            unit,
            _uniforms(question),
        )

    @cached_property
    def one_unit(self) -> bool:
        """Whether all runs on a problem have the same time of a pass, so that ratios in passes are those in seconds."""
        if np.isnan(self.unit).any():  # no run on that problem got as far as a pass
            return False
        problem = self.cell // self.shape[1]
        low, high = np.full(self.shape[0], math.inf), np.full(self.shape[0], -math.inf)
        np.minimum.at(low, problem, self.unit)
        np.maximum.at(high, problem, self.unit)
        return bool((low == high).all())

    def costs(self, accuracy: float | None, clock: str) -> Costs:
        told = self._telling(accuracy)
        cell = self.cell[told]
        paid = self.arrived[told, CHOICES.index(accuracy), CLOCKS.index(clock)]
        # Where a run arrived and this clock was not read, the problem says nothing.
        problem = cell // self.shape[1]
        known = ~np.isin(problem, problem[np.isnan(paid)])
        cell, paid, told = cell[known], paid[known], told[known]
        order = np.lexsort((paid, cell))
        count = np.bincount(cell, minlength=self.shape[0] * self.shape[1])
        scale = self.unit[told] if clock == "passes" else np.ones(told.size)
        limits = np.full(count.size, math.nan)
        with np.errstate(over="ignore"):  # a limit beyond a double is none
            np.fmax.at(limits, cell, self.limit[told] / scale)  # passes over a run whose limit is not known
        return Costs(
            paid[order],
            (np.cumsum(count) - count).reshape(self.shape),
            count.reshape(self.shape),
            limits.reshape(self.shape),
            self.uniforms,
        )

    def _telling(self, accuracy: float | None) -> np.ndarray:
        """Runs that were asked for this accuracy; of these, in each cell, those that were given the most time.

        As asked, the tightest question of a cell is the one that counts.
        """
        asked = np.flatnonzero(self.gap <= (math.inf if accuracy is None else accuracy * EQUAL))
        keys = [self.given[:, 0], self.given[:, 1]]
        for key in [-self.gap, *keys] if accuracy is None else keys:
            most = np.full(self.shape[0] * self.shape[1], -math.inf)
            np.maximum.at(most, self.cell[asked], key[asked])
            asked = asked[key[asked] == most[self.cell[asked]]]
        return asked


def _units(runs: list[tuple[int, Record]]) -> np.ndarray:
    """Of each run, seconds of a pass over its data on its machine: the median of all runs of the problem there."""
    seen: dict[tuple[int, str], list[float]] = {}
    where = [(p, machine_name(r)) for p, r in runs]
    for key, (_, r) in zip(where, runs, strict=True):
        unit = number(r.pass_seconds)
        if unit is not None and unit > 0.0:
            seen.setdefault(key, []).append(unit)
    units = {key: median(found) for key, found in seen.items()}
    return np.array([units.get(key, math.nan) for key in where])


def _uniforms(question: Question) -> "Uniforms":
    asked = np.array([[bool(cell) for cell in row] for row in question.runs]).reshape(
        len(question.tasks), len(question.methods)
    )
    return Uniforms([task.key for task in question.tasks], question.methods, asked)


@dataclass(frozen=True)
class Uniforms:
    """Random numbers, of each cell its own, so that no other method changes them. Drawn when a cell was repeated."""

    keys: Sequence[str]
    methods: Sequence[str]
    asked: np.ndarray

    @cached_property
    def values(self) -> np.ndarray:
        """[p, s, RESAMPLES], named by the key of the problem and the method; only where asked[p, s]."""
        found = np.empty((*self.asked.shape, RESAMPLES), dtype=np.float32)
        for p, s in zip(*np.nonzero(self.asked), strict=True):
            seed = hashlib.sha256(f"{self.keys[p]}|{self.methods[s]}".encode("utf-8", "replace")).digest()[:8]
            rng = np.random.Generator(np.random.SFC64(int.from_bytes(seed)))
            found[p, s] = rng.random(RESAMPLES, dtype=np.float32)
        return found
