"""Alternating optimisation, Frank-Wolfe, Chambolle-Pock, OCAS, SAGA, L-BFGS, trust region, stochastic subgradients:
each reaches what an interior-point method finds on the same program, and keeps what its header promises."""

from itertools import islice

import numpy as np
import pytest
from other_route import optimum
from small_programs import after, assert_feasible, both_biases, box, layouts, overlapping, risk, value

from marginbench.harness.model.problem import InputError
from marginbench.harness.model.programs import BoxDual, SmoothedHinge, SquaredHinge
from marginbench.solvers.alternating import Alternating
from marginbench.solvers.chambolle_pock import ChambollePock, Saddle, decisions, joined, norm, own_gap
from marginbench.solvers.frank_wolfe import FrankWolfe
from marginbench.solvers.lbfgs import LBFGS
from marginbench.solvers.ocas import OCAS, exchange_pairs, nearest
from marginbench.solvers.saga import SAGA
from marginbench.solvers.stochastic_subgradient import StochasticSubgradient
from marginbench.solvers.trust_region import TrustRegion, curvature, step, to_boundary

X, Y = overlapping(n=60, d=5)
WEIGHT = np.linspace(0.5, 1.5, len(Y)) / len(Y)
SMOOTH = [SmoothedHinge(0.1), SquaredHinge()]
losses = pytest.mark.parametrize("loss", SMOOTH, ids=["smoothed", "squared"])


def error(program, x):
    """Relative distance of the objective from the optimum."""
    f = (lambda x: value(program, x)) if isinstance(program, BoxDual) else program.objective
    best = f(optimum(program))
    return (f(x) - best) / abs(best)


# -- Frank-Wolfe -----------------------------------------------------------------------------------------------------


@layouts
@pytest.mark.parametrize("curvature", [0.0, 0.3])
def test_frank_wolfe_ends_with_a_true_gap(layout, curvature):
    program = box(X, Y, 20 * WEIGHT, curvature, layout=layout)
    *_, last = FrankWolfe(tolerance=1e-9).iterates(program)
    assert last.claim == "converged"
    assert_feasible(program, last.x)
    assert error(program, last.x) <= 1e-9
    np.testing.assert_allclose(last.dual, program.X.T @ (last.x * Y), atol=1e-10)


@pytest.mark.parametrize("line_search", [True, False])
def test_frank_wolfe_gap_is_primal_minus_dual_at_every_epoch(line_search):
    program = box(X, Y, 20 * WEIGHT)
    best = value(program, optimum(program))
    for iterate in islice(FrankWolfe(line_search).iterates(program), 30):
        w = program.X.T @ (iterate.x * Y)
        primal = 0.5 * w @ w + program.upper @ np.maximum(0.0, 1.0 - Y * (X @ w))
        assert iterate.info["own_gap"] == pytest.approx(primal + value(program, iterate.x), abs=1e-9)
        assert value(program, iterate.x) - best <= iterate.info["own_gap"] + 1e-9


def test_frank_wolfe_without_line_search_keeps_its_rate():
    """f - f* <= 4 n curvature / (k + 2n) is the paper's bound in expectation; here twice that, for one run."""
    program = box(X, Y, 20 * WEIGHT)
    best, n = value(program, optimum(program)), program.n
    constant = float((program.upper**2 * np.sum(X**2, axis=1)).sum()) - value(program, np.zeros(n)) + abs(best)
    for k, iterate in enumerate(islice(FrankWolfe(line_search=False).iterates(program), 200), start=1):
        assert value(program, iterate.x) - best <= 2.0 * 2.0 * n * constant / (k * n + 2 * n)


# -- Chambolle-Pock --------------------------------------------------------------------------------------------------


@layouts
@both_biases
@pytest.mark.parametrize("curvature", [0.0, 0.5])
def test_chambolle_pock_finds_the_saddle_point(layout, free, curvature):
    program = box(X, Y, np.inf if curvature else 20 * WEIGHT, curvature, free=free, layout=layout)
    alpha, _, _ = after(ChambollePock().iterates(program), 300)
    assert abs(error(program, alpha)) <= 1e-5
    assert (alpha >= 0.0).all()
    assert (alpha <= program.upper).all()


def test_restarts_are_worth_having():
    program = box(*overlapping(n=200, d=8), 100.0)
    with_, without = (abs(error(program, after(ChambollePock(r).iterates(program), 200)[0])) for r in (True, False))
    assert with_ <= 1e-3 * without


@both_biases
def test_chambolle_pock_is_as_quick_with_a_large_C_as_with_a_small_one(free):
    """C scales the multipliers and not w: with equal steps for both, the error at 1e4 is still above 1e-1."""
    for C in (1e-2, 1.0, 1e4):
        program = box(*overlapping(n=200, d=8), C, free=free)
        assert abs(error(program, after(ChambollePock().iterates(program), 200)[0])) <= 1e-4


@both_biases
@pytest.mark.parametrize("C", [0.1, 1000.0])
def test_chambolle_pock_never_hands_over_a_worse_point(free, C):
    program = box(*overlapping(n=200, d=8), C, free=free)
    gaps = []
    for iterate in islice(ChambollePock().iterates(program), 300):
        alpha, v = iterate.x, iterate.dual
        f, pull = decisions(program, v), joined(program, program.X.T @ (alpha * program.y), alpha)
        gaps.append(own_gap(program, Saddle(alpha, pull, v, f)))
    assert (np.diff(gaps) <= 1e-12 * abs(gaps[0])).all()
    assert gaps[-1] <= 1e-5 * gaps[0]


@both_biases
def test_the_gap_of_chambolle_pock_bounds_the_error_of_the_primal_point(free):
    program = box(X, Y, 20 * WEIGHT, free=free)
    lower = -value(program, optimum(program))
    for iterate in islice(ChambollePock().iterates(program), 50):
        v, f = iterate.dual, decisions(program, iterate.dual)
        primal = 0.5 * v[:5] @ v[:5] + program.upper @ np.maximum(0.0, 1.0 - Y * f)
        pull = joined(program, program.X.T @ (iterate.x * Y), iterate.x)
        assert -1e-7 <= primal - lower <= own_gap(program, Saddle(iterate.x, pull, v, f)) + 1e-7


@both_biases
def test_the_norm_of_the_matrix_is_met_within_two_percent(free):
    program = box(X, Y, free=free)
    true = np.linalg.norm(np.column_stack([X, np.ones(len(Y))]) if free else X, 2)
    assert 0.99 * true <= norm(program) <= 1.03 * true


# -- OCAS ------------------------------------------------------------------------------------------------------------


@layouts
def test_ocas_ends_within_its_gap_and_its_multipliers_prove_it(layout):
    program = risk(X, Y, 0.05, WEIGHT, layout=layout)
    *_, last = OCAS(tolerance=1e-9).iterates(program)
    assert last.claim == "converged"
    assert error(program, last.x) <= 1e-9
    dual = box(X, Y, WEIGHT / 0.05)
    assert_feasible(dual, last.dual)
    assert program.objective(last.x) / 0.05 + value(dual, last.dual) == pytest.approx(last.info["own_gap"], abs=1e-9)


def test_ocas_never_loses_its_best_point():
    values = [risk(X, Y).objective(i.x) for i in islice(OCAS().iterates(risk(X, Y)), 30)]
    assert (np.diff(values) <= 1e-12).all()


@pytest.mark.parametrize("seed", range(20))
def test_the_line_search_is_exact(seed):
    rng = np.random.default_rng(seed)
    m, change = rng.normal(size=30), rng.normal(size=30) * rng.integers(0, 2, size=30)
    weight, linear, square = rng.random(30), rng.normal(), rng.random() + 0.1

    def F(t):
        return linear * t + 0.5 * square * t * t + weight @ np.maximum(0.0, 1.0 - m - t * change)

    t = nearest(m, change, weight, linear, square)
    assert F(t) <= min(F(s) for s in np.linspace(0.0, 2.0 * t + 5.0, 4000)) + 1e-12


def test_exchanges_of_pairs_solve_the_small_program():
    rng = np.random.default_rng(1)
    A = rng.normal(size=(12, 4))
    H, c, beta = A @ A.T, rng.normal(size=12), np.full(12, 1.0 / 12.0)
    exchange_pairs(H, c, beta, 1e-12, 100_000)
    g = H @ beta - c
    assert beta.sum() == pytest.approx(1.0)
    assert beta @ (g - g.min()) <= 1e-10


# -- SAGA ------------------------------------------------------------------------------------------------------------


@layouts
@losses
def test_saga_converges_linearly_to_the_optimum(layout, loss):
    program = risk(X, Y, 0.05, WEIGHT, loss, layout=layout)
    assert error(program, after(SAGA().iterates(program), 4000)[0]) <= 1e-9


def test_saga_is_what_the_paper_says():
    """The plain method with dense arithmetic, on the same draws."""
    program = risk(X, Y, 0.05, WEIGHT, SquaredHinge())
    n, rng = program.n, np.random.default_rng(0)
    L = n * (2.0 * WEIGHT * (X**2).sum(axis=1)).max()
    eta = 1.0 / (3.0 * (L + 0.05))
    w, table = np.zeros(5), np.zeros((n, 5))
    for _ in range(3):
        for i in rng.integers(n, size=n):
            gradient = -n * WEIGHT[i] * 2.0 * max(0.0, 1.0 - Y[i] * (X[i] @ w)) * Y[i] * X[i]
            w = w - eta * (gradient - table[i] + table.mean(axis=0) + 0.05 * w)
            table[i] = gradient
    np.testing.assert_allclose(after(SAGA(seed=0).iterates(program), 3)[0], w, atol=1e-12)


# -- L-BFGS and trust region -----------------------------------------------------------------------------------------


@layouts
@losses
@both_biases
@pytest.mark.parametrize("solver", [LBFGS(), TrustRegion()], ids=["lbfgs", "trust_region"])
def test_second_order_methods_reach_the_optimum_and_say_so(solver, layout, loss, free):
    program = risk(X, Y, 0.05, WEIGHT, loss, free, layout)
    iterates = list(solver.iterates(program))
    assert "converged" in [iterate.claim for iterate in iterates]
    x = iterates[-1].x
    assert error(program, x) <= 1e-10
    assert np.abs(program.gradient(x)).max() <= 1e-7 * np.abs(program.gradient(0 * x)).max()


@losses
def test_the_curvature_is_the_derivative_of_the_gradient(loss):
    program = risk(X, Y, 0.05, WEIGHT, loss, free=True)
    rng = np.random.default_rng(0)
    x, v = rng.normal(size=6), rng.normal(size=6)
    H = curvature(program, program.margins(x))
    finite = (program.gradient(x + 1e-7 * v) - program.gradient(x - 1e-7 * v)) / 2e-7
    np.testing.assert_allclose(H(v), finite, rtol=1e-4, atol=1e-6)


def test_a_trust_region_step_stays_inside_and_predicts_its_fall():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6, 6))
    H, g = A @ A.T + np.eye(6), rng.normal(size=6)
    for radius in (0.01, 0.3, 100.0):
        s, predicted = step(lambda v: H @ v, g, radius, 1e-10)
        assert np.linalg.norm(s) <= radius * (1 + 1e-12)
        assert predicted == pytest.approx(-(g @ s + 0.5 * s @ H @ s))
    np.testing.assert_allclose(s, -np.linalg.solve(H, g), atol=1e-8)
    assert np.linalg.norm(s + to_boundary(s, g, 200.0) * g) == pytest.approx(200.0)


# -- alternating optimisation ----------------------------------------------------------------------------------------


@layouts
@losses
@both_biases
@pytest.mark.parametrize("block", [0, 1, 2])
def test_alternating_optimisation_of_a_smooth_loss_reaches_the_optimum(layout, loss, free, block):
    program = risk(X, Y, 0.05, WEIGHT, loss, free, layout)
    x, _, claim = after(Alternating(block).iterates(program), 3000)
    assert claim == "converged"
    assert error(program, x) <= 1e-10


def test_on_the_hinge_it_stops_short_of_the_optimum_and_does_not_claim_it():
    program = risk(X, Y, 0.05, WEIGHT, free=True)
    x, _, claim = after(Alternating(kinks=True).iterates(program), 3000)
    assert claim == "inaccurate"
    assert error(program, x) > 1e-6
    for j in range(x.size):  # and yet no coordinate alone gets any further
        steps = [program.objective(x + t * np.eye(x.size)[j]) for t in (-1e-4, -1e-6, 1e-6, 1e-4)]
        assert min(steps) >= program.objective(x) - 1e-12


# -- stochastic subgradients -----------------------------------------------------------------------------------------


@layouts
@both_biases
@pytest.mark.parametrize("average", ["none", "uniform", "tail"])
def test_stochastic_subgradients_come_close(layout, free, average):
    program = risk(X, Y, 0.05, WEIGHT, free=free, layout=layout)
    x, _, claim = after(StochasticSubgradient(average=average).iterates(program), 1000)
    assert claim == ""
    assert error(program, x) <= {"none": 0.05, "uniform": 0.05, "tail": 0.01}[average]


@pytest.mark.parametrize("average", ["none", "uniform"])
@pytest.mark.parametrize("power", [("constant", 0.0), ("root", 0.5)], ids=["constant", "root"])
def test_stochastic_subgradients_are_what_the_book_says(average, power):
    program = risk(X, Y, 0.05, WEIGHT, free=True)
    n, rng = program.n, np.random.default_rng(0)
    radius = np.sqrt(WEIGHT.sum() / 0.05)
    G = (n * WEIGHT * np.sqrt((X**2).sum(axis=1) + 1.0)).max() + 0.05 * radius
    w, b, points, t = np.zeros(5), 0.0, [], 0
    for _ in range(2):
        for i in rng.integers(n, size=n):
            t += 1
            eta = 0.3 * radius / G / t ** power[1]
            pull = eta * n * WEIGHT[i] * Y[i] * (Y[i] * (X[i] @ w + b) < 1.0)
            w, b = (1.0 - eta * 0.05) * w + pull * X[i], b + pull
            points.append(np.append(w, b))
    x, _, _ = after(StochasticSubgradient(power[0], 0.3, average).iterates(program), 2)
    np.testing.assert_allclose(x, points[-1] if average == "none" else np.mean(points, axis=0), atol=1e-10)


# -- what they refuse ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("solver", "program", "words"),
    [
        (FrankWolfe(), box(X, Y, free=True), "free bias"),
        (FrankWolfe(), box(X, Y, np.inf, 0.5), "bounded"),
        (ChambollePock(), box(X, Y, np.inf), "hard margin"),
        (OCAS(), risk(X, Y, free=True), "free bias"),
        (OCAS(), risk(X, Y, loss=SquaredHinge()), "SquaredHinge"),
        (SAGA(), risk(X, Y), "smooth"),
        (SAGA(), risk(X, Y, loss=SquaredHinge(), free=True), "free bias"),
        (LBFGS(), risk(X, Y), "smooth"),
        (TrustRegion(), risk(X, Y), "smooth"),
        (Alternating(), risk(X, Y), "solver.kinks=true"),
        (StochasticSubgradient(), risk(X, Y, loss=SquaredHinge()), "SquaredHinge"),
        (StochasticSubgradient(), risk(X, Y, 0.0), "lam"),
    ],
)
def test_refusals_say_why(solver, program, words):
    assert words in solver.refuses(program)


@pytest.mark.parametrize(
    ("solver", "fields", "words"),
    [
        (FrankWolfe, {"tolerance": 0.0}, "tolerance=0"),
        (OCAS, {"tolerance": -1.0}, "tolerance=-1"),
        (LBFGS, {"memory": 0}, "memory=0"),
        (TrustRegion, {"forcing": 1.0}, "forcing=1"),
        (Alternating, {"block": -1}, "block=-1"),
        (StochasticSubgradient, {"step": "fast"}, "step=fast.*constant, root"),
        (StochasticSubgradient, {"average": "some"}, "average=some.*none, uniform, tail"),
        (StochasticSubgradient, {"eta": 0.0}, "eta=0"),
    ],
)
def test_bad_parameters_are_named(solver, fields, words):
    with pytest.raises(InputError, match=words):
        solver(**fields)
