"""Coordinate descent, part by part: sweeps, checks, copies, extrapolation, and steps on a face of the box."""

from itertools import islice

import numpy as np
import pytest
import scipy.sparse as sp
from certified import awkward, gap, program_of
from problems import random_problem

from marginbench.datasets.generators import one_hot
from marginbench.harness.model.problem import Problem
from marginbench.harness.model.programs import BoxDual
from marginbench.harness.rowops import best_length, rows_of
from marginbench.solvers.auto import Auto
from marginbench.solvers.coordinate_descent.descent import Descent, at_bound
from marginbench.solvers.coordinate_descent.faces import Face, minimise_on_face, projected_search
from marginbench.solvers.coordinate_descent.solver import CoordinateDescent
from marginbench.solvers.coordinate_descent.sweeps import survey


@pytest.mark.parametrize("n", [5, 16, 100, 1000])
def test_an_epoch_visits_every_row_at_work(n):
    """Runs of 16 rows, of which the last may be shorter: norms are computed when a row is first met."""
    problem = random_problem(1, n=n, d=5, C=1.0, bias="none")
    state = Descent(program_of(problem), seed=0)
    assert (state.q < 0.0).all()
    state.sweep()
    np.testing.assert_allclose(state.q, (problem.X**2).sum(1))


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_rows_at_work_are_copied_once_most_are_at_rest(sparse):
    rng = np.random.default_rng(12)
    y = np.where(rng.random(600) < 0.5, 1.0, -1.0)
    X = rng.normal(size=(600, 4)) + 2.0 * y[:, None]
    problem = Problem(sp.csr_array(X) if sparse else X, y, 1.0, "none")
    state = Descent(program_of(problem), seed=0)
    for _ in range(5):
        state.sweep()
        state.check()
    assert state.active < 300
    assert state.rows is not state.program.rows
    state.sweep()
    np.testing.assert_allclose(state.w, problem.weights(state.alpha), atol=1e-10)


def test_extrapolation_takes_contradictory_duplicates_to_their_bound():
    """x_i = x_j, y_i = -y_j, C ||x||^2 = 360000: each sweep brings them only 2 / ||x||^2 nearer to C."""
    X = np.zeros((42, 41))
    X[:40, :40], X[40:, 40] = np.eye(40), 60.0  # forty rows that settle at once, and the pair
    y = np.append(np.ones(40), [1.0, -1.0])
    reach = {}
    for extrapolate in (False, True):
        state = Descent(program_of(Problem(X, y, 100.0, "none")), seed=0)
        for k in range(60):
            state.sweep()
            if extrapolate and k % 6 == 5:
                state.extrapolate()
        reach[extrapolate] = state.alpha[-2:].min()
    assert reach[False] < 1.0
    assert reach[True] > 50.0


def test_zero_rows_go_to_the_bound():
    X = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, -1.0]])
    problem = Problem(X, np.array([1.0, 1.0, -1.0]), 0.5, "none")
    *_, last = CoordinateDescent().iterates(program_of(problem))
    assert last.x[1] == 0.5
    assert gap(problem, last) <= 1e-12


def test_the_bias_waits_for_sweeps_that_are_far_from_done():
    """A sum of multipliers that is nearly balanced says nothing of b while the rows themselves are far from done."""
    problem = random_problem(3, n=60, d=5, C=1.0, bias="free")
    state = Descent(program_of(problem), seed=0)
    state.sweep()
    before, state.estimate = state.b, 1e6
    state.check()
    assert state.b == before
    state.estimate = 0.0
    state.check()
    assert state.b != before


@pytest.mark.parametrize("bias", ["none", "free"])
def test_extrapolation_never_loses_and_keeps_w_in_step(bias):
    problem = awkward(18).with_(bias=bias, C=5.0)
    state = Descent(program_of(problem), seed=0)
    for _ in range(12):
        state.sweep()
        before = state.value()
        state.extrapolate()
        assert state.value() >= before
        np.testing.assert_allclose(state.w, problem.weights(state.alpha), atol=1e-8 * (1.0 + np.abs(state.w).max()))
    assert ((state.alpha >= 0.0) & (state.alpha <= problem.upper)).all()


def test_conjugate_gradients_solve_the_face_and_the_search_stays_in_the_box():
    rng = np.random.default_rng(17)
    X, y = rng.normal(size=(6, 9)), np.where(np.arange(6) % 2, 1.0, -1.0)
    K = (X @ X.T) * np.outer(y, y)
    face = Face(rows_of(X), y, np.full(6, 0.5), np.zeros(6), np.diag(K).copy(), 0.0)
    alpha, g = np.full(6, 0.25), rng.normal(size=6)
    step, products = minimise_on_face(face, alpha, g, 9, limit=50)
    assert products <= 8
    assert g @ step + 0.5 * step @ K @ step < 0.9 * (-0.5 * g @ np.linalg.solve(K, g))
    moved, pulled, balance = projected_search(face, alpha, g, step, 9)
    change = moved - alpha
    assert ((moved >= 0.0) & (moved <= 0.5)).all()
    assert g @ change + 0.5 * change @ K @ change < 0.0
    np.testing.assert_allclose(pulled, X.T @ (y * change), atol=1e-12)
    assert balance == pytest.approx(y @ change)


def test_conjugate_gradients_go_on_while_they_stay_in_the_box():
    """The same system twice: with room for its solution it is solved, without, it is left early."""
    rng = np.random.default_rng(18)
    X, y, g = rng.normal(size=(40, 45)), np.where(np.arange(40) % 2, 1.0, -1.0), rng.normal(size=40)
    K = (X @ X.T) * np.outer(y, y)
    left = {}
    for room in (1e-6, 1e6):
        face = Face(rows_of(X), y, np.full(40, 2.0 * room), np.zeros(40), np.diag(K).copy(), 0.0)
        step, _ = minimise_on_face(face, np.full(40, room), g, 45, limit=400)
        left[room] = np.linalg.norm(K @ step + g) / np.linalg.norm(g)
    assert left[1e6] < 0.02
    assert left[1e-6] > 0.05


def test_a_face_with_more_rows_than_columns_is_left_where_it_meets_the_box():
    """K is singular there, and the quadratic falls without end along its kernel."""
    rng = np.random.default_rng(20)
    X, y, g = rng.normal(size=(12, 9)), np.where(np.arange(12) % 2, 1.0, -1.0), rng.normal(size=12)
    K = (X @ X.T) * np.outer(y, y)
    face = Face(rows_of(X), y, np.full(12, 2e3), np.zeros(12), np.diag(K).copy(), 0.0)
    step, products = minimise_on_face(face, np.full(12, 1e3), g, 9, limit=400)
    assert products < 20
    moved = 1e3 + step
    assert min(moved.min(), (2e3 - moved).min()) == pytest.approx(0.0, abs=1e-8)
    assert g @ step + 0.5 * step @ K @ step < -100.0


def test_the_best_multiple_of_w():
    rng = np.random.default_rng(19)
    m, upper, norm2 = rng.normal(1.0, 0.5, 300), rng.uniform(0.1, 2.0, 300), 30.0

    def P(t):
        return 0.5 * t**2 * norm2 + upper @ np.maximum(0.0, 1.0 - t * m)

    best = best_length(m, np.arange(300), upper, norm2, 0.0, 0.5, 2.0)
    assert 0.5 < best < 2.0
    assert all(P(best) <= P(t) + 1e-9 for t in np.linspace(0.5, 2.0, 1001))


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_a_check_passes_over_rows_that_are_surely_at_rest(C):
    """What it says is what a check of every row says."""
    X, y = one_hot(2000, 40, 5, 0.3, 0.5, 0)
    problem = Problem(X, y, C, "none")
    state = Descent(BoxDual(X, problem.y, problem.upper, problem.curvature), seed=0)
    fewest = 2000
    for _ in range(30):
        state.sweep()
        state.check()
        fewest = min(fewest, state.read)
        at_work, everything = np.empty(2000, np.int32), np.empty(2000, np.int32)
        m, norm2 = np.empty(2000), state.w @ state.w
        listed, read, gap, pulled, *bounds = survey(
            state.program.rows, y, problem.upper, problem.curvature, state.q, state.alpha, state.w, 0.0, 1.0,
            np.full(2000, -np.inf), m, state.high, state.low, at_work, everything, 0, 2000
        )  # fmt: skip
        assert (read.size, bounds) == (2000, [0.5, 2.0])
        assert gap == pytest.approx(state.gap, rel=1e-9, abs=1e-12)
        assert pulled == pytest.approx(norm2, rel=1e-9)
        np.testing.assert_array_equal(listed, state.at_work[: state.active])
        best = best_length(m, everything, problem.upper, norm2, 0.0, 0.5, 2.0)
        values = [0.5 * t**2 * norm2 + problem.upper @ np.maximum(0.0, 1.0 - t * m) for t in (best, state.length)]
        assert values[1] == pytest.approx(values[0], rel=1e-9)
    assert fewest < 1900


def test_a_row_of_zeros_at_the_hard_margin_proves_that_nothing_separates_the_data():
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]])
    program = BoxDual(X, np.array([1.0, -1.0, 1.0]), np.full(3, np.inf), np.zeros(3))
    for solver in (CoordinateDescent(), Auto()):
        *_, last = islice(solver.iterates(program), 50)
        assert np.isfinite(last.x).all()
        assert last.x[2] == last.x.max() > 0.0


def test_where_all_rows_end_at_their_bound_the_first_iterate_is_the_answer():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(300, 8)), np.resize([1.0, -1.0], 300)
    for data in (X, sp.csr_array(X)):
        problem = Problem(data, y, 1e-5, "none")
        made = list(CoordinateDescent().iterates(program_of(problem)))
        assert gap(problem, made[0]) <= 1e-12
        assert made[0].info["visits"] == 0
        assert made[-1].claim == "converged"


def test_from_the_bound_rows_with_larger_margins_are_found_and_worked_on():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(2000, 5)), np.resize([1.0, -1.0], 2000)
    X[:20] *= 60.0  # a few long rows leave the bound
    program = program_of(problem := Problem(sp.csr_array(X), y, 1e-4, "none"))
    assert at_bound(program) is not None
    made = [(i.info["active"], gap(problem, i)) for i in islice(CoordinateDescent().iterates(program), 40)]
    assert made[0][1] > 1e-3
    assert max(active for active, _ in made) < 200
    assert min(g for _, g in made) <= 1e-9


@pytest.mark.parametrize("lopsided", ["labels", "columns"])
def test_where_w_at_the_bound_is_too_long_the_start_is_0(lopsided):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(2000, 5)), np.resize([1.0, -1.0], 2000)
    if lopsided == "labels":  # one class is larger and columns have a mean: a9a
        X, y[:1500] = np.abs(X), 1.0
    else:
        X += 3.0 * y[:, None]
    assert at_bound(program_of(Problem(X, y, 1e-2, "none"))) is None


def test_multipliers_whose_squares_overflow_break_no_larger_step():
    """A row of zeros at a hard margin: its multiplier grows for as long as there is time."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.resize([1.0, -1.0], 40)
    X[3] = 0.0
    state = Descent(BoxDual(X, y, np.full(40, np.inf), np.zeros(40), False), seed=0)
    state.sweep()
    state.remember()
    state.alpha[3] = 1e200
    state.extrapolate()
    state.step_on_face(state.free(), limit=2)
    assert np.isfinite(state.alpha).all()
    assert np.isfinite(state.w).all()
