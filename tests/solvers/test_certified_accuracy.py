"""coordinate_descent, newton_augmented and auto: certified to 1e-9 on data of every awkward shape."""

from itertools import islice

import numpy as np
import pytest
import scipy.sparse as sp
from certified import ALL, BIASES, NEWTON, awkward, gap, program_of, reached

from marginbench.harness.model.problem import Problem


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


@NEWTON
@pytest.mark.parametrize("bias", BIASES)
def test_hard_margin_is_reached_without_a_cap(solver, bias):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(50, 4))
    y = np.where(X[:, 0] + 0.2 > 0, 1.0, -1.0)
    assert reached(Problem(X + 0.5 * y[:, None], y, np.inf, bias), solver)


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


@NEWTON
def test_one_in_a_hundred(solver):
    rng = np.random.default_rng(10)
    y = np.where(np.arange(3000) % 100 == 0, 1.0, -1.0)
    assert reached(Problem(rng.normal(size=(3000, 8)) + 0.8 * y[:, None], y, 10.0, "free"), solver)


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
