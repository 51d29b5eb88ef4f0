"""What Newton's method and coordinate descent are made of: passes, faces, linear systems, proximal steps."""

from itertools import islice

import numpy as np
import pytest
import scipy.sparse as sp

from harness.kernels import systems
from harness.kernels.faces import Face, minimise_on_face, projected_search
from harness.kernels.passes import combine, margins, squared_norms, take, update_gram
from harness.kernels.rows import rows_of
from harness.kernels.smoothing import Block
from harness.kernels.systems import solve_positive
from harness.programs import BoxDual
from solvers.auto import Auto
from solvers.coordinate_descent import CoordinateDescent


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_passes_are_the_products_they_name(sparse):
    rng = np.random.default_rng(15)
    X = rng.normal(size=(20, 4)) * (rng.random((20, 4)) < 0.5)
    y, w, a = np.where(rng.random(20) < 0.5, 1.0, -1.0), rng.normal(size=4), rng.normal(size=20)
    rows, index = rows_of(sp.csr_array(X) if sparse else X), np.array([3, 1, 7])
    m, q, pulled = np.empty(20), np.empty(20), np.zeros(4)
    margins(rows, y, w, 0.3, m)
    squared_norms(rows, q)
    balance = combine(rows, y, a, pulled)
    np.testing.assert_allclose(m, y * (X @ w + 0.3))
    np.testing.assert_allclose(q, (X**2).sum(1))
    np.testing.assert_allclose(pulled, X.T @ (a * y))
    assert balance == pytest.approx(a @ y)
    part = np.empty(3)
    margins(take(rows, index), y[index], w, 0.0, part)
    np.testing.assert_allclose(part, (y * (X @ w))[index])
    G, X1 = np.zeros((5, 5)), np.hstack([X, np.ones((20, 1))])[index]
    v, F, in_G = np.abs(a), np.isin(np.arange(20), index), np.zeros(20, np.bool_)
    update_gram(rows, v, F, in_G, 3, True, G)
    np.testing.assert_array_equal(in_G, F)
    F[index[0]] = False
    update_gram(rows, v, F, in_G, 1, True, G)
    np.testing.assert_allclose(np.triu(G), np.triu((X1[1:].T * v[index[1:]]) @ X1[1:]), atol=1e-12)
    many = np.zeros((5, 5))
    update_gram(rows, v, F, np.zeros(20, np.bool_), 10**6, True, many)
    np.testing.assert_allclose(np.triu(many), np.triu(G), atol=1e-12)


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
        block.F[:] = np.arange(12) < k
        expected = np.linalg.solve(newton_matrix(X[:k], v[:k], h, bias), g)
        np.testing.assert_allclose(block.system.solve(g, h), expected, rtol=1e-7)
        block.system.swap = direct == 100 and not block.system.swap
        np.testing.assert_allclose(block.system.solve(g, h), expected, rtol=1e-7)
    assert (block.system.G is None) == (direct < 100)


def test_a_matrix_beyond_the_largest_dense_one_is_never_formed():
    """d = 10^6: G would need 8 terabytes, whatever the small system has come to."""
    rng = np.random.default_rng(17)
    X = sp.csr_array((rng.normal(size=90), rng.integers(0, 10**6, 90), np.arange(0, 91, 3)), shape=(30, 10**6))
    y = np.where(np.arange(30) % 2, 1.0, -1.0)
    block = Block(rows_of(X), y, np.ones(30), np.ones(30), 0.0, 10**6, True)
    state = block.state(np.zeros(10**6 + 1), np.zeros(30), h=0.1)
    block.system.swap = True
    assert block.minimise(state, 1e-10, limit=50)
    assert block.system.G is None


def test_conjugate_gradients_at_their_limit_are_slow_and_not_at_an_end(monkeypatch):
    """A full step that does not halve the gradient ends Newton's method, unless its system was not solved."""
    monkeypatch.setattr(systems, "PRODUCTS", 2)
    rng = np.random.default_rng(18)
    X, y = rng.normal(size=(60, 1)) + 0.03 * rng.normal(size=(60, 12)), np.where(np.arange(60) % 2, 1.0, -1.0)
    block = Block(rows_of(X), y, np.full(60, np.inf), np.full(60, 1e3), 0.0, 12, False, direct=0)
    state = block.state(np.zeros(12), np.zeros(60), h=1.0)
    assert block.minimise(state, 1e-6, limit=3000)
    assert np.linalg.norm(state.theta - state.pull) <= 1e-6 * np.linalg.norm(state.theta)


def test_no_descent_by_the_small_system_is_tried_by_the_other(monkeypatch):
    """Rounding of columns over 1e8 at C = 1e4 and h = 1e-6; here as a small system that is wrong by its sign."""
    honest = systems.NewtonSystem._by_rows
    monkeypatch.setattr(systems.NewtonSystem, "_by_rows", lambda *given: -honest(*given))
    rng = np.random.default_rng(19)
    X, y = rng.normal(size=(6, 9)), np.where(np.arange(6) % 2, 1.0, -1.0)
    block = Block(rows_of(X), y, np.ones(6), np.ones(6), 0.0, 9, False)
    state = block.state(np.zeros(9), np.zeros(6), h=0.5)
    assert block.minimise(state, 1e-10, limit=50)
    assert block.system.swap
    assert np.linalg.norm(state.theta - state.pull) <= 1e-10 * np.linalg.norm(state.theta)


def test_rows_all_alike_end_at_w_of_nothing_but_rounding():
    """w = 0 solves it: no gradient is small beside ||w||, but what a step gains is."""
    X, y = np.tile(np.random.default_rng(20).normal(size=17), (3, 1)), np.array([-1.0, 1.0, 1.0])
    block = Block(rows_of(X), y, np.full(3, 190.0), np.full(3, 190.0), 0.0, 17, True)
    for h in (2.0, 0.2, 0.02, 0.002):
        state = block.state(np.zeros(18), np.zeros(3), h=h)
        assert block.minimise(state, 1e-4, limit=10)
        assert np.abs(state.theta[:-1]).max() <= 1e-10


def test_a_singular_system_still_gives_a_direction():
    x = solve_positive(np.ones((3, 3)), np.ones(3))
    assert np.isfinite(x).all()
    assert x.sum() > 0.0


def test_conjugate_gradients_solve_the_face_and_the_search_stays_in_the_box():
    rng = np.random.default_rng(17)
    X, y = rng.normal(size=(6, 9)), np.where(np.arange(6) % 2, 1.0, -1.0)
    K = (X @ X.T) * np.outer(y, y)
    face = Face(rows_of(X), y, np.full(6, 0.5), np.zeros(6), np.diag(K).copy(), 0.0)
    alpha, g = np.full(6, 0.25), rng.normal(size=6)
    step, products = minimise_on_face(face, g, 9, limit=50)
    assert products <= 8
    assert g @ step + 0.5 * step @ K @ step < 0.9 * (-0.5 * g @ np.linalg.solve(K, g))
    moved, pulled, balance = projected_search(face, alpha, g, step, 9)
    change = moved - alpha
    assert ((moved >= 0.0) & (moved <= 0.5)).all()
    assert g @ change + 0.5 * change @ K @ change < 0.0
    np.testing.assert_allclose(pulled, X.T @ (y * change), atol=1e-12)
    assert balance == pytest.approx(y @ change)


def test_a_row_of_zeros_at_the_hard_margin_proves_that_nothing_separates_the_data():
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]])
    program = BoxDual(X, np.array([1.0, -1.0, 1.0]), np.full(3, np.inf), np.zeros(3))
    for solver in (CoordinateDescent(), Auto()):
        *_, last = islice(solver.iterates(program), 50)
        assert np.isfinite(last.x).all()
        assert last.x[2] == last.x.max() > 0.0
