"""Certificates: they bound the optimum, and nothing that is not a point gets one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import random_problem

from marginbench.harness.cell.certificate import certify
from marginbench.harness.cell.hulls import proven_to_meet
from marginbench.harness.model.bounds import relative_gap
from marginbench.harness.model.problem import Point, Problem
from marginbench.harness.model.validity import InvalidPoint

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
    assert found.primal - found.own_dual == pytest.approx(total, rel=1e-12)
    assert found.kkt_stationarity < 1e-15
    assert found.kkt_dual == 0.0


def test_the_relative_gap_is_a_part_of_P():
    assert relative_gap(4.0, 3.0) == 0.25
    assert relative_gap(4e-200, 3e-200) == 0.25
    assert relative_gap(0.0, 0.0) == 0.0
    assert relative_gap(1.0, 1.5) == -0.5


def scaled(problem: Problem, point: Point, t: float) -> tuple[Problem, Point]:
    """The same problem in other units: X and s times t, C times 1/t^2; P, D and alpha are times 1/t^2 then."""
    other = problem.with_(X=t * problem.X, C=problem.C / t / t, s=t * problem.s)
    return other, Point(point.w / t, point.b, None if point.alpha is None else np.asarray(point.alpha) / t / t)


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_gap_is_the_same_in_all_units(bias, loss):
    problem = random_problem(2, bias=bias, loss=loss, C=0.7)
    point = problem.point(problem.feasible_dual(np.random.default_rng(2).uniform(0, 0.7, problem.n)))
    here = certify(problem, point)
    for power in (-332, -100, -3, 1, 50, 332):
        found = certify(*scaled(problem, point, 2.0**power))
        assert found.gap == pytest.approx(here.gap, rel=1e-11)
    for t in 10.0 ** np.arange(-100.0, 101.0, 20.0):
        assert certify(*scaled(problem, point, t)).gap == pytest.approx(here.gap, rel=1e-9)


def test_nothing_at_a_tiny_C_and_w_ten_times_too_long_on_long_rows_are_far_from_solved():
    """Against max(1, |P|, |D|), both were solved: their objectives are below 1e-9."""
    tiny = random_problem(0, C=1e-13, bias="none")
    assert certify(tiny, Point(np.zeros(tiny.d), 0.0, np.zeros(tiny.n))).gap == 1.0
    problem = random_problem(0, bias="none")
    long = problem.with_(X=1e6 * problem.X)
    alpha = np.full(problem.n, 1e-13)
    assert certify(long, Point(10.0 * long.weights(alpha), 0.0, alpha)).gap > 0.9


def test_bad_multipliers_are_never_worse_than_a_reference():
    problem = random_problem(0, bias="none")
    w = np.zeros(problem.d)
    for alpha in (np.zeros(problem.n), np.full(problem.n, -5.0), problem.penalty):
        found = certify(problem, Point(w, 0.0, alpha), lower=1.0)
        assert (found.dual, found.dual_source) == (1.0, "reference")
        assert found.gap == certify(problem, Point(w), lower=1.0).gap
        assert found.own_dual < 1.0


def test_without_a_reference_D_of_0_is_a_bound_too():
    problem = random_problem(0, bias="none")
    found = certify(problem, Point(np.zeros(problem.d), 0.0, 1e3 * problem.penalty))
    assert found.own_dual < 0.0
    assert (found.dual, found.dual_source, found.gap) == (0.0, "zero", 1.0)


def test_a_point_below_a_proven_bound_has_no_gap():
    problem = random_problem(0, bias="none")
    found = certify(problem, Point(np.zeros(problem.d)), lower=1e9)
    assert found.gap is None
    assert found.primal < found.dual


def test_the_optimum_of_one_class_is_zero_and_has_no_gap():
    problem = Problem(np.eye(3), np.ones(3), bias="free")
    found = certify(problem, Point(np.zeros(3), 1.0, np.zeros(3)))
    assert (found.primal, found.dual, found.gap) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("scale", "C", "length", "words"),
    [
        (1e155, 1.0, 1.0, "largest entry of the data is 1e+155"),
        (1e-158, np.inf, 1.0, "largest entry of the data is 1e-158"),
        (1.0, 1e300, 1e10, "C = 1e+300"),
    ],
)
def test_numbers_beyond_double_precision_are_called_the_problems(scale, C, length, words):
    """A hyperplane that separates the data; ten orders of magnitude too long at the largest C."""
    X = np.array([[1.0, 0.2], [-1.0, 0.1], [0.7, 0.3], [-0.9, 0.5]])
    problem = Problem(scale * X, np.array([1.0, -1.0, 1.0, -1.0]), C, "none")
    w = np.array([2.0, 0.0]) / scale * length
    found = certify(problem, Point(-w if length > 1.0 else w))
    assert words in found.beyond
    assert certify(random_problem(0), Point(np.ones(5))).beyond == ""


def test_a_bias_where_there_is_none_is_no_point():
    with pytest.raises(InvalidPoint, match="no bias"):
        certify(random_problem(0, bias="none"), Point(np.zeros(5), 1.0))


@pytest.mark.parametrize(
    ("point", "word"),
    [
        (lambda p: Point(np.full(p.d, np.nan)), "NaN"),
        (lambda p: Point(np.full(p.d, np.inf)), "infinite"),
        (lambda p: Point(np.full(p.d, 1e200)), "w has entries up to 1e\\+200"),
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
    found = certify(problem, Point(w))
    assert found.primal - found.primal_error <= problem.primal(w.astype(float)) <= found.primal


def test_a_primal_point_alone_is_measured_against_the_given_lower_bound():
    problem = random_problem(0)
    w = np.zeros(problem.d)
    assert certify(problem, Point(w)).gap is None
    found = certify(problem, Point(w), lower=1.0)
    assert (found.dual, found.dual_source) == (1.0, "reference")
    assert found.gap == pytest.approx((found.primal - 1.0) / found.primal, rel=1e-14)


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
        assert proven_to_meet(crossed, np.full(4, 0.25))
        assert not proven_to_meet(self.square.with_(bias=bias), np.full(4, 0.25))
        assert not proven_to_meet(crossed, np.zeros(4))

    def test_a_rough_certificate_is_sharpened(self):
        crossed = Problem(self.square.X, np.array([1.0, -1.0, -1.0, 1.0]), np.inf, "free")
        assert proven_to_meet(crossed, np.array([0.3, 0.2, 0.26, 0.24]))

    def test_a_hyperplane_that_is_a_little_short_is_as_good_as_one_that_is_not(self):
        found = certify(self.square, Point(np.array([0.99, 0.0]), 0.0, np.full(4, 0.25)))
        assert found.kkt_primal == pytest.approx(0.01)
        assert found.gap <= 1e-13
        assert found.feasible


def test_many_small_errors_of_the_balance_are_no_infeasibility():
    """2000 multipliers that are each off by 1e-5 add up to 2e-2; each off by 2 % is another matter."""
    y = np.where(np.arange(2000) % 2 == 0, 1.0, -1.0)
    problem = Problem(np.outer(y, [1.0]) + 0.5, y, C=1.0, bias="free")
    off = certify(problem, Point(np.zeros(1), 0.0, np.full(2000, 0.5) + 1e-5 * y))
    assert off.kkt_dual == pytest.approx(2e-2)
    assert off.feasible
    assert not certify(problem, Point(np.zeros(1), 0.0, np.full(2000, 0.5) + 1e-2 * y)).feasible
