"""coordinate_descent, newton_augmented and auto: certified to 1e-9 on data of every awkward shape."""

from itertools import islice

import numpy as np
import pytest
import scipy.sparse as sp
from problems import random_problem

from marginbench.datasets.generators import text
from marginbench.harness.cell.certificate import certify
from marginbench.harness.model.problem import Point, Problem
from marginbench.harness.model.programs import BoxDual
from marginbench.solvers.auto import SMALL_C, Auto
from marginbench.solvers.coordinate_descent.solver import CoordinateDescent, Descent
from marginbench.solvers.newton.augmented import NewtonAugmented
from marginbench.solvers.newton.smoothing import Block

BIASES = ("none", "free", "augmented")
ALL = pytest.mark.parametrize(
    "solver", [CoordinateDescent(), NewtonAugmented(), Auto()], ids=lambda s: type(s).__name__
)
NEWTON = pytest.mark.parametrize(
    "solver", [NewtonAugmented(), NewtonAugmented(direct=0), Auto()], ids=["Newton", "Newton by products", "Auto"]
)


def program_of(problem: Problem) -> BoxDual:
    return BoxDual(problem.features, problem.y, problem.upper, problem.curvature, problem.bias == "free")


def gap(problem: Problem, iterate) -> float:
    if iterate.dual is None:
        point = problem.point(problem.feasible_dual(iterate.x))
    elif problem.bias == "free":
        point = Point(iterate.dual[:-1], float(iterate.dual[-1]), iterate.x)
    else:
        point = Point(*problem.split(iterate.dual), iterate.x)
    found = certify(problem, point).gap
    return np.inf if found is None else found


def reached(problem: Problem, solver, target=1e-9, limit=3000) -> bool:
    return any(gap(problem, iterate) <= target for iterate in islice(solver.iterates(program_of(problem)), limit))


def awkward(seed: int) -> Problem:
    """Random size, scale, C, bias, layout and weights; duplicates, zero rows, collinear columns, rare classes."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 300)), int(rng.integers(1, 30))
    X = rng.normal(size=(n, d))
    kind = seed % 8
    if kind == 1:
        X *= 10.0 ** rng.uniform(-3, 3, d)
    elif kind == 2:
        X = np.round(X)
    elif kind == 3:
        X = (rng.random((n, d)) < 0.2).astype(float)
    elif kind == 4:
        X = X[rng.integers(0, max(1, n // 3), n)]
    elif kind == 5:
        X[rng.random(n) < 0.2] = 0.0
    elif kind == 6:
        X[0] *= 1e3
    elif kind == 7:
        X[:, -1] = X[:, 0] * (1.0 + 1e-7 * rng.normal(size=n))
    noise = rng.choice([0.0, 0.1, 1.0, 5.0])
    y = np.where(X @ rng.normal(size=d) + noise * rng.normal(size=n) + rng.choice([0.0, 2.0]) > 0, 1.0, -1.0)
    if rng.random() < 0.15:
        y[:] = np.where(np.arange(n) < max(1, n // 100), 1.0, -1.0)
    if abs(y.sum()) == n:
        y[0] = -y[0]
    weight = rng.uniform(0.1, 3.0, n) if rng.random() < 0.3 else None
    C, bias = 10.0 ** rng.uniform(-4, 4), BIASES[int(rng.integers(3))]
    return Problem(sp.csr_array(X) if rng.random() < 0.4 else X, y, C, bias, weight=weight)


# -- every shape -------------------------------------------------------------------------------------------------


@NEWTON
@pytest.mark.parametrize("start", range(0, 64, 16))
def test_awkward_problems_are_solved_to_a_certified_1e_9(solver, start):
    failed = [seed for seed in range(start, start + 16) if not reached(awkward(seed), solver)]
    assert not failed


@ALL
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("bias", BIASES)
def test_moderate_problems_to_1e_9(solver, sparse, bias):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 6)) * (rng.random((80, 6)) < 0.6)
    y = np.where(X.sum(1) + 0.8 * rng.normal(size=80) > 0.3, 1.0, -1.0)
    problem = Problem(sp.csr_array(X) if sparse else X, y, 0.3, bias, weight=rng.uniform(0.5, 2.0, 80))
    assert reached(problem, solver, limit=20_000)


@ALL
@pytest.mark.parametrize("bias", BIASES)
def test_squared_hinge(solver, bias):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 5))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=60) > 0, 1.0, -1.0)
    assert reached(Problem(X, y, 0.7, bias, loss="squared_hinge"), solver)


@pytest.mark.parametrize("bias", BIASES)
def test_smoothed_hinge_is_the_same_program_with_both_bounds(bias):
    """Its own residual is the judge: the smoothed hinge is not the canonical problem."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 5))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=60) > 0, 1.0, -1.0)
    problem = Problem(X, y, 0.7, bias)
    program = BoxDual(problem.features, y, problem.upper, 0.2 / problem.upper, bias == "free")
    *_, last = NewtonAugmented().iterates(program)
    assert last.claim == "converged"
    assert program.residual(last.x, last.dual) < 1e-6  # the gap, at 1e-14, is its square


@NEWTON
@pytest.mark.parametrize("bias", BIASES)
def test_hard_margin_is_reached_without_a_cap(solver, bias):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(50, 4))
    y = np.where(X[:, 0] + 0.2 > 0, 1.0, -1.0)
    assert reached(Problem(X + 0.5 * y[:, None], y, np.inf, bias), solver)


def test_curvature_that_differs_from_row_to_row_is_refused_in_words():
    program = BoxDual(np.eye(3), np.array([1.0, -1.0, 1.0]), np.ones(3), np.array([0.1, 0.2, 0.3]))
    assert "alike" in (NewtonAugmented().refuses(program) or "")
    assert next(iter(Auto().iterates(program))).info["picked"] == "coordinate_descent"


# -- each safeguard, by the case that needs it ----------------------------------------------------------------------


@NEWTON
def test_no_free_row_with_a_free_bias(solver):
    """Equal classes and a small C: all multipliers at their bound, so nothing in the system has curvature in b."""
    rng = np.random.default_rng(7)
    y = np.where(np.arange(60) % 2 == 0, 1.0, -1.0)
    X = rng.normal(size=(60, 4)) + 0.3 * y[:, None]
    problem = Problem(X, y, 1e-4, "free")
    *_, last = solver.iterates(program_of(problem))
    assert gap(problem, last) <= 1e-9
    assert np.isin(last.x, (0.0, 1e-4)).all()


@NEWTON
@pytest.mark.parametrize("C", [1e4, 1e6])
def test_separable_data_with_a_huge_C(solver, C):
    rng = np.random.default_rng(8)
    y = np.where(rng.random(200) < 0.5, 1.0, -1.0)
    assert reached(Problem(rng.normal(size=(200, 10)) + 3.0 * y[:, None], y, C, "free"), solver)


@NEWTON
@pytest.mark.parametrize("bias", ["none", "free"])
def test_more_columns_than_rows(solver, bias):
    rng = np.random.default_rng(9)
    y = np.where(rng.random(30) < 0.4, 1.0, -1.0)
    X = rng.normal(size=(30, 500)) * 10.0 ** rng.uniform(-4, 0, 500)
    assert reached(Problem(X, y, 10.0, bias), solver)


@NEWTON
@pytest.mark.parametrize("bias", ["none", "free"])
def test_few_rows_of_which_some_are_alike(solver, bias):
    """X X' is singular: the columns that take the place of 500 come from a factor of it."""
    rng = np.random.default_rng(9)
    X = np.repeat(rng.normal(size=(10, 500)), 3, axis=0)
    y = np.where(rng.random(30) < 0.4, 1.0, -1.0)
    assert reached(Problem(X, y, 1.0, bias), solver)


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


@NEWTON
def test_one_in_a_hundred(solver):
    rng = np.random.default_rng(10)
    y = np.where(np.arange(3000) % 100 == 0, 1.0, -1.0)
    assert reached(Problem(rng.normal(size=(3000, 8)) + 0.8 * y[:, None], y, 10.0, "free"), solver)


@pytest.mark.parametrize("bias", ["none", "free"])
def test_samples_lead_to_the_full_problem(bias):
    """n large enough for three samples, two blobs in sorted order."""
    rng = np.random.default_rng(11)
    y = np.sort(np.where(rng.random(40_000) < 0.5, 1.0, -1.0))
    problem = Problem(rng.normal(size=(40_000, 3)) + 0.4 * y[:, None], y, 0.5, bias)
    assert reached(problem, NewtonAugmented(), limit=12)


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


# -- behaviour ------------------------------------------------------------------------------------------------------


@ALL
def test_same_seed_same_bits_and_other_seeds_same_optimum(solver):
    problem = awkward(8)
    program = program_of(problem)
    runs = [[iterate.x.copy() for iterate in islice(solver.iterates(program), 12)] for _ in range(2)]
    assert all(np.array_equal(one, two) for one, two in zip(*runs, strict=True))


@ALL
def test_the_end_is_a_claim_that_holds(solver):
    problem = Problem(
        np.random.default_rng(0).normal(size=(40, 3)), np.where(np.arange(40) % 3, 1.0, -1.0), 0.1, "none"
    )
    *_, last = solver.iterates(program_of(problem))
    assert last.claim == "converged"
    assert gap(problem, last) <= 1e-12


@ALL
def test_a_free_bias_out_of_balance_is_not_called_converged(solver):
    """At b = 0 every row can be at rest although sum alpha_i y_i is far from 0."""
    problem = awkward(3)
    assert problem.bias == "free"
    for iterate in islice(solver.iterates(program_of(problem)), 1000):
        assert iterate.claim != "converged" or gap(problem, iterate) <= 1e-9


@ALL
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_data_are_left_alone_and_may_be_read_only(solver, sparse):
    problem = awkward(2).with_(bias="free")
    X = sp.csr_array(problem.X) if sparse else np.asarray(problem.X.toarray() if sp.issparse(problem.X) else problem.X)
    problem = problem.with_(X=X)
    for array in (problem.X.data, problem.X.indices, problem.X.indptr) if sparse else (problem.X,):
        array.flags.writeable = False
    solver.warm_up(program_of(problem))
    assert all(np.isfinite(iterate.x).all() for iterate in islice(solver.iterates(program_of(problem)), 5))


def test_auto_says_what_it_picked_and_why():
    rng = np.random.default_rng(13)
    y = np.where(rng.random(3000) < 0.5, 1.0, -1.0)
    X = rng.normal(size=(3000, 60)) + 0.5 * y[:, None]
    small, large = (next(iter(Auto().iterates(program_of(Problem(X, y, C, "none"))))) for C in (1e-4, 10.0))
    assert (small.info["picked"], small.info["why"]) == ("coordinate_descent", SMALL_C)
    assert large.info["picked"] == "newton_augmented"
    assert "on average" in large.info["why"]
    wide = Problem(
        sp.random_array((3200, 3100), density=1e-3, rng=rng, format="csr"), np.resize([1.0, -1.0], 3200), 1.0
    )
    info = next(iter(Auto().iterates(program_of(wide)))).info
    assert info["picked"] == "coordinate_descent"
    assert "min(n, d) = 3100" in info["why"]


def test_auto_hands_over_to_newton_when_epochs_run_out():
    rng = np.random.default_rng(14)
    y = np.where(rng.random(400) < 0.5, 1.0, -1.0)
    X = np.zeros((400, 250))
    X[np.arange(400), np.arange(400) % 250] = 0.01
    X[:, :6] += 0.2 * rng.normal(size=(400, 6)) + 0.02 * y[:, None]
    problem = Problem(sp.csr_array(X), y, 1e3, "none")
    seen = [(i.info["picked"], i.look) for i in Auto().iterates(program_of(problem))]
    assert seen[0] == ("coordinate_descent", False)
    assert seen[-1] == ("newton_augmented", True)  # dear after many cheap ones: the schedule would pass over most


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


def test_newton_ends_with_its_best_point(monkeypatch):
    """A gap that grows again, as rounding makes it grow at C = 1e4, is not what the solver ends with."""
    gaps = iter([1e-3, 1e-11, *[1e-5] * 40])
    monkeypatch.setattr(Block, "gap", lambda block, state: (next(gaps), 1.0))
    *_, last = NewtonAugmented().iterates(program_of(random_problem(3, n=60, d=5, C=1.0, bias="none")))
    assert (last.claim, last.info["gap"]) == ("converged", 1e-11)


def test_patience_with_h_saves_newton_steps_where_systems_are_dear(monkeypatch):
    """Text at C = 1e4, about as many free rows as columns: with an h that falls fast few rows change sides a step."""
    problem, minimise = Problem(*text(n=2500, d=1000, length=50, topic=0.2, seed=0), 1e4, "none"), Block.minimise

    def steps() -> int:
        taken = []

        def counted(block, *args, **more):
            solved = minimise(block, *args, **more)
            taken.append(block.steps)
            return solved

        monkeypatch.setattr(Block, "minimise", counted)
        assert reached(problem, NewtonAugmented(direct=0))
        return sum(taken)

    patient = steps()
    for name, value in {"PATIENT": 0.35, "EASY": 1000, "LONG": 300, "widest": lambda _: 2.0}.items():
        monkeypatch.setattr(f"marginbench.solvers.newton.augmented.{name}", value)  # as for small systems
    assert steps() > 1.5 * patient


@pytest.mark.parametrize("bias", ["none", "free"])
def test_auto_hands_over_where_coordinate_descent_is_stuck_and_systems_are_large(bias, monkeypatch):
    monkeypatch.setattr("marginbench.solvers.auto.DIRECT", 100)
    problem = Problem(*text(n=500, d=200, length=50, topic=0.2, seed=0), 1e4, bias)
    seen = [(i.info["picked"], gap(problem, i)) for i in Auto().iterates(program_of(problem))]
    first = [g for picked, g in seen if picked == "coordinate_descent"]
    assert seen[0][0] == "coordinate_descent"
    assert min(first) > 0.1  # after 30 epochs and more of each row
    assert seen[-1][0] == "newton_augmented"
    assert min(g for _, g in seen) <= 1e-9


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
