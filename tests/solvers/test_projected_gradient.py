"""Accelerated projected gradient: its rate, and the projection that balances the labels."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from other_route import optimum
from small_programs import (
    box,
    frozen,
    overlapping,
    value,
)

from marginbench.solvers import projected_gradient
from marginbench.solvers.projected_gradient import ProjectedGradient


@pytest.mark.parametrize("accelerated", [False, True])
def test_projected_gradient_keeps_its_rate(accelerated):
    X, y = overlapping()
    program = box(X, y, free=True)
    best = optimum(program)
    Z = y[:, None] * X
    L = 1.25 * np.linalg.eigvalsh(Z @ Z.T).max()
    for k, iterate in enumerate(islice(ProjectedGradient(accelerated).iterates(program), 300), start=1):
        bound = 2.0 * L * (best @ best) / (k + 1) ** 2 if accelerated else L * (best @ best) / (2.0 * k)
        assert value(program, iterate.x) - value(program, best) <= bound


@pytest.mark.parametrize("accelerated", [False, True])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_what_theory_promises_of_the_dual_holds_after_restarts_too(accelerated, C):
    X, y = overlapping()
    program = box(X, y, np.full(len(y), C))
    solver = ProjectedGradient(accelerated)
    least, promised = value(program, optimum(program)), solver.bound(program)
    steps = []
    for iterate in islice(solver.iterates(program), 300):
        assert value(program, iterate.x) - least <= promised(iterate.info) * (1.0 + 1e-12)
        steps.append(iterate.info["steps"])
    assert steps[0] == 1
    assert (steps == sorted(steps)) == (not accelerated)
    assert solver.bound(box(X, y, np.full(len(y), np.inf))) is None


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12), st.sampled_from([1e-3, 1.0, np.inf]))
def test_balance_is_the_projection(seed, n, bound):
    rng = np.random.default_rng(seed)
    y, v = frozen(rng.choice([-1.0, 1.0], size=n)), rng.normal(size=n) * 10.0 ** rng.integers(-3, 4)
    upper, out = frozen(bound * (rng.random(n) + 0.5)), np.empty(n)
    mu = projected_gradient.balance(v, y, upper, rng.normal(), out)
    np.testing.assert_array_equal(out, np.clip(v - mu * y, 0.0, upper))
    assert abs(out @ y) <= 1e-14 * max(np.abs(v).max(), out.sum())
