"""Enclosures against exact rational arithmetic: never on the wrong side, and tight."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st

from marginbench.harness.cell import hulls
from marginbench.harness.cell.hulls import hulls_meet, sharpened
from marginbench.harness.model import exact
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.model.feasibility import feasible
from marginbench.harness.model.problem import Point, Problem
from marginbench.harness.model.validity import InvalidPoint
from marginbench.harness.references import enclosure
from marginbench.harness.references.enclosure import enclose

BIASES = ("none", "free", "augmented")
LOSSES = ("hinge", "squared_hinge")


# -- the same formulas in rationals ------------------------------------------------------------------------------


def fractions(x) -> list[Fraction]:
    return [Fraction(float(entry)) for entry in x]


def dense(problem: Problem) -> np.ndarray:
    X = problem.features
    return X.toarray() if sp.issparse(X) else X


def exact_margins(problem: Problem, w, b) -> list[Fraction]:
    v = fractions(problem.join(w, b))
    intercept = Fraction(b) if problem.bias == "free" else Fraction(0)
    return [
        int(y) * (sum((x * c for x, c in zip(fractions(row), v, strict=True)), Fraction(0)) + intercept)
        for row, y in zip(dense(problem), problem.y, strict=True)
    ]


def exact_norm2(problem: Problem, w, b) -> Fraction:
    return sum((x * x for x in fractions(problem.join(w, b))), Fraction(0))


def exact_primal(problem: Problem, w, b) -> Fraction:
    slack = [max(Fraction(0), 1 - m) for m in exact_margins(problem, w, b)]
    power = 1 if problem.loss == "hinge" else 2
    loss = sum((c * t**power for c, t in zip(fractions(problem.penalty), slack, strict=True)), Fraction(0))
    return exact_norm2(problem, w, b) / 2 + loss


def exact_pull2(problem: Problem, alpha) -> Fraction:
    v = [a * int(y) for a, y in zip(fractions(alpha), problem.y, strict=True)]
    columns = dense(problem).T
    return sum(
        (sum((a * x for a, x in zip(v, fractions(c), strict=True)), Fraction(0)) ** 2 for c in columns), Fraction(0)
    )


def exact_dual(problem: Problem, alpha) -> Fraction:
    a = fractions(alpha)
    value = sum(a, Fraction(0)) - exact_pull2(problem, alpha) / 2
    if problem.loss == "squared_hinge":
        value -= sum((x * x / (4 * c) for x, c in zip(a, fractions(problem.penalty), strict=True)), Fraction(0))
    return value


def within_two_units(bound: float, value: Fraction, above: bool) -> bool:
    """The bound is on its side of the value, and two floats further in it would not be."""
    inwards = -np.inf if above else np.inf
    inner = np.nextafter(np.nextafter(bound, inwards), inwards)
    return Fraction(inner) < value <= Fraction(bound) if above else Fraction(bound) <= value < Fraction(inner)


# -- problems ----------------------------------------------------------------------------------------------------


@st.composite
def problems(draw, reach: int = 8, hard: bool = False):
    """(problem, w, b, alpha) with entries over 2 * reach decades, and rows that nearly cancel."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(2, 7)), draw(st.integers(1, 5))

    def numbers(*shape):
        return rng.normal(size=shape) * 10.0 ** rng.integers(-reach, reach + 1, size=shape)

    X = numbers(n, d) * (rng.random((n, d)) < 0.8)
    if draw(st.booleans()):
        X[1] = np.nextafter(X[0], np.inf)
    weight = np.abs(numbers(n)) if draw(st.booleans()) else None
    C = np.inf if hard else float(np.abs(numbers(1))[0])
    problem = Problem(
        sp.csr_array(X) if draw(st.booleans()) else X,
        np.where(np.arange(n) % 2, 1.0, -1.0),
        C=C,
        bias=draw(st.sampled_from(BIASES)),
        loss=draw(st.sampled_from(LOSSES)),
        weight=None if hard else weight,
        s=float(np.abs(numbers(1))[0]),
    )
    alpha = np.abs(numbers(n)) if hard else np.where(rng.random(n) < 0.3, problem.penalty, np.abs(numbers(n)))
    return problem, numbers(d), float(numbers(1)[0]), alpha


class TestTransformations:
    @given(st.floats(-1e140, 1e140), st.floats(-1e140, 1e140))
    @example(1.0 + 2.0**-30, 1.0 + 2.0**-30)
    @example(1e16, 1.0)
    @settings(max_examples=200, deadline=None)
    def test_nothing_is_lost(self, a, b):
        s, t = exact.two_sum(a, b)
        assert Fraction(s) + Fraction(t) == Fraction(a) + Fraction(b)
        if abs(a * b) >= exact.SMALL:
            p, e = exact.two_product(a, b)
            assert Fraction(p) + Fraction(e) == Fraction(a) * Fraction(b)

    @given(st.integers(0, 2**32 - 1), st.integers(0, 320))
    @settings(max_examples=100, deadline=None)
    def test_a_product_of_balls_holds_its_number_whatever_its_size(self, seed, reach):
        rng = np.random.default_rng(seed)
        x, z = (
            exact.balls(rng.normal(size=6) * 10.0 ** rng.integers(-reach, min(reach, 300) + 1, size=6)) for _ in "xz"
        )
        x, z = exact.times(x, z), exact.times(z, z)  # now with low parts and radii
        low, high = exact.bounds(exact.dot(x, z))
        if np.isfinite([low, high]).all():
            parts = [fractions(v) for v in (*x, *z)]
            if all(p[2] == 0 for p in parts):
                value = sum(
                    ((a[0] + a[1]) * (c[0] + c[1]) for a, c in zip(parts[:6], parts[6:], strict=True)), Fraction(0)
                )
                assert Fraction(float(low)) <= value <= Fraction(float(high))

    def test_overflow_says_that_nothing_is_known(self):
        huge = exact.balls(np.array([1e200, 1.0]))
        assert exact.bounds(exact.dot(huge, huge)) == (-np.inf, np.inf)
        assert exact.bounds(exact.dot(exact.balls(np.array([1e305])), exact.balls(np.ones(1)))) == (-np.inf, np.inf)

    def test_underflow_widens_and_zero_does_not(self):
        tiny = exact.balls(np.array([1e-200, 0.0]))
        low, high = exact.bounds(exact.dot(tiny, tiny))
        assert low <= 0.0 < 1e-300 < high < 1e-200
        assert exact.bounds(exact.dot(tiny, exact.balls(np.zeros(2)))) == (0.0, 0.0)

    def test_a_sign_that_is_not_known_keeps_its_error(self):
        unsure, negative, lost = [-1e-40, 0.0, 1e-30], [-1.0, 0.0, 1e-30], [-1.0, 0.0, np.nan]
        parts = exact.positive_part(np.array([unsure, negative, lost]))
        np.testing.assert_array_equal(parts, [[0.0, 0.0, 1e-30], [0.0, 0.0, 0.0], [0.0, 0.0, np.nan]])

    @given(st.floats(1e-200, 1e200))
    @settings(max_examples=100, deadline=None)
    def test_inverse(self, c):
        h, l, r = fractions(exact.inverse(np.array([c]))[0])
        assert abs(h + l - 1 / Fraction(c)) <= 2 * r <= Fraction(1, 10**28) * h


class TestSoftMargin:
    @given(problems())
    @settings(max_examples=150, deadline=None)
    def test_exact_and_fast_agree(self, case):
        problem, w, b, alpha = case
        alpha = feasible(problem, alpha)
        proven = enclose(problem, Point(w, b, alpha))
        P, D = exact_primal(problem, w, b), exact_dual(problem, alpha)
        assert within_two_units(proven.upper, P, above=True)
        assert proven.lower == 0.0 if D < 0 else within_two_units(proven.lower, D, above=False) or proven.lower == D
        bulk = problem.with_(X=abs(problem.X), y=-np.ones(problem.n))  # nothing cancels there: the size of all terms
        for ball, value, terms in (
            (enclosure.primal(problem, w, b), P, exact_primal(bulk, abs(w), abs(b))),
            (enclosure.dual(problem, alpha), D, abs(D) + exact_pull2(bulk, alpha) + sum(fractions(alpha))),
        ):
            h, l, r = fractions(ball)
            assert abs(h + l - value) <= 2 * r <= Fraction(1, 10**25) * terms + Fraction(1, 10**250)

    @given(problems(reach=150))
    @settings(max_examples=80, deadline=None)
    def test_never_on_the_wrong_side_over_three_hundred_decades(self, case):
        problem, w, b, alpha = case
        alpha = feasible(problem, alpha)
        proven = enclose(problem, Point(w, b, alpha))
        assert proven.upper == np.inf or Fraction(proven.upper) >= exact_primal(problem, w, b)
        assert proven.lower == 0.0 or Fraction(proven.lower) <= exact_dual(problem, alpha)

    def test_cancellation_that_float64_cannot_see(self):
        """m = 1e16 + 1 - 1e16 = 1: no slack, where float64 sees a slack of 1."""
        problem = Problem(np.array([[1e16, 1.0, -1e16]]), np.ones(1), C=1.0, bias="none")
        assert problem.primal(np.ones(3)) == 2.5
        assert enclose(problem, Point(np.ones(3))).upper == 1.5

    def test_margins_that_overflow(self):
        problem = Problem(np.full((2, 1), 1e200), np.array([1.0, -1.0]), C=1.0, bias="none")
        assert enclose(problem, Point(np.full(1, 1e150), 0.0, np.ones(2))).upper == np.inf

    def test_without_multipliers_the_lower_bound_is_zero(self):
        problem = Problem(np.eye(2), np.array([1.0, -1.0]), C=1.0, bias="none")
        assert enclose(problem, Point(np.zeros(2))) == Bounds(0.0, 2.0)

    def test_a_point_that_is_none(self):
        problem = Problem(np.eye(2), np.array([1.0, -1.0]))
        with pytest.raises(InvalidPoint):
            enclose(problem, Point(np.array([np.nan, 0.0])))


class TestFeasible:
    @given(problems(reach=12))
    @settings(max_examples=150, deadline=None)
    def test_exactly_and_once(self, case):
        problem, _, _, alpha = case
        repaired = feasible(problem, alpha)
        assert (repaired >= 0.0).all()
        assert (repaired <= problem.upper).all()
        if problem.bias == "free":
            assert sum((a * int(y) for a, y in zip(fractions(repaired), problem.y, strict=True)), Fraction(0)) == 0
        np.testing.assert_array_equal(feasible(problem, repaired), repaired)

    def test_little_is_moved(self):
        rng = np.random.default_rng(0)
        y = np.where(rng.random(1000) < 0.5, 1.0, -1.0)
        problem = Problem(rng.normal(size=(1000, 2)), y, C=0.7, bias="free")
        alpha = problem.feasible_dual(np.clip(rng.normal(size=1000), 0.0, 0.7))
        assert np.abs(feasible(problem, alpha) - alpha).max() <= 1e-12

    def test_one_class_leaves_only_zero(self):
        problem = Problem(np.eye(3), np.ones(3), C=1.0, bias="free")
        np.testing.assert_array_equal(feasible(problem, np.ones(3)), np.zeros(3))


class TestHardMargin:
    @given(problems(reach=4, hard=True))
    @settings(max_examples=100, deadline=None)
    def test_exact_and_fast_agree(self, case):
        problem, w, b, alpha = case
        # Labels by the sign of the margin, so that w separates.
        signs = np.array([1.0 if m > 0 else -1.0 for m in exact_margins(problem, w, b)]) * problem.y
        problem = problem.with_(y=signs)
        alpha = feasible(problem, alpha)
        margin = min(exact_margins(problem, w, b))
        proven = enclose(problem, Point(w, b, alpha))
        if margin > 0:
            upper = exact_norm2(problem, w, b) / (2 * margin**2)
            assert upper <= Fraction(proven.upper) <= upper * (1 + Fraction(2, 10**15))
            assert not proven.infeasible
        else:
            assert proven.upper == np.inf
        total, pull2 = sum(fractions(alpha)), exact_pull2(problem, alpha)
        if pull2 > 0 and not proven.infeasible:
            lower = total**2 / (2 * pull2)
            assert lower * (1 - Fraction(2, 10**15)) <= Fraction(proven.lower) <= lower
            assert margin <= 0 or Fraction(proven.margin) ** 2 >= margin**2 / exact_norm2(problem, w, b)

    def test_two_points(self):
        problem = Problem(np.array([[3.0, 4.0], [-3.0, -4.0]]), np.array([1.0, -1.0]), C=np.inf, bias="free")
        proven = enclose(problem, Point(np.array([3.0, 4.0]), 0.0, np.ones(2)))
        assert proven.lower <= 0.02 <= proven.upper
        assert proven.width <= 2e-15
        assert proven.margin == pytest.approx(5.0, rel=1e-15)


class TestNoSolution:
    def test_an_exact_relation_in_floats(self):
        problem = Problem(np.array([[1.0], [2.0], [3.0]]), np.array([1.0, -1.0, 1.0]), C=np.inf, bias="free")
        proven = enclose(problem, Point(np.zeros(1), 0.0, np.array([0.5, 1.0, 0.5])))
        assert proven == Bounds(np.inf, np.inf)
        assert proven.infeasible
        assert proven.margin == 0.0
        assert proven.width == 0.0

    @pytest.mark.parametrize("bias", BIASES)
    def test_an_exact_relation_that_floats_cannot_hold(self, bias):
        rng = np.random.default_rng(3)
        X, y = rng.normal(size=(60, 4)), np.where(rng.random(60) < 0.5, 1.0, -1.0)
        problem = Problem(X, y, C=np.inf, bias=bias)
        mu = sharpened(problem, np.full(60, 1.0 / 60))
        assert exact_pull2(problem, feasible(problem, mu)) > 0
        assert hulls_meet(problem, mu)
        assert enclose(problem, Point(np.zeros(4), 0.0, mu)).infeasible

    def test_one_of_many_relations_suffices(self):
        problem = Problem(np.array([[1.0], [1.0], [2.0]]), np.array([1.0, -1.0, 1.0]), C=np.inf, bias="none")
        assert hulls_meet(problem, np.ones(3))
        assert not hulls_meet(problem, np.array([1.0, 0.0, 1.0]))

    @given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 7))
    @settings(max_examples=60, deadline=None)
    def test_relations_are_relations(self, seed, count, size):
        """All of them: as many as columns beyond the rank."""
        rows = np.random.default_rng(seed).integers(-2, 3, size=(count, size))
        relations = hulls._relations([[int(x) for x in row] for row in rows], size)
        assert len(relations) == size - np.linalg.matrix_rank(rows)
        for relation in relations:
            assert any(relation)
            assert not (rows.astype(object) @ np.array(relation, dtype=object)).any()

    def test_too_many_rows_still_bound_the_margin(self):
        rng = np.random.default_rng(4)
        X, y = rng.normal(size=(80, 2)), np.where(rng.random(80) < 0.5, 1.0, -1.0)
        problem = Problem(X, y, C=np.inf, bias="none")
        proven = enclose(problem, Point(np.zeros(2), 0.0, np.ones(80)))
        assert not proven.infeasible
        assert proven.margin >= np.linalg.norm(X.T @ y) / 80 * (1 - 1e-15)

    @given(st.integers(0, 2**32 - 1), st.sampled_from(BIASES), st.booleans())
    @settings(max_examples=100, deadline=None)
    def test_separable_data_are_never_proven_infeasible(self, seed, bias, coarse):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(6, 3))
        X = np.round(X) if coarse else X
        w, b = rng.normal(size=3), (0.0 if bias == "none" else rng.normal())
        problem = Problem(X, np.where(X @ w + b > 0, 1.0, -1.0), C=np.inf, bias=bias)
        if min(exact_margins(problem, w, b)) > 0:
            support = rng.random(6) < 0.7
            assert not hulls_meet(problem, support.astype(float))
