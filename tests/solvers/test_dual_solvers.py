"""SDCA, projected gradient and SMO: the dual optimum by another route, feasibility, hard margins, degenerate data."""

from itertools import islice

import numpy as np
import pytest
from other_route import optimum
from small_programs import after, assert_feasible, box, layouts, overlapping, separable, value

from marginbench.solvers.projected_gradient import ProjectedGradient
from marginbench.solvers.sdca import SDCA
from marginbench.solvers.smo import SMO

DUALS = [
    (SDCA(), False, 400),
    (ProjectedGradient(), False, 3000),
    (ProjectedGradient(), True, 3000),
    (SMO(), True, 200),
]
dual_solvers = pytest.mark.parametrize(("solver", "free", "steps"), DUALS, ids=["sdca", "pg", "pg_free", "smo"])
OPPOSED = np.array([[1.0], [1.0]]), np.array([1.0, -1.0])  # one point, both labels


@layouts
@dual_solvers
@pytest.mark.parametrize("kind", ["hinge", "smoothed", "squared", "tiny C"])
def test_dual_solvers_find_the_optimum_and_stay_feasible(layout, solver, free, steps, kind):
    X, y = overlapping()
    weight = np.linspace(0.5, 1.5, len(y))
    C = {"squared": np.inf, "tiny C": 1e-4 * weight}.get(kind, weight)
    curvature = {"smoothed": 0.3, "squared": 0.5 / weight}.get(kind, 0.0)
    program = box(X, y, C, curvature, free, layout)
    for iterate in islice(solver.iterates(program), steps):
        assert_feasible(program, iterate.x)
    best = value(program, optimum(program))
    assert value(program, iterate.x) - best <= 1e-7 * abs(best)
    np.testing.assert_allclose(iterate.dual[: program.d], X.T @ (iterate.x * y), atol=1e-12)
    assert program.residual(iterate.x, iterate.dual) <= (1e-5 if solver == SDCA() else 1e-8)
    assert iterate.claim == ("" if solver == SDCA() else "converged")


@dual_solvers
def test_tiny_C_puts_every_alpha_of_the_smaller_class_at_C(solver, free, steps):
    X, y = overlapping()
    alpha, _, _ = after(solver.iterates(box(X, y, 1e-5, free=free)), steps)
    at_C = alpha == 1e-5
    assert at_C[y < 0].all()
    assert at_C[y > 0].all() or free


@dual_solvers
def test_hard_margin_of_separable_data(solver, free, steps):
    X, y = separable(n=15)
    program = box(X, y, np.inf, free=free)
    alpha, dual, _ = after(solver.iterates(program), 20 * steps)
    w, b = dual[: program.d], dual[-1] if free else 0.0
    assert (y * (X @ w + b)).min() >= 1.0 - 1e-6
    assert alpha.sum() == pytest.approx(w @ w, rel=1e-5)  # strong duality: P = D


@pytest.mark.parametrize(
    ("solver", "data"), [(ProjectedGradient(), overlapping()), (ProjectedGradient(), OPPOSED), (SMO(), OPPOSED)]
)
def test_hard_margin_of_overlapping_data_is_unbounded_with_a_proof(solver, data):
    X, y = data
    mu, _, claim = after(solver.iterates(box(X, y, np.inf, free=True)), 20000)
    assert claim == "unbounded"
    assert mu.min() >= 0.0
    assert mu.sum() == pytest.approx(1.0)
    assert abs(mu @ y) <= 1e-10
    assert np.linalg.norm(X.T @ (mu * y)) <= 1e-7


@dual_solvers
def test_dual_solvers_on_degenerate_data(solver, free, steps):
    X, y = overlapping(n=20)
    cases = {
        "zero rows": (np.vstack([X, np.zeros((3, 5))]), np.concatenate([y, [1.0, 1.0, -1.0]])),
        "duplicates": (np.vstack([X, X]), np.concatenate([y, -y])),
        "all rows zero": (np.zeros((4, 2)), np.array([1.0, 1.0, -1.0, 1.0])),
        "two samples": (np.array([[1.0], [-0.5]]), np.array([1.0, -1.0])),
        "one class": (X, np.ones(20)),
        "unbalanced": (X, np.where(np.arange(20) == 0, -1.0, 1.0)),
    }
    for name, (A, labels) in cases.items():
        program = box(A, labels, free=free)
        for iterate in islice(solver.iterates(program), steps):
            assert_feasible(program, iterate.x)
        best = value(program, optimum(program))
        assert value(program, iterate.x) <= best + 1e-6 * max(1.0, abs(best)), name
        assert np.isfinite(iterate.dual).all(), name
