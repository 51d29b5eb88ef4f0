"""Certificates where arithmetic is hard: offsets, every scale, numbers near the ends of the double's range.

The truth is the enclosure of the proof layer. Where a certificate states a bound of its own rounding error
(`primal_error`, `dual_error`), it may be off by that much and no more.
"""

from functools import cache

import numpy as np
import pytest
from zoo.honest import ascend

from marginbench.harness.cell.certificate import certify
from marginbench.harness.cell.run import run_cell
from marginbench.harness.cell.spec import Cell
from marginbench.harness.model import exact
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.model.problem import Point, Problem
from marginbench.harness.references.enclosure import enclose, primal
from marginbench.harness.references.polish import polish

INF = float("inf")
LAST_DIGITS = 1e-14
SOFT, HARD = "dual_qp.DualQP", "hard_dual_qp.HardDualQP"


@cache
def offset(seed: int, C: float, by: float) -> tuple[Problem, Point, Bounds]:
    """A free bias and features far from the origin: a problem, its solution to the last digits, and the proof."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(40) % 3 == 0, -1.0, 1.0)
    problem = Problem(rng.normal(size=(40, 5)) + 0.7 * y[:, None] * rng.normal(size=5) + by, y, C, "free")
    best = polish(problem, Point(np.zeros(5)))
    return problem, best, enclose(problem, best)


def nearby(problem: Problem, best: Point, seed: int, size: float) -> Point:
    """Another hyperplane: w a little off, b so that the middle of the data stays where it is."""
    w = best.w * (1.0 + size * np.random.default_rng(seed).normal(size=problem.d))
    return Point(w, best.b - float((w - best.w) @ problem.X.mean(axis=0)), best.alpha)


CASES = [(0, 0.01, 1e7), (1, 1.0, 1e7), (2, 1.0, 1e5), (2, 1.0, 1e8), (2, 1.0, 1e9), (2, 100.0, 1e8), (4, 1.0, 1e6)]


@pytest.mark.parametrize(("seed", "C", "by"), CASES)
def test_bounds_are_on_their_side_of_the_optimum_of_offset_features(seed, C, by):
    problem, best, proven = offset(seed, C, by)
    found = certify(problem, best)
    assert found.primal + getattr(found, "primal_error", 0.0) >= proven.lower * (1.0 - LAST_DIGITS)
    assert found.dual - getattr(found, "dual_error", 0.0) <= proven.upper * (1.0 + LAST_DIGITS)


@pytest.mark.parametrize(("seed", "by", "other", "size"), [(0, 1e7, 18, 1e-9), (4, 1e7, 7, 1e-9), (7, 3e7, 27, 3e-9)])
def test_an_accurate_answer_is_accepted_and_its_gap_is_no_smaller_than_it_is(seed, by, other, size):
    """Today two of these violate weak duality, and the third is certified at 0 with a true gap of 2e-9."""
    problem, best, proven = offset(seed, 1.0, by)
    point = nearby(problem, best, other, size)
    found = certify(problem, point)
    above, _ = map(float, exact.bounds(primal(problem, point.w, point.b)))
    assert found.gap >= (above - proven.upper) / above - LAST_DIGITS


# -- every scale ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("t", [1e-6, 1e-3, 1e3, 1e6])
@pytest.mark.parametrize("length", [0.0, 0.5, 0.999, 10.0])
def test_the_gap_is_the_same_when_data_and_C_are_scaled(t, length):
    """x -> t x, C -> C / t^2, w -> w / t, alpha -> alpha / t^2."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(40) % 3 == 0, -1.0, 1.0)
    X = rng.normal(size=(40, 5)) + 0.7 * y[:, None] * rng.normal(size=5)
    alpha, w, _ = ascend(X, y, np.ones(40), False)
    plain = certify(Problem(X, y, 1.0, "none"), Point(length * w, 0.0, alpha)).gap
    scaled = certify(Problem(t * X, y, 1.0 / t**2, "none"), Point(length * w / t, 0.0, alpha / t**2)).gap
    assert scaled == pytest.approx(plain, rel=1e-9, abs=1e-12)


def test_at_a_tiny_C_a_hyperplane_of_zeros_has_the_gap_of_its_objective():
    """P(0) = C n, and with alpha = C, D = C n - C^2 ||sum y_i x_i||^2 / 2: the gap is of order C."""
    X, y = np.random.default_rng(0).normal(size=(40, 5)), np.where(np.arange(40) % 3 == 0, -1.0, 1.0)
    C = 1e-13
    found = certify(Problem(X, y, C, "none"), Point(np.zeros(5), 0.0, np.full(40, 0.5 * C)))
    assert found.gap == pytest.approx(0.5, rel=1e-9)  # D is half of P


# -- the ends of the range --------------------------------------------------------------------------------------------

BLOBS = np.random.default_rng(0).normal(size=(20, 2)) + 3.0 * np.where(np.arange(20) % 2 == 0, -1.0, 1.0)[:, None]
NOISE = np.random.default_rng(1).normal(size=(20, 2))


@pytest.mark.parametrize(
    ("X", "C", "formulation", "solver"),
    [
        pytest.param(1e155 * BLOBS, INF, HARD, "DirectionOnly", id="data of 1e155"),
        pytest.param(1e-158 * BLOBS, INF, HARD, "DirectionOnly", id="margins of 1e-158"),
        pytest.param(NOISE, 1e300, SOFT, "MiddleOfTheBox", id="C = 1e300"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_no_double_can_hold_is_said_to_be_the_problems_fault(X, C, formulation, solver):
    y = np.where(np.arange(20) % 2 == 0, -1.0, 1.0)
    formulation = {"_target_": f"marginbench.harness.formulations.{formulation}"}
    asked = {"C": C, "bias": "none"}
    cell = Cell(
        {}, asked, formulation, {"_target_": f"zoo.honest.{solver}"}, "", "", "", budget={"seconds": 1.0, "gap": 1e-6}
    )
    row = run_cell(cell, X, y, "d").record
    numbers = [row.primal, row.dual, row.gap]
    assert all(number is None or np.isfinite(number) for number in numbers), numbers
    if row.status != "solved":
        assert row.status not in ("wrong", "failed", "invalid"), row.message
        assert "problem" in row.message


# -- of the point as given --------------------------------------------------------------------------------------------


def test_residuals_are_of_the_point_as_given():
    """Multipliers of the wrong sign are repaired to 0 for the bound; the residuals know of no repair."""
    X, y = np.random.default_rng(0).normal(size=(40, 5)), np.where(np.arange(40) % 3 == 0, -1.0, 1.0)
    problem = Problem(X, y, 1.0, "none")
    alpha, w, _ = ascend(X, y, np.ones(40), False)
    found = certify(problem, Point(w, 0.0, -alpha))
    given = float(np.abs(w - problem.weights(-alpha)).max() / max(1.0, np.abs(w).max()))
    assert found.kkt_stationarity == pytest.approx(given, rel=1e-12)
    assert found.kkt_dual == pytest.approx(float(alpha.max()), rel=1e-12)


def test_the_exact_hyperplane_is_right_at_every_length():
    """Hard margins are scale free: 0.99 of it is the same answer."""
    y = np.where(np.arange(20) % 2 == 0, -1.0, 1.0)
    problem = Problem(BLOBS, y, INF, "none")
    alpha, w, _ = ascend(BLOBS, y, np.full(20, INF), False)
    for length in (0.5, 0.99, 1.0, 2.0):
        found = certify(problem, Point(length * w, 0.0, length * alpha))
        assert found.feasible
        assert found.gap <= 1e-9
