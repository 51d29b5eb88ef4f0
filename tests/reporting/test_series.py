"""What is drawn of a run: its best so far, the spread of its repeats, what was asked, a rate where there is one."""

import pytest
from sample_records import OPTIMUM, failure, solved

from marginbench.harness.model.bounds import Bounds
from marginbench.harness.reporting import series
from marginbench.harness.reporting.comparison import Comparison

KNOWN = Bounds(OPTIMUM, OPTIMUM, "stored")


def test_a_ladder_shows_the_best_that_a_budget_of_time_buys():
    rungs = [(3, 0.3, 1e-3), (1, 0.1, 1e-1), (2, 0.2, 1e-5), (4, 0.9, None)]
    curve = [{"iteration": k, "seconds": s, "gap": gap, "kkt_dual": 1.0 / k} for k, s, gap in rungs]
    c = series.curve(solved(curve=curve, info={"restarts": True}), "m", KNOWN)
    assert c.x["seconds"] == [0.1, 0.2, 0.3, 0.9]
    assert c.y["gap"] == [1e-1, 1e-5, 1e-5, 1e-5]
    assert c.y["kkt_dual"] == [1.0, 0.5, 1 / 3, 0.25]
    assert set(c.x["iterations"]) == {None}  # a rung is no iteration


def test_a_curve_has_every_kkt_residual_and_the_distance_of_D():
    curve = [{"iteration": 1, "seconds": 0.1, "own_dual": 0.9 * OPTIMUM, "kkt_primal": 0.5, "kkt_complementarity": 0.0}]
    c = series.curve(solved(curve=curve), "m", KNOWN)
    assert c.y["kkt_primal"] == [0.5]
    assert c.y["kkt_complementarity"] == [series.FLOOR]
    assert c.y["kkt_dual"] == [None]
    assert c.y["dual_error"] == pytest.approx([0.1])
    assert set(c.y) == set(series.Y_AXES)


def test_a_band_lies_between_the_best_and_the_worst_of_the_repeats():
    runs = [solved("m", seconds=s, repeat=k, hash=str(k)) for k, s in enumerate((0.1, 0.2, 0.4))]
    (task,) = Comparison.of(runs).tasks
    found = series.curves(task)
    (band,) = series.bands(found, "seconds", "gap")
    assert all(low <= high for low, high in zip(band.low, band.high, strict=True))
    main = next(c for c in found if c.main)
    for x, low, high in zip(band.x, band.low, band.high, strict=True):
        reached = [y for t, y in zip(main.x["seconds"], main.y["gap"], strict=True) if t <= x]
        assert low <= reached[-1] <= high
    assert series.bands(found, "iterations", "gap") == []  # the same iterates in each
    assert series.bands(found[:2], "seconds", "gap") == []  # two runs are no spread


def test_a_rate_is_fitted_where_there_is_one():
    ks = range(1, 60)
    fit = series.fitted(list(ks), [0.7**k for k in ks])
    assert fit.factor == pytest.approx(0.7)
    assert series.fitted(list(ks), [1.0 / k for k in ks]) is None  # too slow a fall to tell
    powers = [2**k for k in range(30)]
    assert series.fitted(powers, [1.0 / k for k in powers]) is None  # straight in the logarithm of k, not in k
    assert series.fitted([1, 2, 3], [1.0, 0.1, 0.01]) is None


def test_what_has_no_optimum_has_no_curve():
    none = failure("infeasible", "a", C=float("inf"))
    (task,) = Comparison.of([none, failure("inaccurate", "b", C=float("inf"))]).tasks
    assert series.curves(task) == []
    (task,) = Comparison.of([none, solved("b", C=float("inf"))]).tasks
    assert [curve.label for curve in series.curves(task)] == ["b"]  # which proves the other one wrong


def test_targets_are_what_was_asked_of_those_who_optimise():
    asked = {"budget": {"gap": 1e-3}}
    runs = [
        solved("a"),
        solved("b", cell=asked),
        solved("p", cell={"budget": {"gap": 0.5}}, info={"judge": "separation"}),
    ]
    (task,) = Comparison.of(runs).tasks
    assert series.targets(task) == [1e-6, 1e-3]
