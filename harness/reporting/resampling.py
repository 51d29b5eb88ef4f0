"""How sure a mean over problems is: intervals by resampling data sets, and tests over data sets.

Problems on the same data are no independent witnesses, so whole data sets are drawn (a cluster bootstrap). The interval
is the wider, at each end, of two that agree when there are many data sets (Hesterberg 2015, sections 4.3 and 5.2):
- the percentiles of the resampled means, taken further out for few data sets ("expanded"): they follow a skewed spread;
- mean -+ t times the bootstrap's standard error: percentiles never leave the range of the data sets seen, so that with
  fewer than six of them no percentile is far enough out for 95 %.
BCa is no help here: its acceleration comes from leaving out one data set at a time, which says little of five.
"""

import math
from collections import defaultdict
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.stats import norm, wilcoxon
from scipy.stats import t as student

RESAMPLES = 2000
LEVEL = 0.95
FAILURE = 700.0
"""|ln ratio| of a problem that one of two methods did not reach: larger than any that was measured."""


NOTHING = 1e6
"""An interval whose ends are further apart than this says nothing, and its ends are not worth a number."""


@dataclass(frozen=True)
class Interval:
    low: float
    high: float

    def __str__(self) -> str:
        return "0 to ∞" if self.empty else f"{digits(self.low)} to {digits(self.high)}"

    @property
    def empty(self) -> bool:
        """Whether it says nothing."""
        return self.high > NOTHING * self.low

    @property
    def has_one(self) -> bool:
        """Whether a ratio of 1 is in it."""
        return self.low <= 1.0 <= self.high

    def inverse(self) -> "Interval":
        return Interval(1.0 / self.high, 1.0 / self.low)


def digits(x: float) -> str:
    """A ratio with two digits, whole from 100 on."""
    return f"{x:.0f}" if 99.5 <= x < 1e6 else f"{x:.2g}"


@cache
def weights(clusters: int) -> np.ndarray:
    """[RESAMPLES, clusters]: how often each data set is in each resample; the same numbers every time."""
    rng = np.random.default_rng(clusters)
    found = rng.multinomial(clusters, np.full(clusters, 1.0 / clusters), size=RESAMPLES).astype(np.float32)
    found.setflags(write=False)
    return found


def by_cluster(values: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """Sums over the problems of each data set: values[p, ...] -> [cluster, ...]."""
    found = np.zeros((int(clusters.max(initial=-1)) + 1, *values.shape[1:]))
    np.add.at(found, clusters, values)
    return found


def mean_intervals(logs: np.ndarray, clusters: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(mean, low, high) of each column of logs[p, column], NaN where a problem does not count in a column.

    Low and high are NaN for a column that has fewer than two data sets.
    """
    counted = ~np.isnan(logs)
    sums, sizes = by_cluster(np.where(counted, logs, 0.0), clusters), by_cluster(counted.astype(float), clusters)
    seen = sizes > 0.0
    low, high = np.full(logs.shape[1], math.nan), np.full(logs.shape[1], math.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = sums.sum(axis=0) / sizes.sum(axis=0)
    # Only data sets that are in a column are drawn for it: columns with the same ones together.
    patterns, which = np.unique(seen, axis=1, return_inverse=True)
    for k, pattern in enumerate(patterns.T):
        c = int(pattern.sum())
        if c >= 2:
            columns = np.flatnonzero(which.ravel() == k)
            W = weights(c)
            means = (W @ sums[np.ix_(pattern, columns)]) / (W @ sizes[np.ix_(pattern, columns)])
            low[columns], high[columns] = _ends(means, mean[columns], c)
    return mean, low, high


def _ends(resampled: np.ndarray, centre: np.ndarray, clusters: int) -> tuple[np.ndarray, np.ndarray]:
    far, tail = _tails(clusters)
    low, high = np.percentile(resampled, [tail, 100.0 - tail], axis=0)
    error = resampled.std(axis=0)
    return np.minimum(low, centre - far * error), np.maximum(high, centre + far * error)


def _tails(clusters: int) -> tuple[float, float]:
    """(how many standard errors, which percentile): by Student's t, and for the bootstrap's narrower error."""
    far = float(student.ppf(0.5 + LEVEL / 2, clusters - 1)) * math.sqrt(clusters / (clusters - 1))
    return far, 100.0 * float(norm.cdf(-far))


def median_interval(logs: np.ndarray, clusters: np.ndarray) -> tuple[float, float]:
    """(low, high) of the median of logs[p] over resampled data sets: expanded percentiles. NaN below two data sets."""
    _, which = np.unique(clusters, return_inverse=True)
    c = int(which.max(initial=-1)) + 1
    if c < 2:
        return math.nan, math.nan
    order = np.argsort(logs, kind="stable")
    passed = np.cumsum(weights(c)[:, which[order]], axis=1)
    size = passed[:, -1:]
    lower, upper = (logs[order][(passed <= place).sum(axis=1)] for place in ((size - 1) // 2, size // 2))
    resampled = 0.5 * (lower + upper)  # as `medians.median_ratio`
    low, high = np.percentile(resampled, [_tails(c)[1], 100.0 - _tails(c)[1]])
    return float(low), float(high)


def signed_rank(logs: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """Wilcoxon's signed rank test over data sets of each column of logs[p, column]: the two-sided p.

    The value of a data set is the mean over its problems. +-FAILURE, where only one of two methods arrived, is the
    largest of all differences. NaN (neither arrived) does not count. 1 where no data set does. Exact for up to 50 data
    sets without ties.
    """
    counted = ~np.isnan(logs)
    sums, sizes = by_cluster(np.where(counted, logs, 0.0), clusters), by_cluster(counted.astype(float), clusters)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sums / sizes
    means[means == 0.0] = math.nan  # no difference at all says nothing of its direction
    together: dict[tuple[int, str], list[int]] = defaultdict(list)
    for k, column in enumerate(means.T):
        sizes_of = np.abs(column[~np.isnan(column)])
        exact = sizes_of.size <= 50 and np.unique(sizes_of).size == sizes_of.size
        together[sizes_of.size, "exact" if exact else "approx"].append(k)
    found = np.ones(logs.shape[1])
    for (size, method), columns in together.items():
        if size:
            chosen = means[:, columns].T
            values = chosen[~np.isnan(chosen)].reshape(len(columns), size)
            found[columns] = wilcoxon(values, axis=1, method=method).pvalue
    return found


def holm(p: np.ndarray) -> np.ndarray:
    """Holm's correction 1979: the smallest p times their number, the next one times one less, ...; never decreasing."""
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    found = np.empty(p.size)
    found[order] = np.minimum(steps, 1.0)
    return found
