"""Newton's method on the smoothed hinge: the optimum to rounding, the path of delta, and awkward data."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
import scipy.sparse as sp
from other_route import optimum
from small_programs import after, both_biases, layouts, overlapping, risk, separable

from marginbench.harness.model.programs import (
    SmoothedHinge,
    SquaredHinge,
)
from marginbench.solvers.newton import smoothed_hinge as newton_smoothed_hinge
from marginbench.solvers.newton.smoothed_hinge import NewtonSmoothedHinge, block_of


@layouts
@both_biases
@pytest.mark.parametrize("loss", [SmoothedHinge(1.0), SmoothedHinge(1e-3), SquaredHinge()])
@pytest.mark.parametrize("lam", [1e-3, 1.0])
def test_newton_reaches_the_optimum_to_rounding(layout, free, loss, lam):
    X, y = overlapping()
    program = risk(X, y, lam, np.linspace(0.5, 1.5, len(y)), loss, free, layout)
    x, alpha, claim = after(NewtonSmoothedHinge().iterates(program), 200)
    assert claim == "converged"
    assert program.residual(x, None) <= 1e-12
    assert program.objective(x) <= program.objective(optimum(program)) * (1 + 1e-9)
    np.testing.assert_allclose(X.T @ (alpha * y), x[: program.d], rtol=1e-8, atol=1e-10)


@both_biases
def test_newton_is_exact_one_step_after_the_curved_set_is_right(free):
    X, y = overlapping(n=200)
    program = risk(X, y, 0.1, np.ones(200), SmoothedHinge(0.05), free)
    x, _, _ = after(NewtonSmoothedHinge().iterates(program), 200)
    block = block_of(program, 2000)
    near = block.state(x + 1e-6, np.zeros(200), h=0.0)
    block.minimise(near, 0.0, limit=1)
    assert program.residual(x + 1e-6, None) > 1e-7
    assert program.residual(near.theta, None) <= 1e-12


@both_biases
@layouts
@pytest.mark.parametrize("loss", [SmoothedHinge(0.3), SquaredHinge()])
def test_the_block_of_newton_is_the_program(free, layout, loss):
    """Gradient and multipliers of the block, times lam, are those of the program, and its rows are the data."""
    X, y = overlapping()
    program = risk(X, y, 0.3, np.linspace(0.5, 1.5, len(y)), loss, free, layout)
    block, x = block_of(program, 2000), np.random.default_rng(0).normal(size=X.shape[1] + free)
    assert block.rows is program.rows
    state = block.state(x.copy(), np.zeros(len(y)), h=0.0)
    block.minimise(state, np.inf, limit=0)
    np.testing.assert_allclose(program.lam * block.gradient(state), program.gradient(x), atol=1e-12)
    np.testing.assert_allclose(state.alpha * program.lam, program.weight * loss.slope(program.margins(x)), atol=1e-12)


def test_newton_begins_with_ridge_regression():
    """At delta = 2, w = 0, b = 0 every sample is curved, and the first step solves the system of all of them."""
    X, y = overlapping()
    program = risk(X, y, 1.0, np.full(len(y), 0.1), SmoothedHinge(2.0))
    block = block_of(program, 2000)
    state = block.state(np.zeros(5), np.zeros(len(y)), h=0.0)
    block.minimise(state, 0.0, limit=1)
    ridge = np.linalg.solve(X.T @ X * 0.05 + np.eye(5), X.T @ y * 0.05)
    np.testing.assert_allclose(state.theta, ridge, rtol=1e-10)


def counts(seed, n, d, density):
    """Sparse rows, |F| near d: where Newton's method has its longest way."""
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, d), density=density, rng=rng).toarray()
    return X, np.where(X @ rng.normal(size=d) + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)


def deltas(program, direct=2000):
    path = list(islice(NewtonSmoothedHinge(direct).iterates(program), 100))
    assert path[-1].claim == "converged"
    assert program.residual(path[-1].x, None) <= 1e-8
    return [iterate.info["delta"] for iterate in path]


def test_newton_raises_delta_where_the_first_has_too_little_ridge():
    """C = 1e4 and |F| near d: at delta = 2 the steps are short without end, at 200 they are not."""
    X, y = counts(0, 300, 160, 0.06)
    path = deltas(risk(X, y, 1.0, np.full(300, 1e4), SmoothedHinge(0.01)))
    assert path[:3] == pytest.approx([2.0, 200.0, 20.0])
    assert len(path) <= 10


def test_newton_goes_back_where_the_fall_of_delta_was_too_deep():
    """From 2 to 0.2 the curved set is lost; from 2 to 0.63 it is not, and from there on tenfold falls do."""
    X, y = counts(0, 400, 200, 0.04)
    path = deltas(risk(X, y, 1.0, np.full(400, 100.0), SmoothedHinge(0.01)))
    assert path[:4] == pytest.approx([2.0, 0.2, 0.4**0.5, 0.1 * 0.4**0.5])
    assert len(path) <= 8


def test_newton_arrives_one_step_at_a_time_too(monkeypatch):
    """No delta settles in one step until it falls so little that the curved set stays."""
    monkeypatch.setattr(newton_smoothed_hinge, "STEPS", 1)
    X, y = overlapping()
    for seed in (0, 8, 22, 60):  # in the last three, a sample on the kink changes sides by rounding in every step
        X_ = X * (1.0 + 1e-15 * np.random.default_rng(seed).normal(size=X.shape))
        path = deltas(risk(X_, y, 1.0, np.full(len(y), 10.0), SmoothedHinge(0.01)))
        assert min(path) == 0.01


@pytest.mark.parametrize("delta", [1.0, 0.1, 0.001])
@both_biases
def test_smoothing_costs_at_most_its_bound(delta, free):
    X, y = overlapping()
    C = np.linspace(0.5, 1.5, len(y))
    hinge = risk(X, y, 1.0, C, free=free)
    x, _, _ = after(NewtonSmoothedHinge().iterates(replace(hinge, loss=SmoothedHinge(delta))), 200)
    excess = hinge.objective(x) - hinge.objective(optimum(hinge))
    assert -1e-9 <= excess <= C.sum() * delta / 2.0


@layouts
@both_biases
@pytest.mark.parametrize("shape", [(60, 4), (12, 30)], ids=["tall", "wide"])
def test_newton_by_conjugate_gradients_finds_the_same(layout, free, shape):
    X, y = overlapping(3, *shape)
    program = risk(X, y, 1.0, np.full(len(y), 10.0), SmoothedHinge(0.01), free, layout)
    x, z = (after(NewtonSmoothedHinge(direct).iterates(program), 300) for direct in (0, 2000))
    assert x[2] == z[2] == "converged"
    np.testing.assert_allclose(x[0], z[0], rtol=1e-8, atol=1e-10)


@both_biases
@pytest.mark.parametrize("C", [1e-6, 1e6])
@pytest.mark.parametrize("separated", [False, True])
def test_newton_with_extreme_C(free, C, separated):
    X, y = separable() if separated else overlapping()
    program = risk(X, y, 1.0, np.full(len(y), C), SmoothedHinge(1e-3), free)
    x, _, claim = after(NewtonSmoothedHinge().iterates(program), 300)
    assert claim == "converged"
    assert program.residual(x, None) <= 1e-9


@both_biases
@pytest.mark.parametrize("loss", [SmoothedHinge(1e-2), SquaredHinge()])
def test_newton_on_degenerate_data(free, loss):
    X, y = overlapping()
    cases = {
        "duplicates": (np.vstack([X, X, X]), np.concatenate([y, y, -y])),
        "zero rows": (np.vstack([X, np.zeros((3, 5))]), np.concatenate([y, [1.0, 1.0, -1.0]])),
        "all rows zero": (np.zeros((4, 2)), np.array([1.0, 1.0, -1.0, 1.0])),
        "two samples": (np.array([[1.0], [-0.5]]), np.array([1.0, -1.0])),
        "one class": (X, np.ones(len(y))),
        "unbalanced": (X, np.where(np.arange(len(y)) == 0, -1.0, 1.0)),
    }
    for name, (A, labels) in cases.items():
        program = risk(A, labels, 1.0, np.ones(len(labels)), loss, free)
        x, _, claim = after(NewtonSmoothedHinge().iterates(program), 200)
        assert claim == "converged", name
        assert np.isfinite(x).all(), name
        assert program.objective(x) <= program.objective(optimum(program)) + 1e-9, name


def test_newton_moves_b_alone_where_no_sample_is_curved():
    """C so small that w is nearly 0 and b alone decides: at b = 1 the smaller class is past the curved part."""
    X, y = overlapping()
    program = risk(X, y, 1.0, np.full(len(y), 1e-9), SmoothedHinge(1e-2), free=True)
    x, _, claim = after(NewtonSmoothedHinge().iterates(program), 200)
    assert claim == "converged"
    assert abs(x[-1] - 1.0) <= 0.01
