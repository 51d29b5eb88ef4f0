"""The order of all compared methods on one set of problems, and how much it depends on the problems and the measure.

First comes who reaches the accuracy on more problems, then who has the smaller shifted geometric mean

    exp(mean ln(t + shift)) - shift        a failure counts as the limit of its own cell

PAR-2, the arithmetic mean with failures at twice the limit, stands beside it, and so do other shifts: where the order
changes with them, the order is a matter of taste. `first` is the share of resampled sets of data sets in which a method
leads.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from marginbench.harness.reporting.comparison import natural
from marginbench.harness.reporting.resampling import by_cluster, weights

SHIFTS = {"wall": (0.001, 0.01, 0.1), "cpu": (0.001, 0.01, 0.1), "passes": (1.0, 10.0, 100.0)}
"""Small, usual, large; differences far below the shift count for nothing."""


@dataclass(frozen=True)
class Rank:
    method: str
    place: int
    """From 1."""
    reached: int
    """Problems, out of all that are compared."""
    fastest: int
    """Problems on which no other method is faster."""
    mean: float
    """Shifted geometric mean with the usual shift."""
    ratio: float
    """`mean` over that of the method in front."""
    par2: float
    first: float
    places: dict[str, int]
    """The place by every other measure: each shift alone, PAR-2, the number of problems reached."""


def shift_of(clock: str) -> float:
    return SHIFTS[clock][1]


def shifted_geometric_mean(t: np.ndarray, limit: np.ndarray, shift: float) -> np.ndarray:
    """Of each column of t[p, s]; infinity without problems, and where a failure has no limit."""
    if not len(t):
        return np.full(t.shape[1], math.inf)
    return np.asarray(np.exp(np.log(charged(t, limit) + shift).mean(axis=0)) - shift)


def charged(t: np.ndarray, limit: np.ndarray, times: float = 1.0) -> np.ndarray:
    """t with every failure at `times` its limit; a failure whose limit is not known stays infinite."""
    with np.errstate(over="ignore"):  # a limit beyond a double is none
        at = np.where(np.isnan(limit), math.inf, times * limit)
    return np.where(np.isfinite(t), t, at)


def par(t: np.ndarray, limit: np.ndarray, times: float = 2.0) -> np.ndarray:
    """The penalised average runtime of each column."""
    return charged(t, limit, times).mean(axis=0) if len(t) else np.full(t.shape[1], math.inf)


def ranking(methods: Sequence[str], t: np.ndarray, limit: np.ndarray, datasets: np.ndarray, clock: str) -> list[Rank]:
    """t[p, s] and limit[p, s] of a complete block: no NaN in t."""
    shift, arrived = shift_of(clock), np.isfinite(t)
    mean, reached, par2 = shifted_geometric_mean(t, limit, shift), arrived.sum(axis=0), par(t, limit)
    best = t.min(axis=1, initial=math.inf)[:, None]
    fastest = (arrived & (t == best)).sum(axis=0)
    share = first_share(t, limit, datasets, shift)
    names = [natural(method) for method in methods]
    order = sorted(range(len(methods)), key=lambda s: (-reached[s], mean[s], names[s]))
    measures = {f"shift {x:g}": shifted_geometric_mean(t, limit, x) for x in SHIFTS[clock]}
    measures |= {"PAR-2": par2, "reached": -reached.astype(float)}
    places = {name: 1 + (values[:, None] > values[None, :]).sum(axis=1) for name, values in measures.items()}
    lead = float(mean[order[0]]) if order else math.inf
    return [
        Rank(
            methods[s],
            place,
            int(reached[s]),
            int(fastest[s]),
            float(mean[s]),
            _over(float(mean[s]), lead),
            float(par2[s]),
            float(share[s]),
            {name: int(found[s]) for name, found in places.items()},
        )
        for place, s in enumerate(order, 1)
    ]


def _over(a: float, b: float) -> float:
    return a / b if b > 0.0 and math.isfinite(b) else math.nan


def first_share(t: np.ndarray, limit: np.ndarray, datasets: np.ndarray, shift: float) -> np.ndarray:
    """For each method the share of resamples of data sets in which it leads, as `ranking` orders. Ties are shared."""
    if not t.size:
        return np.zeros(t.shape[1])
    _, clusters = np.unique(datasets, return_inverse=True)
    W = weights(int(clusters.max()) + 1).astype(float)
    arrived = W @ by_cluster(np.isfinite(t).astype(float), clusters)
    logs = np.log(np.minimum(charged(t, limit), 1e300) + shift)  # finite: infinity times a weight of 0 is NaN
    size = W @ by_cluster(np.ones(len(t)), clusters)
    mean = (W @ by_cluster(logs, clusters)) / size[:, None]
    most = arrived == arrived.max(axis=1, keepdims=True)
    mean = np.where(most, mean, math.inf)
    lead = mean <= mean.min(axis=1, keepdims=True) * (1.0 + 1e-12 * np.sign(mean.min(axis=1, keepdims=True)))
    return np.asarray((lead / lead.sum(axis=1, keepdims=True)).mean(axis=0))
