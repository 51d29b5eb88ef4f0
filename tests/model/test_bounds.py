"""Bounds of the optimum: what two of them say together, and what follows from one."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from marginbench.harness.cell.certificate import certify
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.model.problem import Point, Problem

numbers = st.floats(-1e6, 1e6)


@given(numbers, st.floats(0.0, 1e3), st.floats(0.0, 1e3), st.floats(0.0, 1e3), st.floats(0.0, 1e3))
def test_what_both_say_holds_for_every_number_that_each_allows(P, a, b, c, d):
    met = Bounds(P - a, P + b, "first").meet(Bounds(P - c, P + d, "second"))
    assert met.lower <= P <= met.upper
    assert met == Bounds(P - c, P + d).meet(Bounds(P - a, P + b))
    assert met.source == ("first" if P - a >= P - c else "second")


def test_unknown_ends_change_nothing_and_have_no_suboptimality():
    known = Bounds(1.0, 2.0, "stored")
    assert known.meet(Bounds()) == Bounds().meet(known) == known
    assert Bounds().meet(known).source == "stored"
    assert Bounds().suboptimality(3.0) is None
    assert Bounds(math.inf, math.inf).suboptimality(3.0) is None
    assert known.suboptimality(None) is None


def test_suboptimality_is_relative_and_shows_a_contradiction():
    known = Bounds(100.0, 101.0)
    assert known.suboptimality(125.0) == 0.2
    assert known.suboptimality(99.0) == -1.0 / 99.0


def test_width_is_zero_only_where_both_ends_meet():
    assert Bounds(4.0, 5.0).width == 0.2
    assert Bounds(5.0, 5.0).width == Bounds(math.inf, math.inf).width == 0.0
    assert Bounds().width == Bounds(0.0).width == Bounds(upper=1.0).width == math.inf


def test_no_solution_is_a_lower_bound_of_infinity():
    assert Bounds(math.inf, math.inf).infeasible
    assert Bounds(math.inf, math.inf).margin == 0.0
    assert not Bounds().infeasible
    assert Bounds().margin == math.inf


def test_no_hyperplane_has_a_margin_above_that_of_the_bounds():
    """Two points at distance 2 r: the largest margin is r, and P* = 1 / (2 r^2)."""
    problem = Problem(np.array([[3.0], [-3.0]]), np.array([1.0, -1.0]), C=math.inf, bias="none")
    best = certify(problem, Point(np.array([1.0])))
    assert math.isclose(best.margin, problem.radius, rel_tol=1e-14)
    assert best.margin <= 3.0 <= problem.radius
    assert Bounds(1.0 / 18.0).margin >= best.margin
    assert math.isclose(Bounds(1.0 / 18.0).margin, best.margin, rel_tol=1e-14)


def test_a_lower_bound_that_is_not_known_certifies_nothing():
    problem = Problem(np.array([[3.0], [-3.0]]), np.array([1.0, -1.0]), bias="none")
    for lower in (-math.inf, math.inf):
        assert certify(problem, Point(np.array([1.0])), lower).gap is None
    assert certify(problem, Point(np.array([1.0])), 0.5).dual_source == "reference"
