"""Certificates: they bound the optimum, and nothing that is not a point gets one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import random_problem

from marginbench.harness.cell.certificate import InvalidPoint, certify, hull_distance, infeasible, relative_gap
from marginbench.harness.model.problem import Point, Problem

BIASES = ["none", "free", "augmented"]


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from(BIASES),
    st.sampled_from(["hinge", "squared_hinge"]),
    st.floats(1e-3, 1e3),
    st.floats(-2, 2),
)
def test_any_pair_of_points_encloses_the_optimum_between_its_bounds(seed, bias, loss, C, size):
    """D of any alpha, however infeasible before repair, stays below P of any (w, b)."""
    problem = random_problem(seed % 50, bias=bias, C=C, loss=loss)
    rng = np.random.default_rng(seed)
    b = 0.0 if bias == "none" else float(rng.normal())
    found = certify(problem, Point(rng.normal(size=problem.d), b, C * size * rng.normal(size=problem.n)))
    assert found.primal >= found.dual
    assert found.gap >= 0.0


def test_gap_identity():
    """w = w(alpha), alpha feasible: P - D = sum alpha_i (m_i - 1)_+ + (C - alpha_i)(1 - m_i)_+."""
    problem = random_problem(3, bias="none", C=2.0)
    alpha = np.random.default_rng(1).uniform(0, 2, problem.n)
    found = certify(problem, problem.point(alpha))
    m = problem.margins(problem.weights(alpha))
    total = alpha @ np.maximum(0, m - 1) + (2.0 - alpha) @ np.maximum(0, 1 - m)
    assert found.primal - found.dual == pytest.approx(total, rel=1e-12)
    assert found.kkt_stationarity < 1e-15
    assert found.kkt_dual == 0.0


def test_negative_gap_is_an_error_and_not_a_number():
    assert relative_gap(1.0, 1.0 + 1e-15) == 0.0
    with pytest.raises(AssertionError, match="weak duality"):
        relative_gap(1.0, 1.1)


@pytest.mark.parametrize(
    ("point", "word"),
    [
        (lambda p: Point(np.full(p.d, np.nan)), "NaN"),
        (lambda p: Point(np.full(p.d, np.inf)), "infinite"),
        (lambda p: Point(np.full(p.d, 1e200)), "w has entries beyond 1e\\+100"),
        (lambda p: Point(np.zeros(p.d), 0.0, np.full(p.n, -1e200)), "alpha has entries beyond"),
        (lambda p: Point(np.zeros(p.d + 1)), "shape"),
        (lambda p: Point(np.zeros((p.d, 1))), "shape"),
        (lambda p: Point(np.zeros(p.d, complex)), "complex"),
        (lambda p: Point(np.array([None] * p.d)), "object"),
        (lambda p: Point(np.zeros(p.d), np.nan), "b has"),
        (lambda p: Point(np.zeros(p.d), 0.0, np.zeros(p.n - 1)), "alpha"),
        (lambda p: Point(np.zeros(p.d), 0.0, np.full(p.n, -np.inf)), "alpha"),
    ],
)
def test_what_is_not_a_point_is_refused_in_words(point, word):
    problem = random_problem(0)
    with pytest.raises(InvalidPoint, match=word):
        certify(problem, point(problem))


@pytest.mark.parametrize("bias", BIASES)
def test_at_the_hard_margin_only_the_direction_of_multipliers_counts(bias):
    """An interior point method follows the ray that proves infeasibility to 1e+200."""
    problem = random_problem(5, bias=bias, C=np.inf)
    alpha = np.random.default_rng(5).uniform(0.5, 1.0, problem.n)
    duals = [certify(problem, Point(np.zeros(problem.d), 0.0, size * alpha)).dual for size in (1e-200, 1.0, 1e200)]
    assert duals[1] > 0.0
    assert duals == pytest.approx([duals[1]] * 3)


def test_integers_and_read_only_arrays_are_points():
    problem = random_problem(0)
    w = np.ones(problem.d, dtype=int)
    w.flags.writeable = False
    assert certify(problem, Point(w)).primal == problem.primal(w.astype(float))


def test_a_primal_point_alone_is_measured_against_the_given_lower_bound():
    problem = random_problem(0)
    w = np.zeros(problem.d)
    assert certify(problem, Point(w)).gap is None
    found = certify(problem, Point(w), lower=1.0)
    assert (found.dual, found.dual_source) == (1.0, "reference")
    assert found.gap == (found.primal - 1.0) / found.primal


def test_multipliers_outside_the_box_are_seen_although_they_are_repaired():
    problem = random_problem(0, bias="none")
    found = certify(problem, Point(np.zeros(problem.d), 0.0, np.full(problem.n, 2.0)))
    assert found.kkt_dual == 1.0
    assert not found.feasible


class TestHardMargin:
    square = Problem(np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]]), np.array([1, 1, -1, -1.0]), np.inf)

    @pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
    def test_both_sides_are_scale_free(self, scale):
        """Margin 1 along the first axis: P* = D* = 1/2, for every length of w and alpha."""
        found = certify(self.square, Point(np.array([scale, 0.0]), 0.0, np.full(4, 0.25 * scale)))
        assert found.primal == pytest.approx(0.5)
        assert found.dual == pytest.approx(0.5)
        assert found.margin == pytest.approx(1.0)
        assert found.kkt_primal == pytest.approx(max(0.0, 1.0 - scale))

    def test_a_point_that_does_not_separate_has_no_objective(self):
        found = certify(self.square, Point(np.array([0.0, 1.0])))
        assert found.primal is None
        assert found.mistakes == 2

    @pytest.mark.parametrize("bias", BIASES)
    def test_meeting_hulls_are_proven_and_separate_ones_are_not(self, bias):
        crossed = Problem(self.square.X, np.array([1.0, -1.0, -1.0, 1.0]), np.inf, bias)
        assert infeasible(crossed, np.full(4, 0.25))
        assert not infeasible(self.square.with_(bias=bias), np.full(4, 0.25))
        assert hull_distance(crossed, np.zeros(4)) == np.inf

    def test_a_rough_certificate_is_sharpened(self):
        crossed = Problem(self.square.X, np.array([1.0, -1.0, -1.0, 1.0]), np.inf, "free")
        assert hull_distance(crossed, np.array([0.3, 0.2, 0.26, 0.24])) < 1e-12


def test_many_small_errors_of_the_balance_are_no_infeasibility():
    """2000 multipliers that are each off by 1e-5 add up to 2e-2; each off by 2 % is another matter."""
    y = np.where(np.arange(2000) % 2 == 0, 1.0, -1.0)
    problem = Problem(np.outer(y, [1.0]) + 0.5, y, C=1.0, bias="free")
    off = certify(problem, Point(np.zeros(1), 0.0, np.full(2000, 0.5) + 1e-5 * y))
    assert off.kkt_dual == pytest.approx(2e-2)
    assert off.feasible
    assert not certify(problem, Point(np.zeros(1), 0.0, np.full(2000, 0.5) + 1e-2 * y)).feasible
