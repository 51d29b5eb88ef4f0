"""Intervals and tests over data sets, against cases worked by hand and against scipy."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from marginbench.harness.reporting.costs import median_cdf
from marginbench.harness.reporting.medians import median, median_ratio
from marginbench.harness.reporting.resampling import (
    FAILURE,
    Interval,
    digits,
    holm,
    mean_intervals,
    median_interval,
    signed_rank,
)

MEASURED = Path(__file__).resolve().parents[2] / "results" / "readme" / "frontier.csv"


def one(logs: np.ndarray, clusters: np.ndarray) -> tuple[float, float, float]:
    return tuple(float(x[0]) for x in mean_intervals(logs[:, None], clusters))


def test_two_data_sets_by_hand():
    """Means 0 and 1: the bootstrap's mean is 0, 1/2 or 1 with 1/4, 1/2, 1/4, so that its deviation is sqrt(1/8)."""
    mean, low, high = one(np.array([0.0, 1.0]), np.array([0, 1]))
    far = 12.706 * math.sqrt(2.0)
    assert mean == 0.5
    assert (0.5 - low, high - 0.5) == pytest.approx((far * math.sqrt(0.125),) * 2, rel=0.03)


def test_problems_of_one_data_set_are_one_witness():
    """Ten copies of each of three data sets are no more certain than three."""
    logs, clusters = np.array([0.1, 0.5, 0.9]), np.arange(3)
    alone, copied = one(logs, clusters), one(np.repeat(logs, 10), np.repeat(clusters, 10))
    assert copied == pytest.approx(alone)
    counted_apart = one(np.repeat(logs, 10), np.arange(30))
    assert counted_apart[2] - counted_apart[1] < 0.4 * (alone[2] - alone[1])


def test_a_data_set_with_more_problems_weighs_more():
    mean, _, _ = one(np.array([0.0, 0.0, 0.0, 1.0]), np.array([0, 0, 0, 1]))
    assert mean == 0.25


def test_with_many_data_sets_it_is_the_interval_of_scipy():
    values = np.random.default_rng(1).gamma(2.0, 1.0, 60)
    _, low, high = one(values, np.arange(60))
    theirs = stats.bootstrap((values,), np.mean, method="percentile", n_resamples=4000, rng=2).confidence_interval
    width = theirs.high - theirs.low
    assert (low, high) == pytest.approx((theirs.low, theirs.high), abs=0.1 * width)
    assert high - low > 0.97 * width


def test_95_percent_is_95_percent_also_for_few_data_sets():
    """Five data sets of normal ratios: the true mean is inside in about 95 of 100 cases, not in 80."""
    rng = np.random.default_rng(3)
    logs = rng.normal(0.0, 1.0, (5, 2000))
    _, low, high = mean_intervals(logs, np.arange(5))
    assert 0.93 < ((low <= 0.0) & (high >= 0.0)).mean() < 0.985


def test_a_column_counts_only_the_problems_that_it_has():
    logs = np.array([[0.0, 5.0], [1.0, math.nan], [2.0, math.nan]])
    mean, low, high = mean_intervals(logs, np.arange(3))
    assert mean.tolist() == [1.0, 5.0]
    assert low[0] < 1.0 < high[0]
    assert math.isnan(low[1])  # one data set says nothing of others
    same = mean_intervals(np.array([[0.0], [1.0], [2.0]]), np.arange(3))
    assert (low[0], high[0]) == (same[1][0], same[2][0])


def test_the_measured_frontier_has_the_spread_over_problems_that_an_independent_computation_gives():
    """LIBLINEAR to 1e-6: 12 times, with a median of 5.0; by a plain loop over drawn data sets 6 to 27, with Student's t
    a little more. With a free bias, the best peer: 29, 53, 68."""
    frame = pd.read_csv(MEASURED)
    table = frame[(frame["bias"] == "none") & (frame["accuracy"] == 1e-6)].pivot(
        index=["dataset", "C"], columns="method", values="seconds"
    )
    logs = np.log(table["liblinear"] / table["auto"])
    logs = logs[np.isfinite(logs)]
    names = logs.index.get_level_values(0)
    mean, low, high = one(logs.to_numpy(), pd.factorize(names)[0])
    rng, by_name = np.random.default_rng(4), [group.to_numpy() for _, group in logs.groupby(names)]
    drawn = [np.concatenate([by_name[k] for k in rng.integers(len(by_name), size=len(by_name))]) for _ in range(4000)]
    ends = np.percentile([x.mean() for x in drawn], [2.5, 97.5])
    assert math.exp(mean) == pytest.approx(11.95, abs=0.01)
    assert median_ratio(np.exp(logs)) == pytest.approx(5.03, abs=0.01)
    assert np.exp(ends) == pytest.approx([5.8, 26.0], rel=0.05)
    assert low < ends[0] < mean < ends[1] < high
    assert high - low < 1.2 * (ends[1] - ends[0])
    free = frame[(frame["bias"] == "free") & frame["method"].isin(["auto", "best peer"])]
    wide = free.pivot(index=["accuracy", "dataset", "C"], columns="method", values="seconds")
    ratios = np.log(wide["best peer"] / wide["auto"]).replace(math.inf, math.nan).groupby("accuracy").mean()
    assert np.exp(ratios.loc[[1e-3, 1e-6, 1e-9]]).tolist() == pytest.approx([29, 53, 68], abs=0.5)


def test_the_median_has_an_interval_of_its_own():
    logs = np.random.default_rng(5).normal(1.0, 1.0, 80)
    low, high = median_interval(logs, np.arange(80))
    theirs = stats.bootstrap((logs,), np.median, method="percentile", n_resamples=3000, rng=1).confidence_interval
    assert (low, high) == pytest.approx((theirs.low, theirs.high), abs=0.25 * (theirs.high - theirs.low))
    assert all(map(math.isnan, median_interval(logs, np.zeros(80, dtype=int))))
    turned = median_interval(-logs, np.arange(80))
    assert turned == pytest.approx((-high, -low))


def test_the_median_of_a_resample_is_drawn_from_its_exact_distribution():
    """Three draws out of three: their median is the smallest value where two or three of them are: 7 of 27."""
    assert median_cdf(3, 3) == pytest.approx([7 / 27, 20 / 27, 1.0])
    assert median_cdf(2, 2) == pytest.approx([1 / 4, 1.0])  # the upper one of two
    rng = np.random.default_rng(6)
    drawn = median(rng.integers(5, size=(100_000, 4)))
    assert np.diff(median_cdf(4, 5), prepend=0.0) == pytest.approx(np.bincount(drawn.astype(int)) / 1e5, abs=0.006)


# -- tests ---------------------------------------------------------------------------------------------------------


def test_signed_rank_is_that_of_scipy_over_data_sets():
    rng = np.random.default_rng(7)
    logs, clusters = rng.normal(0.3, 1.0, (24, 5)), np.repeat(np.arange(12), 2)
    expected = [stats.wilcoxon(column.reshape(12, 2).mean(axis=1)).pvalue for column in logs.T]
    assert signed_rank(logs, clusters) == pytest.approx(expected)


def test_signed_rank_by_hand_and_failures_are_the_largest_differences():
    assert signed_rank(np.array([[0.1], [0.2], [0.3]]), np.arange(3)) == pytest.approx([2 / 8])
    lost_once = signed_rank(np.array([[0.1], [0.2], [0.3], [-FAILURE]]), np.arange(4))
    assert lost_once == pytest.approx(stats.wilcoxon([1, 2, 3, -4]).pvalue)
    assert signed_rank(np.array([[math.nan], [0.0]]), np.arange(2)) == [1.0]


def test_holm_by_hand():
    assert holm(np.array([0.01, 0.04, 0.03, 0.005])) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm(np.array([0.6, 0.7])) == pytest.approx([1.0, 1.0])


def test_intervals_in_words():
    assert str(Interval(0.98, 6.04)) == "0.98 to 6"
    assert [digits(x) for x in (0.123, 2.44, 15.2, 103.7, 5e-4)] == ["0.12", "2.4", "15", "104", "0.0005"]
    assert Interval(0.5, 4.0).inverse() == Interval(0.25, 2.0)
