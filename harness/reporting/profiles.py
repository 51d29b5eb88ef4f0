"""Staircases over problems: performance profiles, data profiles, and the distribution over targets.

A failure is at infinity: it never lifts a staircase. The denominator is the number of compared problems, the same for
all methods. Dolan and More 2002; More and Wild 2009 (data profiles); Hansen et al. 2016 (ECDF over targets).
"""

import math
from collections.abc import Sequence

import numpy as np

from marginbench.harness.reporting.costs import LEAST

Steps = list[tuple[float, float]]
"""From x on, the share is y."""


def performance_profile(t: np.ndarray) -> list[Steps]:
    """For each method: the share of all problems solved within x times the time of the best method in t[p, s].

    The order of two methods can change with the others that take part (Gould and Scott 2016): look at pairs too.
    """
    best = np.maximum(t.min(axis=1, initial=math.inf), LEAST)[:, None]
    with np.errstate(invalid="ignore"):
        ratios = np.where(np.isfinite(t), np.maximum(t, LEAST) / best, math.inf)
    return [staircase(column) for column in ratios.T]


def data_profile(t: np.ndarray) -> list[Steps]:
    """For each method: the share of all problems solved within x, in seconds or passes, whatever the others do."""
    return [staircase(column) for column in t.T]


def target_profile(blocks: Sequence[np.ndarray]) -> list[Steps]:
    """For each method: the share of all targets met within x. A target is a problem to one accuracy; of each accuracy
    one block t[p, s] with the same methods."""
    return data_profile(np.concatenate(blocks)) if blocks else []


def staircase(values: np.ndarray) -> Steps:
    """One step per distinct finite value."""
    found, counts = np.unique(values[np.isfinite(values)], return_counts=True)
    shares = np.cumsum(counts) / max(values.size, 1)
    return [(float(x), float(y)) for x, y in zip(found, shares, strict=True)]
