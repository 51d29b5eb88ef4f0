"""The project's own first-order, classical and Newton solvers, against optima found by another route and theory.

All data are read-only: a solver that writes into them fails, and each kernel is compiled once per layout.
"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import islice

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from marginbench.harness.matrices import as_matrix
from marginbench.harness.model.problem import InputError
from marginbench.harness.model.programs import (
    BoxDual,
    Hinge,
    PerceptronLoss,
    RegularisedRisk,
    SmoothedHinge,
    SquaredHinge,
)
from marginbench.harness.rowops import passes
from marginbench.solvers import pegasos, perceptron, projected_gradient, sdca, smo
from marginbench.solvers.newton import gram, smoothing, systems
from marginbench.solvers.newton import smoothed_hinge as newton_smoothed_hinge
from marginbench.solvers.newton.augmented import NewtonAugmented
from marginbench.solvers.newton.smoothed_hinge import NewtonSmoothedHinge, block_of
from marginbench.solvers.pegasos import Pegasos
from marginbench.solvers.perceptron import Perceptron
from marginbench.solvers.projected_gradient import ProjectedGradient
from marginbench.solvers.sdca import SDCA
from marginbench.solvers.smo import SMO
from marginbench.solvers.subgradient import Subgradient, best_bias

LAYOUTS = ("dense", "csr")
layouts = pytest.mark.parametrize("layout", LAYOUTS)
both_biases = pytest.mark.parametrize("free", [False, True], ids=["none", "free"])


# -- data, programs, and another route to their optima -----------------------------------------------------------


def frozen(array):
    array = np.array(array, dtype=float)
    array.flags.writeable = False
    return array


def matrix(X, layout="dense"):
    if layout == "dense":
        return frozen(X)
    X = as_matrix(sp.csr_array(X))
    for part in (X.data, X.indices, X.indptr):
        part.flags.writeable = False
    return X


def overlapping(seed=0, n=40, d=5):
    """Two classes, one twice as large, that no hyperplane separates; some entries are zero."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 3 == 0, -1.0, 1.0)
    X = (rng.normal(size=(n, d)) + 0.5 * y[:, None]) * (rng.random((n, d)) < 0.7)
    return X, y


def separable(seed=0, n=60, d=4, rho=0.1):
    """Rows in the unit ball with y_i u.x_i >= rho for a unit vector u."""
    rng = np.random.default_rng(seed)
    u = np.full(d, d**-0.5)
    X = rng.normal(size=(40 * n, d))
    X /= np.linalg.norm(X, axis=1)[:, None]
    X = X[np.abs(X @ u) >= rho][:n]
    return X, np.sign(X @ u)


def risk(X, y, lam=0.05, weight=None, loss=None, free=False, layout="dense"):
    weight = np.full(len(y), 1.0 / len(y)) if weight is None else weight
    return RegularisedRisk(matrix(X, layout), frozen(y), lam, frozen(weight), loss or Hinge(), free)


def box(X, y, C=1.0, curvature=0.0, free=False, layout="dense"):
    upper, curvature = frozen(np.broadcast_to(C, len(y))), frozen(np.broadcast_to(curvature, len(y)))
    return BoxDual(matrix(X, layout), frozen(y), upper, curvature, free)


def quadratic(P, q, A, b, equalities):
    """min 1/2 x'Px + q'x with Ax = b in the first rows and Ax <= b below."""
    kinds = [clarabel.ZeroConeT(equalities), clarabel.NonnegativeConeT(len(b) - equalities)]
    options = clarabel.DefaultSettings()
    options.verbose = False
    options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = 1e-12
    upper = sp.csc_matrix(sp.triu(sp.csc_matrix(P)))
    solution = clarabel.DefaultSolver(upper, q, sp.csc_matrix(A), b, kinds, options).solve()
    return np.array(solution.x)


def optimum(program):
    """The optimal x by an interior-point method on a quadratic program written down separately here."""
    Z, n, d = program.y[:, None] * (program.X @ np.eye(program.d)), program.n, program.d
    if isinstance(program, BoxDual):
        finite = np.isfinite(program.upper)
        A = np.vstack([program.y[None, :], -np.eye(n), np.eye(n)[finite]])
        b = np.concatenate([np.zeros(n + 1), program.upper[finite]])
        start = 0 if program.equality else 1
        P = Z @ Z.T + np.diag(program.curvature)
        return quadratic(P, -np.ones(n), A[start:], b[start:], 1 - start)
    # Each loss is the least of weight (u^2 / (2 delta) + v) over u + v >= 1 - m, v >= 0.
    c, free = program.weight, program.intercept
    half, linear = {Hinge: (None, True), SquaredHinge: (0.5, False)}.get(type(program.loss), (None, True))
    if isinstance(program.loss, SmoothedHinge):
        half = program.loss.delta
    P = np.diag(np.concatenate([np.full(d, program.lam), [1.0 - free], c / (half or 1.0), np.zeros(n)]))
    q = np.concatenate([np.zeros(d + 1 + n), c])
    I, O, W = np.eye(n), np.zeros((n, n)), np.zeros((n, d + 1))
    rows = [np.hstack([-Z, -program.y[:, None] * free, -I, -I]), np.hstack([W, O, -I])]
    pinned = []
    if half is None:
        pinned.append(np.hstack([W, I, O]))
    if not linear:
        pinned.append(np.hstack([W, O, I]))
    A = np.vstack(pinned + rows)
    b = np.concatenate([np.zeros(n * len(pinned)), -np.ones(n), np.zeros(n)])
    x = quadratic(P, q, A, b, n * len(pinned))
    return x[: d + 1] if free else x[:d]


def value(program: BoxDual, alpha):
    """The negated dual objective, which the solvers minimise."""
    w = program.X.T @ (alpha * program.y)
    return 0.5 * float(w @ w) + 0.5 * float(program.curvature @ alpha**2) - float(alpha.sum())


def after(iterates: Iterable, k):
    """(x, dual) of the k-th iterate, or of the last where it ends earlier; and the last claim."""
    for iterate in islice(iterates, k):
        last = iterate
    return np.array(last.x), None if last.dual is None else np.array(last.dual), last.claim


def every_solver(layout="dense"):
    """(solver, a program it takes), for what holds of all of them."""
    X, y = overlapping()
    weight = np.linspace(0.5, 1.5, len(y)) / len(y)
    return [
        (Perceptron(order="random", average=True), risk(X, y, 0.0, loss=PerceptronLoss(0.1), layout=layout)),
        (Pegasos(batch=3, project=True, average="linear"), risk(X, y, weight=weight, layout=layout)),
        (Subgradient(), risk(X, y, weight=weight, free=True, layout=layout)),
        (NewtonSmoothedHinge(), risk(X, y, weight=weight, loss=SmoothedHinge(0.1), free=True, layout=layout)),
        (NewtonSmoothedHinge(direct=0), risk(X, y, weight=weight, loss=SquaredHinge(), layout=layout)),
        (SDCA(), box(X, y, C=10 * weight, curvature=0.1, layout=layout)),
        (ProjectedGradient(), box(X, y, C=10 * weight, free=True, layout=layout)),
        (SMO(), box(X, y, C=10 * weight, free=True, layout=layout)),
    ]


NAMES = [f"{type(solver).__name__}{k}" for k, (solver, _) in enumerate(every_solver())]
all_solvers = pytest.mark.parametrize("k", range(len(NAMES)), ids=NAMES)


# -- what holds of all -------------------------------------------------------------------------------------------


@all_solvers
@layouts
def test_same_seed_same_bits(k, layout):
    solver, program = every_solver(layout)[k]
    first, second = (after(solver.iterates(program), 7)[0] for _ in range(2))
    assert (first == second).all()


@all_solvers
def test_dense_and_csr_agree_to_rounding(k):
    (solver, dense), (_, sparse) = (every_solver(layout)[k] for layout in LAYOUTS)
    assert sp.issparse(sparse.X)
    x, z = (after(solver.iterates(program), 7)[0] for program in (dense, sparse))
    np.testing.assert_allclose(x, z, atol=1e-11 * np.abs(x).max())


@all_solvers
@layouts
def test_warm_up_compiles_all_and_changes_nothing(k, layout):
    solver, program = every_solver(layout)[k]
    assert solver.refuses(program) is None
    solver.warm_up(program)
    compiled = signatures()
    first = after(solver.iterates(program), 5)[0]
    assert signatures() == compiled
    solver.warm_up(program)
    assert (after(solver.iterates(program), 5)[0] == first).all()


def signatures():
    modules = (passes, gram, smoothing, systems, pegasos, perceptron, projected_gradient, sdca, smo)
    kernels = [value for module in modules for value in vars(module).values() if hasattr(value, "signatures")]
    return sum(len(kernel.signatures) for kernel in kernels)


@pytest.mark.parametrize("k", [0, 1, 5])
def test_another_seed_is_another_run(k):
    solver, program = every_solver()[k]
    first, second = (after(replace(solver, seed=seed).iterates(program), 3)[0] for seed in (0, 1))
    assert np.abs(first - second).max() > 0.0


def test_what_cannot_be_solved_is_refused_in_words():
    X, y = overlapping()
    assert "bias" in Pegasos().refuses(risk(X, y, free=True))
    assert "lam" in Pegasos().refuses(risk(X, y, 0.0))
    assert "SquaredHinge" in Pegasos().refuses(risk(X, y, loss=SquaredHinge()))
    assert "augmented" in Perceptron().refuses(risk(X, y, 0.0, loss=PerceptronLoss(), free=True))
    assert "Hinge" in Perceptron().refuses(risk(X, y))
    assert "smooth" in NewtonSmoothedHinge().refuses(risk(X, y))
    assert "SmoothedHinge" in Subgradient().refuses(risk(X, y, loss=SmoothedHinge(0.1)))
    assert "free bias" in SDCA().refuses(box(X, y, free=True))
    assert "free bias" in SMO().refuses(box(X, y))


@pytest.mark.parametrize(
    ("solver", "fields", "words"),
    [
        (Perceptron, {"order": "sorted"}, "order=sorted.*cyclic, random"),
        (Pegasos, {"batch": 0}, "batch=0"),
        (Pegasos, {"average": "tail"}, "average=tail.*none, uniform, linear"),
        (NewtonSmoothedHinge, {"direct": -1}, "direct=-1"),
        (NewtonAugmented, {"direct": -1}, "direct=-1"),
        (NewtonAugmented, {"direct": "many"}, "direct=many"),
        (SMO, {"tolerance": 0.0}, "tolerance=0"),
        (SMO, {"cache_mb": -1.0}, "cache_mb=-1"),
    ],
)
def test_bad_parameters_are_named(solver, fields, words):
    with pytest.raises(InputError, match=words):
        solver(**fields)


# -- perceptron --------------------------------------------------------------------------------------------------


@layouts
@pytest.mark.parametrize("order", ["cyclic", "random"])
@pytest.mark.parametrize("gamma", [0.0, 0.5])
def test_perceptron_separates_within_the_bound(layout, order, gamma):
    rho = 0.1
    X, y = separable(rho=rho)
    program = risk(X, y, 0.0, loss=PerceptronLoss(gamma), layout=layout)
    *_, last = Perceptron(order=order).iterates(program)
    assert last.claim == "converged"
    assert last.info["mistakes"] == 0
    assert 0 < last.info["updates"] <= (1.0 + 2.0 * gamma) / rho**2
    assert (program.margins(last.x) > gamma).all()


def test_averaged_perceptron_is_the_mean_of_all_visits():
    X, y = overlapping()
    program = risk(X, y, 0.0, loss=PerceptronLoss(0.2))
    w, visits = np.zeros(program.d), []
    for i in list(range(program.n)) * 3:
        if y[i] * (X[i] @ w) <= 0.2:
            w = w + y[i] * X[i]
        visits.append(w)
    x, _, _ = after(Perceptron(average=True).iterates(program), 3)
    np.testing.assert_allclose(x, np.mean(visits, axis=0), atol=1e-12)


def test_averaged_perceptron_ends_when_the_average_separates():
    X, y = separable()
    program = risk(X, y, 0.0, loss=PerceptronLoss())
    *_, last = Perceptron(average=True).iterates(program)
    assert (program.margins(last.x) > 0.0).all()


@pytest.mark.parametrize("average", [False, True])
def test_perceptron_never_claims_what_cannot_be_separated(average):
    X, y = overlapping()
    zero_row = np.vstack([separable()[0], np.zeros(4)]), np.append(separable()[1], 1.0)
    for data in ((X, y), zero_row):
        program = risk(*data, 0.0, loss=PerceptronLoss())
        iterates = list(islice(Perceptron(average=average).iterates(program), 200))
        assert len(iterates) == 200
        assert not any(iterate.claim for iterate in iterates)


# -- Pegasos -----------------------------------------------------------------------------------------------------


def pegasos_by_the_book(program, batch, project, average, seed, epochs):
    """Figures 1 and 2 of the paper with w written out, for any weights."""
    n, lam, y = program.n, program.lam, program.y
    X = program.X @ np.eye(program.d)
    rng, w, t, total, mean = np.random.default_rng(seed), np.zeros(program.d), 0, 0.0, np.zeros(program.d)
    for _ in range(epochs):
        for drawn in rng.integers(n, size=(-(-n // batch), batch)):
            t += 1
            g = lam * w
            for i in drawn:
                if y[i] * (X[i] @ w) < 1.0:
                    g = g - n / batch * program.weight[i] * y[i] * X[i]
            w = w - g / (lam * t)
            radius = np.sqrt(program.weight.sum() / lam)
            if project and np.linalg.norm(w) > radius:
                w = w * radius / np.linalg.norm(w)
            weight = {"none": 1.0, "uniform": 1.0, "linear": t}[average]
            total += weight
            mean = mean + weight / total * (w - mean)
    return w if average == "none" else mean


@layouts
@pytest.mark.parametrize("average", ["none", "uniform", "linear"])
@pytest.mark.parametrize(("batch", "project"), [(1, False), (1, True), (7, False), (7, True)])
def test_pegasos_is_what_the_book_says(layout, average, batch, project):
    X, y = overlapping()
    program = risk(X, y, 0.02, np.linspace(0.2, 1.8, len(y)) / len(y), layout=layout)
    solver = Pegasos(batch, project, average, seed=5)
    x, _, _ = after(solver.iterates(program), 4)
    np.testing.assert_allclose(x, pegasos_by_the_book(program, batch, project, average, 5, 4), atol=1e-10)


def test_pegasos_keeps_its_bound_on_average():
    X, y = overlapping()
    program = risk(X, y, lam=0.1)
    best = program.objective(optimum(program))
    G = np.linalg.norm(X, axis=1).max() + np.sqrt(program.lam)
    runs = [list(epochs_of(Pegasos(project=True, average="uniform", seed=s), program, 20)) for s in range(20)]
    for epoch, values in enumerate(np.mean(runs, axis=0), start=1):
        T = epoch * program.n
        assert 0.0 <= values - best <= G**2 * (1.0 + np.log(T)) / (2.0 * program.lam * T)


def epochs_of(solver, program, k):
    for iterate in islice(solver.iterates(program), k):
        yield program.objective(iterate.x)


def test_pegasos_needs_no_particular_scale_of_the_objective():
    X, y = overlapping()
    weight = np.linspace(0.5, 1.5, len(y))
    x, z = (after(Pegasos().iterates(risk(X, y, 0.1 * s, weight * s)), 5)[0] for s in (1.0, 37.0))
    np.testing.assert_allclose(x, z, rtol=1e-10)


def test_pegasos_last_and_linear_average_come_close():
    X, y = overlapping()
    program = risk(X, y, lam=0.1)
    best = program.objective(optimum(program))
    for solver in (Pegasos(), Pegasos(average="linear"), Pegasos(batch=10)):
        x, _, _ = after(solver.iterates(program), 500)
        assert program.objective(x) - best <= 5e-3 * best


# -- subgradient -------------------------------------------------------------------------------------------------


@layouts
@both_biases
def test_subgradient_keeps_its_bound_and_carries_a_feasible_dual(layout, free):
    X, y = overlapping()
    program = risk(X, y, 0.1, np.linspace(0.5, 1.5, len(y)) / len(y), free=free, layout=layout)
    best, C = program.objective(optimum(program)), program.weight / program.lam
    G = 2.0 * program.weight @ np.linalg.norm(X, axis=1)  # ||w|| lam and the pull of the samples are each below half
    for T, iterate in enumerate(islice(Subgradient().iterates(program), 300), start=1):
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


# -- Newton ------------------------------------------------------------------------------------------------------


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


# -- dual solvers ------------------------------------------------------------------------------------------------

DUALS = [
    (SDCA(), False, 400),
    (ProjectedGradient(), False, 3000),
    (ProjectedGradient(), True, 3000),
    (SMO(), True, 200),
]
dual_solvers = pytest.mark.parametrize(("solver", "free", "steps"), DUALS, ids=["sdca", "pg", "pg_free", "smo"])


def assert_feasible(program, alpha):
    assert (alpha >= 0.0).all()
    assert (alpha <= program.upper).all()
    if program.equality:
        assert abs(alpha @ program.y) <= 1e-13 * max(1.0, alpha.sum())


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


OPPOSED = np.array([[1.0], [1.0]]), np.array([1.0, -1.0])  # one point, both labels


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


def test_smo_claims_nothing_while_alpha_grows():
    X, y = overlapping()
    iterates = list(islice(SMO().iterates(box(X, y, np.inf, free=True)), 50))
    assert len(iterates) == 50
    assert not any(iterate.claim for iterate in iterates)


def test_sdca_proves_a_zero_row_impossible_under_a_hard_margin():
    X, y = np.array([[1.0], [0.0], [-1.0]]), np.array([1.0, 1.0, -1.0])
    mu, _, claim = after(SDCA().iterates(box(X, y, np.inf)), 5)
    assert claim == "unbounded"
    assert mu.tolist() == [0.0, 1.0, 0.0]


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


def test_sdca_never_descends():
    X, y = overlapping()
    program = box(X, y)
    values = [value(program, iterate.x.copy()) for iterate in islice(SDCA().iterates(program), 50)]
    assert (np.diff(values) <= 1e-12).all()


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


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12), st.sampled_from([1e-3, 1.0, np.inf]))
def test_balance_is_the_projection(seed, n, bound):
    rng = np.random.default_rng(seed)
    y, v = frozen(rng.choice([-1.0, 1.0], size=n)), rng.normal(size=n) * 10.0 ** rng.integers(-3, 4)
    upper, out = frozen(bound * (rng.random(n) + 0.5)), np.empty(n)
    mu = projected_gradient.balance(v, y, upper, rng.normal(), out)
    np.testing.assert_array_equal(out, np.clip(v - mu * y, 0.0, upper))
    assert abs(out @ y) <= 1e-14 * max(np.abs(v).max(), out.sum())


def test_smo_does_not_need_its_cache():
    X, y = overlapping()
    program = box(X, y, 5.0, free=True)
    x, z = (after(SMO(cache_mb=mb).iterates(program), 200)[0] for mb in (0.0, 100.0))
    np.testing.assert_array_equal(x, z)


@layouts
def test_smo_keeps_the_gradient_of_its_alpha(layout):
    X, y = overlapping()
    program = box(X, y, 5.0, 0.2, free=True, layout=layout)
    n, none = program.n, -np.ones(program.n, dtype=int)
    cache = smo.Cache(np.empty((3, n)), none[:3].copy(), none[:3].copy(), none.copy(), np.empty(program.d))
    alpha, g, K = np.zeros(n), np.full(n, -1.0), np.sum(X**2, axis=1)
    made = smo.update_pairs(
        program.rows, program.y, program.upper, program.curvature, K, 1e-16, 1e-10, 0, alpha, g, cache
    )
    assert made == n
    np.testing.assert_allclose(g, program.gradient(alpha), atol=1e-12)
