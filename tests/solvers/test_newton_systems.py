"""What Newton's method is made of: Gram matrices, linear systems, proximal steps."""

import numpy as np
import pytest
import scipy.sparse as sp
from numba import njit

from marginbench.harness.model.programs import BoxDual
from marginbench.harness.rowops import rows_of
from marginbench.solvers.newton.augmented import NewtonAugmented
from marginbench.solvers.newton.gram import add_outer, add_squares, products, room_for, update_gram
from marginbench.solvers.newton.smoothing import Block
from marginbench.solvers.newton.systems import DIRECT, MOST, SWITCHED, direct_by_cost, factor, substitute


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_products_of_rows_are_a_triangle_of_all_pairs(sparse):
    rng = np.random.default_rng(15)
    X = rng.normal(size=(20, 4)) * (rng.random((20, 4)) < 0.5)
    rows = rows_of(sp.csr_array(X) if sparse else X)
    np.testing.assert_allclose(np.tril(products(rows, 20, 4)), np.tril(X @ X.T), atol=1e-12)


@njit
def gram_of(rows, v, F, in_G, bias, G, room, start, end):
    update_gram(rows, v, F, in_G, bias, G, room, start, end)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("n", "d"), [(20, 4), (700, 60)], ids=["loop", "blas"])
def test_a_gram_matrix_follows_the_rows_that_enter_and_leave(n, d, bias, sparse):
    """700 rows of 60 columns: three blocks of rows, two panels of columns. In two parts, whose sum it is."""
    rng = np.random.default_rng(16)
    X, v, F = rng.normal(size=(n, d)), rng.uniform(0.5, 2.0, n), rng.random(n) < 0.9
    rows, in_G, G = rows_of(sp.csr_array(X) if sparse else X), np.zeros(n, np.bool_), np.zeros((2, d + bias, d + bias))
    room = np.full(room_for(rows, d + bias), np.nan)
    Z = np.hstack([X, np.ones((n, 1))])[:, : d + bias]
    for share in (0.9, 0.5, 0.52):
        F = rng.random(n) < share
        gram_of(rows, v, F, in_G, bias, G[0], room, 0, n // 3)
        np.testing.assert_array_equal(in_G[: n // 3], F[: n // 3])
        gram_of(rows, v, F, in_G, bias, G[1], room, n // 3, n)
        np.testing.assert_array_equal(in_G, F)
        np.testing.assert_allclose(np.tril(G.sum(0)), np.tril((Z[F].T * v[F]) @ Z[F]), atol=1e-9)


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
        block.system.memory[SWITCHED] = direct == 100 and not block.system.memory[SWITCHED]
        np.testing.assert_allclose(block.solve(g, h), expected, rtol=1e-7)
    assert (block.system.memory[MOST] == 0) == (direct < 100)


@pytest.mark.parametrize(
    ("n", "d", "nnz", "sparse", "reach", "direct"),
    [
        (20_000, 2500, 200_000, True, 1000.0, 0),  # one-hot at C = 100: 1.8 s, by dense systems more than 8
        (6000, 1200, 7_200_000, False, 1.0, 0),  # dense at C = 1: 0.6 s and 2.8
        (6000, 1200, 7_200_000, False, 100.0, DIRECT),  # at C = 100: more than 8 s and 3.7
        (1500, 20_000, 70_000, True, 100.0, 0),  # n << d, sparse: 0.27 s and 0.68
        (49_749, 300, 579_586, True, 4.6, DIRECT),  # w8a at C = 1: few columns
        (20_000, 2500, 200_000, True, np.inf, DIRECT),  # the hard margin
    ],
)
def test_dense_systems_are_taken_where_they_cost_less(n, d, nnz, sparse, reach, direct):
    assert direct_by_cost(n, d, nnz, sparse, reach) == direct


def test_a_size_that_is_given_overrides_the_cost():
    rng = np.random.default_rng(19)
    X = sp.random_array((2000, 1500), density=5e-3, rng=rng, format="csr")
    program = BoxDual(X, np.resize([1.0, -1.0], 2000), np.ones(2000), np.zeros(2000))
    assert NewtonAugmented().largest(program) == 0
    assert NewtonAugmented(direct=1500).largest(program) == 1500


@pytest.mark.long
def test_a_matrix_beyond_the_largest_dense_one_is_never_formed():
    """d = 10^6: G would need 8 terabytes, whatever the small system has come to."""
    rng = np.random.default_rng(17)
    X = sp.csr_array((rng.normal(size=90), rng.integers(0, 10**6, 90), np.arange(0, 91, 3)), shape=(30, 10**6))
    y = np.where(np.arange(30) % 2, 1.0, -1.0)
    block = Block(rows_of(X), y, np.ones(30), np.ones(30), 0.0, 10**6, True)
    state = block.state(np.zeros(10**6 + 1), np.zeros(30), h=0.1)
    block.system.memory[SWITCHED] = True
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
        assert block.system.memory[SWITCHED]
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
