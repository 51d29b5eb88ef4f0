"""P, D and the gap of certificates against exact rational arithmetic: within their own stated bound, at every scale."""

from fractions import Fraction

import numpy as np
import pytest
import rationals
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from marginbench.harness.cell import certificate, objectives
from marginbench.harness.cell.certificate import certify
from marginbench.harness.model.feasibility import feasible
from marginbench.harness.model.problem import Point, Problem

BIASES = ("none", "free", "augmented")
LOSSES = ("hinge", "squared_hinge")


@st.composite
def certified(draw, hard: bool = False):
    """(problem, point): offsets, duplicates, weights, and all lengths scaled by 1e-100 to 1e100.

    The point is rough, or w = w(alpha) with all margins near 1, where P and D cancel.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(2, 12)), draw(st.integers(1, 5))
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    X = rng.normal(size=(n, d)) + y[:, None] * (4.0 if hard else 0.5)
    if draw(st.booleans()):
        X[n // 2 :] = X[: n - n // 2]  # duplicates, with the same and with the other label
    if hard:
        X[:, 0] = y * (1.0 + rng.random(n))
    X += draw(st.sampled_from([0.0, 0.0, 1.0, 1e4, 1e7])) * (not hard)
    scale = 10.0 ** draw(st.integers(-100, 100))
    bias = draw(st.sampled_from(BIASES))
    weight = 10.0 ** rng.uniform(-3.0, 3.0, size=n) if draw(st.booleans()) and not hard else None
    C = np.inf if hard else 10.0 ** draw(st.integers(-3, 3)) / scale / scale
    X = sp.csr_array(scale * X) if draw(st.booleans()) else scale * X
    s = scale * draw(st.sampled_from([1.0, 0.3, 1e3]))
    problem = Problem(X, y, C, bias, draw(st.sampled_from(LOSSES)) if not hard else "hinge", weight, s)
    if hard:
        point = Point(np.append(rng.uniform(0.5, 2.0), 0.01 * rng.normal(size=d - 1)) / scale, 0.0, rng.random(n))
    else:
        point = problem.point(problem.feasible_dual(problem.penalty * rng.choice([0.0, 1.0, rng.random()], size=n)))
    if draw(st.booleans()) and not hard:
        b = 0.0 if bias == "none" else float(rng.normal())
        point = Point(point.w + rng.normal(size=d) / scale, b, point.alpha)
    return problem, point


def hold(problem: Problem, point: Point, found: certificate.Certificate) -> None:
    """Everything that a certificate says, as rational numbers."""
    P = rationals.primal(problem, point.w, point.b)
    repaired = certificate._repaired(problem, np.asarray(point.alpha))
    assert rationals.feasible(problem, repaired)
    D = rationals.dual(problem, repaired)
    assert Fraction(found.primal) - Fraction(found.primal_error) <= P <= Fraction(found.primal)
    if found.own_dual is not None and found.dual_error is not None:
        assert Fraction(found.own_dual) <= D <= Fraction(found.own_dual) + Fraction(found.dual_error)
    best = D if found.dual_source == "own" else Fraction(found.dual)
    assert Fraction(found.gap) - Fraction(found.gap_error) <= rationals.gap(P, best) <= Fraction(found.gap)


@settings(max_examples=300, deadline=None)
@given(certified(), st.sampled_from([1e-14, 1e-12, 1e-6]))
def test_certificates_agree_with_rationals_within_their_own_bound(case, accuracy):
    problem, point = case
    found = certify(problem, point, accuracy=accuracy)
    hold(problem, point, found)
    assert found.beyond == ""
    assert found.gap_error <= 0.11 * max(found.gap, accuracy)


@settings(max_examples=150, deadline=None)
@given(certified())
def test_the_cheap_bound_holds_by_itself(case):
    """Whether or not its width suffices: what float64 says of P and D holds the true values."""
    problem, point = case
    alpha = feasible(problem, np.asarray(point.alpha))
    seen = objectives.evaluate(problem, point.w, point.b, alpha)
    P, D = rationals.primal(problem, point.w, point.b), rationals.dual(problem, alpha)
    for found, value in ((seen.primal, P), (seen.dual, D)):
        assert found.low == -np.inf or Fraction(found.low) <= value
        assert found.high == np.inf or value <= Fraction(found.high)


@settings(max_examples=100, deadline=None)
@given(certified(hard=True))
def test_hard_margins_agree_with_rationals(case):
    problem, point = case
    found = certify(problem, point)
    if min(rationals.margins(problem, point.w, point.b)) <= 0:
        assert found.primal is None
    else:
        hold(problem, point, found)
        margin = min(rationals.margins(problem, point.w, point.b)) ** 2 / rationals.norm2(problem, point.w, point.b)
        assert Fraction(found.margin) ** 2 <= margin


@pytest.mark.parametrize("seed", range(75))
def test_offset_features_with_a_free_bias(seed):
    """X + 1e7: margins are differences of numbers of 1e7, in which float64 keeps nine digits."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(20) % 2, 1.0, -1.0)
    X = rng.normal(size=(20, 3)) + 0.5 * y[:, None] + 1e7
    problem = Problem(X, y, 10.0 ** rng.integers(-2, 3), "free")
    alpha = problem.feasible_dual(problem.C * rng.choice([0.0, 0.5, 1.0], size=20))
    centred = problem.with_(X=X - X.mean(axis=0)).point(alpha)
    point = Point(centred.w, centred.b - float(X.mean(axis=0) @ centred.w), alpha)
    for accuracy in (1e-12, 1e-6):
        hold(problem, point, certify(problem, point, accuracy=accuracy))


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 100_000), st.integers(0, 2**32 - 1))
def test_grouped_sums_round_as_often_as_they_say(n, seed):
    terms = np.random.default_rng(seed).normal(size=n)
    error = abs(Fraction(objectives.total(terms)) - sum(map(Fraction, terms.tolist())))
    assert error <= Fraction(objectives.gamma(objectives.rounded(n))) * Fraction(float(np.abs(terms).sum()))
    assert objectives.rounded(n) <= 32 * 5
