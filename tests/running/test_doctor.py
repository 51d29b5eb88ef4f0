"""The doctor: limits that hold are said to hold, noise is measured, advice follows from what was found."""

import itertools
import os

import numpy as np
import pytest

from marginbench.harness.cell.spec import Cell
from marginbench.harness.running import doctor


@pytest.fixture(scope="module")
def found() -> dict:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=50) > 0, 1.0, -1.0)
    cell = Cell(
        dataset={},
        problem={"C": 1.0, "bias": "none"},
        formulation={"_target_": "marginbench.harness.formulations.dual_qp.DualQP"},
        solver={"_target_": "marginbench.solvers.coordinate_descent.solver.CoordinateDescent"},
        dataset_name="random",
        formulation_name="dual_qp",
        solver_name="coordinate_descent",
    )
    return doctor.report((cell, X, y), repeats=3)


def test_the_limits_of_this_machine_are_tried_and_hold(found):
    assert found["enforced"] == {"memory": True, "core": True, "orphans": True}
    assert found["cores"] >= found["cores_allowed"] == len(os.sched_getaffinity(0))
    assert 0.0 < found["clock_resolution"] < 1e-4
    assert found["memory_mb"] >= found["free_mb"] > 0.0


def test_the_noise_is_that_of_a_real_solver(found):
    noise = found["noise"]
    assert noise["of"] == "coordinate_descent"
    assert noise["floor"] >= 1.0
    assert noise["median_seconds"] > 0.0


def test_without_a_pair_the_harness_times_itself():
    assert doctor._kernel()() > 0.0


def test_the_text_has_every_finding(found):
    text = doctor.text(found)
    for word in ("cores", "governor", "memory limit", "RLIMIT_AS", "clock", "noise floor", "coordinate_descent"):
        assert word in text


def test_equal_times_have_no_noise_and_scattered_ones_have():
    assert doctor.noise_floor(lambda: 0.5, 5)["floor"] == 1.0
    times = itertools.cycle([1.0, 1.3, 0.8, 1.0, 1.1])
    assert 1.02 < doctor.noise_floor(lambda: next(times), 9)["floor"] < 1.7


QUIET = {
    "load": 0.1,
    "cores": 4,
    "cores_allowed": 4,
    "governor": "performance",
    "swap_used_mb": 0.0,
    "free_mb": 16000.0,
    "enforced": {"memory": True, "core": True, "orphans": True},
    "noise": {"floor": 1.01},
}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"load": 3.0}, "Other work"),
        ({"noise": {"floor": 1.25}}, "25 %"),
        ({"governor": "powersave"}, "performance"),
        ({"cores_allowed": 1}, "One core"),
        ({"swap_used_mb": 900.0}, "swapped"),
        ({"free_mb": 512.0}, "limits.memory_mb below 512"),
        ({"enforced": {"memory": False, "core": True, "orphans": True}}, "cannot be limited"),
        ({"enforced": {"memory": True, "core": True, "orphans": False}}, "left behind|leaves behind"),
    ],
)
def test_advice_follows_from_what_was_found(changes, words):
    assert doctor.advice(QUIET) == []
    (sentence,) = doctor.advice(QUIET | changes)
    assert any(word in sentence for word in words.split("|"))
