"""When a run came within an accuracy: paths and ladders, failures that reach nothing, peers without a proof."""

import math

import pytest
from sample_records import OPTIMUM
from timed_records import traced

from marginbench.harness.model.bounds import Bounds
from marginbench.harness.records.record import Record
from marginbench.harness.reporting.accuracy import ACCURACIES, arrivals, reached
from marginbench.harness.reporting.comparison import Comparison

FOUR = (1e-2, 1e-3, 1e-6, 1e-9)


def at(r: Record) -> list[float]:
    known = Comparison.of([r]).bounds[r.problem]
    assert arrivals(r, known)[: len(ACCURACIES), 0].tolist() == [reached(r, a, known) for a in ACCURACIES]
    return [reached(r, accuracy, known) for accuracy in FOUR]


def test_a_path_is_there_at_its_first_iterate_within_the_accuracy_and_building_is_billed():
    path = traced("m", [(0.1, 0.5), (0.2, 9e-3), (0.3, 2e-2), (0.4, 1e-4), (0.9, 1e-6)], build_seconds=1.0)
    assert at(path) == pytest.approx([1.2, 1.4, 1.9, math.inf])


def test_a_ladder_is_there_with_its_fastest_rung():
    ladder = traced("m", [(0.5, 1e-4), (0.3, 5e-4), (2.0, 1e-7), (1.5, 1e-10)], info={"restarts": True})
    assert at(ladder) == pytest.approx([0.3, 0.3, 1.5, 1.5])


@pytest.mark.parametrize("status", ["wrong", "invalid", "failed", "crashed", "memory", "skipped", "infeasible"])
def test_a_failure_reaches_nothing_whatever_its_curve_says(status):
    assert at(traced("m", [(1e-6, 0.0)], status=status)) == [math.inf] * 4


@pytest.mark.parametrize("status", ["inaccurate", "timeout"])
def test_short_of_what_was_asked_is_still_as_far_as_it_came(status):
    assert at(traced("m", [(0.1, 1e-5)], status=status)) == pytest.approx([0.1, 0.1, math.inf, math.inf])


def test_a_gap_below_zero_is_a_contradiction_and_no_win():
    assert at(traced("m", [(0.1, -1e-3), (0.2, None), (0.3, 0.0)])) == pytest.approx([0.3] * 4)


def test_a_peer_may_be_right_without_a_proof_and_an_own_solver_may_not():
    curve = [(0.1, 0.3, OPTIMUM * (1 + 1e-7))]
    known = Comparison.of([traced("m", [])], {"p": Bounds(OPTIMUM, OPTIMUM, "stored")}).bounds["p"]
    assert reached(traced("m", curve, peer=True), 1e-6, known) == pytest.approx(0.1)
    assert reached(traced("m", curve), 1e-6, known) == math.inf
