"""The subgradient method: its bound, its feasible dual, and the bias it minimises out."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from other_route import optimum
from small_programs import after, both_biases, box, layouts, overlapping, risk, value

from marginbench.solvers.subgradient import Subgradient, best_bias


@layouts
@both_biases
def test_subgradient_keeps_its_bound_and_carries_a_feasible_dual(layout, free):
    X, y = overlapping()
    program = risk(X, y, 0.1, np.linspace(0.5, 1.5, len(y)) / len(y), free=free, layout=layout)
    best, C = program.objective(optimum(program)), program.weight / program.lam
    G = 2.0 * program.weight @ np.linalg.norm(X, axis=1)  # ||w|| lam and the pull of the samples are each below half
    promised = Subgradient().bound(program)
    for T, iterate in enumerate(islice(Subgradient().iterates(program), 300), start=1):
        assert promised(iterate.info) * program.lam == pytest.approx(2.0 * G**2 / (program.lam * (T + 1)))
        assert program.objective(iterate.x) - best <= 2.0 * G**2 / (program.lam * (T + 1))
        assert (iterate.dual >= 0.0).all()
        assert (iterate.dual <= C * (1 + 1e-15)).all()
        if free:
            assert abs(iterate.dual @ y) <= 1e-12
    D = program.lam * -value(box(X, y, C), iterate.dual)
    assert best - D >= -1e-12
    assert program.objective(iterate.x) - D <= 0.02 * best


@pytest.mark.parametrize("average", [False, True])
def test_subgradient_is_what_the_book_says(average):
    X, y = overlapping()
    program = risk(X, y, 0.1, np.linspace(0.5, 1.5, len(y)) / len(y))
    w, points = np.zeros(program.d), []
    for t in range(1, 31):
        points.append(w)
        w = w - (2.0 / (t + 1.0) if average else 1.0 / t) / program.lam * program.gradient(w)
    x, _, _ = after(Subgradient(average).iterates(program), 30)
    expected = np.average(points, axis=0, weights=np.arange(1.0, 31.0)) if average else points[-1]
    np.testing.assert_allclose(x, expected, atol=1e-10)


@both_biases
def test_last_subgradient_iterate_is_w_of_its_dual(free):
    X, y = overlapping()
    program = risk(X, y, 0.1, free=free)
    x, alpha, _ = after(Subgradient(average=False).iterates(program), 50)
    np.testing.assert_allclose(x[: program.d], X.T @ (alpha * y), atol=1e-12)
    assert program.objective(x) - program.objective(optimum(program)) <= 0.1


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12), st.booleans())
def test_best_bias_is_the_minimiser_and_its_slopes_balance(seed, n, ties):
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], size=n)
    f = rng.integers(-2, 3, size=n) * 1.0 if ties else rng.normal(size=n)
    weight = rng.random(n) + 0.1
    b, s = best_bias(y, f, weight)
    loss = [weight @ np.maximum(0.0, 1.0 - y * (f + at)) for at in [b, *(y - f)]]
    assert loss[0] <= min(loss) + 1e-12
    assert abs(weight @ (s * y)) <= 1e-12
    m = y * (f + b)
    assert ((s >= 0.0) & (s <= 1.0)).all()
    assert (s[m > 1.0 + 1e-9] == 0.0).all()
    assert (s[m < 1.0 - 1e-9] == 1.0).all()
