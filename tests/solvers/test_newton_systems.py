"""What Newton's method and coordinate descent are made of: passes, faces, linear systems, proximal steps."""

from itertools import islice

import numpy as np
import pytest
import scipy.sparse as sp
from numba import njit

from marginbench.datasets.generators import one_hot
from marginbench.harness.model.problem import Problem
from marginbench.harness.model.programs import BoxDual
from marginbench.harness.rowops import combine, margins, rows_of, squared_norms, take
from marginbench.solvers.auto import Auto
from marginbench.solvers.coordinate_descent.faces import Face, minimise_on_face, projected_search
from marginbench.solvers.coordinate_descent.solver import CoordinateDescent, Descent
from marginbench.solvers.coordinate_descent.sweeps import best_length, survey
from marginbench.solvers.newton.gram import add_outer, add_squares, products, update_gram
from marginbench.solvers.newton.smoothing import Block
from marginbench.solvers.newton.systems import MOST, SWAP, factor, substitute


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_passes_are_the_products_they_name(sparse):
    rng = np.random.default_rng(15)
    X = rng.normal(size=(20, 4)) * (rng.random((20, 4)) < 0.5)
    y, w, a = np.where(rng.random(20) < 0.5, 1.0, -1.0), rng.normal(size=4), rng.normal(size=20)
    rows, index = rows_of(sp.csr_array(X) if sparse else X), np.array([3, 1, 7])
    m, q, pulled = np.empty(20), squared_norms(rows, 20), np.zeros(4)
    margins(rows, y, w, 0.3, m)
    balance = combine(rows, y, a, pulled)
    np.testing.assert_allclose(m, y * (X @ w + 0.3))
    np.testing.assert_allclose(q, (X**2).sum(1))
    np.testing.assert_allclose(pulled, X.T @ (a * y))
    assert balance == pytest.approx(a @ y)
    part = np.empty(3)
    margins(take(rows, index), y[index], w, 0.0, part)
    np.testing.assert_allclose(part, (y * (X @ w))[index])
    np.testing.assert_allclose(np.tril(products(rows, 20, 4)), np.tril(X @ X.T), atol=1e-12)


@njit
def gram_of(rows, v, F, in_G, changed, bias, G):
    update_gram(rows, v, F, in_G, changed, bias, G)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("n", "d"), [(20, 4), (700, 60)], ids=["loop", "blas"])
def test_a_gram_matrix_follows_the_rows_that_enter_and_leave(n, d, bias, sparse):
    """700 rows of 60 columns: three blocks of rows, two panels of columns."""
    rng = np.random.default_rng(16)
    X, v, F = rng.normal(size=(n, d)), rng.uniform(0.5, 2.0, n), rng.random(n) < 0.9
    rows, in_G, G = rows_of(sp.csr_array(X) if sparse else X), np.zeros(n, np.bool_), np.zeros((d + bias, d + bias))
    Z = np.hstack([X, np.ones((n, 1))])[:, : d + bias]
    for share in (0.9, 0.5, 0.52):
        F = rng.random(n) < share
        gram_of(rows, v, F, in_G, np.count_nonzero(in_G != F), bias, G)
        np.testing.assert_array_equal(in_G, F)
        np.testing.assert_allclose(np.tril(G), np.tril((Z[F].T * v[F]) @ Z[F]), atol=1e-9)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_what_a_row_can_do_is_the_same_compiled_and_in_python(sparse):
    rng = np.random.default_rng(15)
    X = rng.normal(size=(6, 4)) * (rng.random((6, 4)) < 0.5)
    rows = rows_of(sp.csr_array(X) if sparse else X)

    def accumulate(rows, w, G):
        for i in range(6):
            add_squares(rows, i, 0.5 + i, w)
            add_outer(rows, i, 0.5 + i, G)

    for function in (accumulate, njit(accumulate)):
        w, G, weight = np.zeros(4), np.zeros((4, 4)), 0.5 + np.arange(6)
        function(rows, w, G)
        np.testing.assert_allclose(w, weight @ X**2)
        np.testing.assert_allclose(G, np.tril((X.T * weight) @ X))


def newton_matrix(X, v, h, bias):
    A = np.hstack([X, np.ones((len(X), 1))])[:, : X.shape[1] + bias]
    return np.diag(np.append(np.ones(X.shape[1]), np.zeros(int(bias)))) + (A.T * v) @ A / h


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("direct", [0, 7, 100], ids=["products", "no-gram", "all"])
def test_all_newton_systems_give_the_same_direction(direct, bias, sparse):
    """d = 8 is beyond direct = 7: rows while |F| <= 7, products where |F| = 12; within 100: rows, or G."""
    rng = np.random.default_rng(16)
    X, y, v = rng.normal(size=(12, 8)), np.where(rng.random(12) < 0.5, 1.0, -1.0), rng.uniform(0.5, 2.0, 12)
    block = Block(rows_of(sp.csr_array(X) if sparse else X), y, v, v, 0.0, 8, bias, direct)
    g, h = rng.normal(size=8 + bias), 0.3
    for k in (3, 6, 12):  # few rows are copied for products, most are not
        expected = np.linalg.solve(newton_matrix(X[:k], v[:k], h, bias), g)
        block.system.F[:] = np.arange(12) < k
        np.testing.assert_allclose(block.solve(g, h), expected, rtol=1e-7)
        block.system.memory[SWAP] = direct == 100 and not block.system.memory[SWAP]
        np.testing.assert_allclose(block.solve(g, h), expected, rtol=1e-7)
    assert (block.system.memory[MOST] == 0) == (direct < 100)


def test_a_matrix_beyond_the_largest_dense_one_is_never_formed():
    """d = 10^6: G would need 8 terabytes, whatever the small system has come to."""
    rng = np.random.default_rng(17)
    X = sp.csr_array((rng.normal(size=90), rng.integers(0, 10**6, 90), np.arange(0, 91, 3)), shape=(30, 10**6))
    y = np.where(np.arange(30) % 2, 1.0, -1.0)
    block = Block(rows_of(X), y, np.ones(30), np.ones(30), 0.0, 10**6, True)
    state = block.state(np.zeros(10**6 + 1), np.zeros(30), h=0.1)
    block.system.memory[SWAP] = True
    assert block.minimise(state, 1e-10, limit=50)
    assert block.system.G.size == 0


def test_conjugate_gradients_at_their_limit_are_slow_and_not_at_an_end():
    """A full step that does not halve the gradient ends Newton's method, unless its system was not solved."""
    rng = np.random.default_rng(18)
    X, y = rng.normal(size=(60, 1)) + 0.03 * rng.normal(size=(60, 12)), np.where(np.arange(60) % 2, 1.0, -1.0)
    block = Block(rows_of(X), y, np.full(60, np.inf), np.full(60, 1e3), 0.0, 12, False, direct=0, products=2)
    state = block.state(np.zeros(12), np.zeros(60), h=1.0)
    assert block.minimise(state, 1e-6, limit=3000)
    assert np.linalg.norm(state.theta - state.pull) <= 1e-6 * np.linalg.norm(state.theta)


def test_no_descent_by_the_small_system_is_tried_by_the_other():
    """Columns over 1e10 at C = 1e4: the small system alone ends with a gradient of nothing but rounding."""
    rng = np.random.default_rng(299)
    X, y, C = rng.normal(size=(15, 40)) * 10.0 ** rng.uniform(-5, 5, 40), np.resize([-1.0, 1.0], 15), np.full(15, 1e4)
    left = {}
    for direct in (20, 100):  # below d = 40 there is no other system
        block = Block(rows_of(X), y, C, C, 0.0, 40, False, direct)
        state = block.state(np.zeros(40), np.zeros(15), h=1e-2)
        block.minimise(state, 1e-9, limit=100)
        left[direct] = np.linalg.norm(block.gradient(state)) / np.linalg.norm(state.theta)
        assert block.system.memory[SWAP]
    assert left[100] < 1e-6 * left[20]


def test_rows_all_alike_end_at_w_of_nothing_but_rounding():
    """w = 0 solves it: no gradient is small beside ||w||, but what a step gains is."""
    X, y = np.tile(np.random.default_rng(20).normal(size=17), (3, 1)), np.array([-1.0, 1.0, 1.0])
    block = Block(rows_of(X), y, np.full(3, 190.0), np.full(3, 190.0), 0.0, 17, True)
    for h in (2.0, 0.2, 0.02, 0.002):
        state = block.state(np.zeros(18), np.zeros(3), h=h)
        assert block.minimise(state, 1e-4, limit=10)
        assert np.abs(state.theta[:-1]).max() <= 1e-10


def test_a_singular_system_still_gives_a_direction():
    x = np.ones(3)
    substitute(factor(np.ones((3, 3))), x)
    assert np.isfinite(x).all()
    assert x.sum() > 0.0
    np.testing.assert_array_equal(factor(-np.ones((3, 3))), np.eye(3))


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

    best = best_length(m, np.arange(300), np.full(300, norm2 / m.sum()), upper, norm2, 0.5, 2.0)
    assert 0.5 < best < 2.0
    assert all(P(best) <= P(t) + 1e-9 for t in np.linspace(0.5, 2.0, 1001))


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_a_check_passes_over_rows_that_are_surely_at_rest(C):
    """What it says is what a check of every row says."""
    X, y = one_hot(2000, 40, 5, 0.3, 0.5, 0)
    problem = Problem(X, y, C, "none")
    state = Descent(BoxDual(X, problem.y, problem.upper, problem.curvature), seed=0)
    for _ in range(30):
        state.sweep()
        state.check()
        at_work, everything = np.empty(2000, np.int32), np.empty(2000, np.int32)
        m, norm2 = np.empty(2000), state.w @ state.w
        active, gap, read, *bounds = survey(
            state.program.rows, y, problem.upper, problem.curvature, state.q, state.alpha, state.w, 0.0, 1.0,
            np.full(2000, -np.inf), m, state.high, state.low, at_work, everything
        )  # fmt: skip
        assert (read, bounds) == (2000, [0.5, 2.0])
        assert gap == pytest.approx(state.gap, rel=1e-9, abs=1e-12)
        np.testing.assert_array_equal(at_work[:active], state.at_work[: state.active])
        best = best_length(m, everything, state.alpha, problem.upper, norm2, 0.5, 2.0)
        values = [0.5 * t**2 * norm2 + problem.upper @ np.maximum(0.0, 1.0 - t * m) for t in (best, state.length)]
        assert values[1] == pytest.approx(values[0], rel=1e-9)
    assert state.read < 1900


def test_a_row_of_zeros_at_the_hard_margin_proves_that_nothing_separates_the_data():
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]])
    program = BoxDual(X, np.array([1.0, -1.0, 1.0]), np.full(3, np.inf), np.zeros(3))
    for solver in (CoordinateDescent(), Auto()):
        *_, last = islice(solver.iterates(program), 50)
        assert np.isfinite(last.x).all()
        assert last.x[2] == last.x.max() > 0.0
