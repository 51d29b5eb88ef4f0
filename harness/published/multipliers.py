"""How many multipliers of an optimum are positive, and how many are at their bound, where there may be many optima.

Given are the rows on the margin as vectors z_i = y_i (x_i, 1), the last entry for a free bias only. The optimal alpha
are those in the box with sum_i alpha_i z_i = v, v known to within `error`. Two optimal alpha differ by a vector of the
null space of these rows. Rows without a part in it have one alpha_i, known to within delta = error / (smallest singular
value above 0). The others fall into groups that share null vectors: a repeated row and its copy are the common case.

    positive: a group with a sum that is not 0 has at least one, at most all of its rows
    at bound: at most the rows that a linear program can move to their bound, and no more than fit into the largest sum
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog
from scipy.sparse.csgraph import connected_components

from marginbench.harness.model.problem import Array
from marginbench.harness.published.claim import Range

ZERO = 1e-10
"""Of the largest eigenvalue of a Gram matrix: smaller ones are rounding."""

LARGEST_GROUP = 200
"""Rows of a group for which linear programs are solved."""


@dataclass(frozen=True)
class Multipliers:
    """gram_ij = z_i.z_j of the rows on the margin, one optimal alpha of theirs, and their bounds."""

    gram: Array
    alpha: Array
    upper: Array
    error: float

    @cached_property
    def _spectrum(self) -> tuple[Array, Array]:
        values, vectors = np.linalg.eigh(self.gram)
        return values, vectors

    @cached_property
    def _null(self) -> Array:
        """Orthonormal columns that span the null space."""
        values, vectors = self._spectrum
        return vectors[:, values <= ZERO * values[-1]] if values.size else np.zeros((0, 0))

    @property
    def unique(self) -> bool:
        return self._null.shape[1] == 0

    @cached_property
    def delta(self) -> float:
        values = self._spectrum[0]
        above = values[values > ZERO * values[-1]] if values.size else values
        return self.error / math.sqrt(above[0]) if above.size else 0.0

    @cached_property
    def _fixed(self) -> Array:
        """Rows that every null vector leaves alone."""
        return np.linalg.norm(self._null, axis=1) <= 1e-7

    def _groups(self) -> Iterator[Array]:
        rows = np.flatnonzero(~self._fixed)
        shared = np.abs(self._null[rows] @ self._null[rows].T) > 1e-7
        count, label = connected_components(sp.csr_array(shared), directed=False)
        for group in range(count):
            yield rows[label == group]

    @property
    def positive(self) -> Range:
        """Of the rows on the margin, how many have alpha_i > 0."""
        fixed = self.alpha[self._fixed]
        low, high = int((fixed > self.delta).sum()), fixed.size
        for rows in self._groups():
            a = self.alpha[rows]
            low += int(math.sqrt(max(0.0, float(a @ self.gram[np.ix_(rows, rows)] @ a))) > self.error)
            high += rows.size
        return Range(low, high)

    @property
    def at_bound(self) -> Range:
        """Of the rows on the margin, how many have alpha_i = C_i."""
        fixed = self._fixed
        high = int((self.alpha[fixed] + self.delta >= self.upper[fixed]).sum())
        return Range(0, high + sum(self._most_at_bound(rows) for rows in self._groups()))

    def _most_at_bound(self, rows: Array) -> int:
        if rows.size > LARGEST_GROUP:
            return int(rows.size)
        upper = self.upper[rows]
        reach = sum(self._largest(rows, np.arange(rows.size) == i) + self.delta >= upper[i] for i in range(rows.size))
        total = self._largest(rows, np.ones(rows.size, bool))
        return min(reach, math.floor((total + self.delta * rows.size) / float(upper.min())))

    def _largest(self, rows: Array, chosen: Array) -> float:
        """The largest sum of the chosen alpha_i of a group over all optimal alpha."""
        V, a = self._null[rows], self.alpha[rows]
        limits = np.concatenate([self.upper[rows] - a, a]) + self.delta
        found = linprog(-V[chosen].sum(axis=0), np.vstack([V, -V]), limits, bounds=(None, None))
        return float(a[chosen].sum()) + (-float(found.fun) if found.success else math.inf)
