"""Kernels: their parameters in both conventions, refusals, and the proof that K + eps I is positive semidefinite."""

import decimal
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from marginbench.harness.cell.spec import make_problem
from marginbench.harness.errors import InputError
from marginbench.harness.model.kernel import Gaussian, Polynomial, kernel_of
from marginbench.harness.model.kernel_matrix import exp_of
from marginbench.harness.model.problem import Problem, problem_key

KERNELS = [Gaussian(0.3), Gaussian(1e-6), Polynomial(1.0, 1.0, 2), Polynomial(0.1, 0.0, 3), Polynomial(2.0, 0.5, 5)]
kernels = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.key)


def rows(n: int = 9, d: int = 4, seed: int = 0) -> np.ndarray:
    """With repeated and nearly repeated rows: the smallest eigenvalue of K is 0, up to rounding."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    X[1], X[2] = X[0], X[0] + 1e-9
    return X


def labels(n: int) -> np.ndarray:
    return np.where(np.arange(n) % 2 == 0, 1.0, -1.0)


def true_entry(kernel, x, z) -> Fraction:
    """K(x, z) of the floats x and z, exactly, or to 60 digits."""
    x, z = [Fraction(v) for v in x], [Fraction(v) for v in z]
    if isinstance(kernel, Polynomial):
        product = sum((a * b for a, b in zip(x, z, strict=True)), Fraction(0))
        return (Fraction(kernel.gamma) * product + Fraction(kernel.coef0)) ** kernel.degree
    t = Fraction(kernel.gamma) * sum(((a - b) ** 2 for a, b in zip(x, z, strict=True)), Fraction(0))
    with decimal.localcontext(prec=60):
        return Fraction((-Decimal(t.numerator) / Decimal(t.denominator)).exp())


def is_positive_semidefinite(G: np.ndarray) -> bool:
    """By the pivots of Gauss elimination, in rationals."""
    A = [[Fraction(float(v)) for v in row] for row in G]
    for k in range(len(A)):
        if A[k][k] < 0 or (A[k][k] == 0 and any(A[k][j] != 0 for j in range(k + 1, len(A)))):
            return False
        for i in range(k + 1, len(A)):
            factor = A[i][k] / A[k][k] if A[k][k] else Fraction(0)
            A[i] = [a - factor * b for a, b in zip(A[i], A[k], strict=True)]
    return True


@kernels
@pytest.mark.parametrize("seed", range(3))
def test_eps_bounds_the_rounding_error_of_K_and_makes_it_positive_semidefinite(kernel, seed):
    X = rows(seed=seed)
    K, problem = kernel.matrix(X), Problem(X, labels(len(X)), kernel=kernel)
    error = [[abs(Fraction(float(K[i, j])) - true_entry(kernel, X[i], X[j])) for j in range(len(X))] for i in range(9)]
    assert sum(max(row) for row in error) <= Fraction(problem.eps)  # more than ||E||_2
    assert is_positive_semidefinite(problem.gram)
    assert all(Fraction(float(g)) >= Fraction(float(k)) + Fraction(problem.eps)
               for g, k in zip(problem.gram.diagonal(), K.diagonal(), strict=True))  # fmt: skip
    assert problem.eps <= 1e-10 * float(K.diagonal().max())


def test_the_check_itself_sees_an_indefinite_matrix():
    assert not is_positive_semidefinite(np.array([[1.0, 1.0 + 2.0**-52], [1.0 + 2.0**-52, 1.0]]))
    assert is_positive_semidefinite(np.ones((3, 3)))


@kernels
def test_dense_and_sparse_rows_give_the_same_bits_and_a_symmetric_matrix(kernel):
    X = rows(n=40, d=12)
    dense, sparse = kernel.matrix(X), kernel.matrix(sp.csr_array(X))
    np.testing.assert_array_equal(dense, sparse)
    np.testing.assert_array_equal(dense, dense.T)
    np.testing.assert_allclose(kernel.between(X, sp.csr_array(X)), dense, atol=1e-12 * dense.max())


def test_exp_is_within_eight_units():
    points = -np.concatenate(
        [np.linspace(0.0, 700.0, 4001), 10.0 ** -np.arange(18.0), np.log(2.0) * np.arange(0.5, 99)]
    )
    with decimal.localcontext(prec=60):
        worst = max(abs(Decimal(exp_of(x)) / Decimal(x).exp() - 1) for x in points.tolist())
    assert worst <= 8 * Decimal(2) ** -53
    assert exp_of(0.0) == 1.0
    assert exp_of(-746.0) == exp_of(-np.inf) == 0.0


# -- parameters --------------------------------------------------------------------------------------------------

SAME = [
    ("gaussian", {"sigma": 2.0}, Gaussian(0.125)),
    ("gaussian", {"sigma": 2.0, "gamma": 0.125}, Gaussian(0.125)),
    ("gaussian", {}, Gaussian(0.25)),
    ("polynomial", {}, Polynomial(0.25, 0.0, 3)),
    ("polynomial", {"degree": 2, "gamma": 1, "coef0": 1}, Polynomial(1.0, 1.0, 2)),
    ("polynomial", {"p": 2, "c": 1}, Polynomial(1.0, 1.0, 2)),
    ("polynomial", {"p": 2, "c": 1, "degree": 2, "coef0": 1.0, "gamma": 1.0}, Polynomial(1.0, 1.0, 2)),
    ("linear", {"gamma": None}, None),
]


@pytest.mark.parametrize(("name", "given", "kernel"), SAME)
def test_both_conventions(name, given, kernel):
    assert kernel_of(name, given, d=4) == kernel


REFUSED = [
    ("sigmoid", {}, "problem.kernel=sigmoid: is not positive semidefinite"),
    ("rbf", {}, "problem.kernel=rbf: possible are linear, polynomial, gaussian"),
    ("gaussian", {"sigma": 1.0, "gamma": 1.0}, "problem.gamma=1.0 contradicts problem.sigma=1.0"),
    ("gaussian", {"gamma": 0.0}, "problem.gamma=0.0: needs a number above 0"),
    ("gaussian", {"gamma": "scale"}, "problem.gamma=scale: needs a number"),
    ("gaussian", {"sigma": -1.0}, "problem.sigma=-1.0: needs a number above 0"),
    ("gaussian", {"degree": 2}, "problem.degree=2: the gaussian kernel has gamma, sigma"),
    ("polynomial", {"coef0": -1.0}, "problem.coef0=-1.0: a polynomial kernel needs a number from 0 on"),
    ("polynomial", {"c": -1.0, "p": 2}, "problem.coef0=-1.0: a polynomial kernel needs a number from 0 on"),
    ("polynomial", {"gamma": -1.0}, "problem.gamma=-1.0: needs a number above 0"),
    ("polynomial", {"degree": 2.5}, "problem.degree=2.5: a polynomial kernel needs a whole number from 1 to 1000"),
    ("polynomial", {"p": 2, "degree": 3}, "problem.degree=3 contradicts problem.p=2"),
    ("polynomial", {"c": 1.0, "coef0": 2.0}, "problem.coef0=2.0 contradicts problem.c=1.0"),
    ("polynomial", {"p": 2, "gamma": 0.5}, "problem.gamma=0.5 contradicts problem.p=2"),
    ("linear", {"c": 10.0}, "problem.c=10.0: the linear kernel has no parameters; the price of slack is problem.C"),
]


@pytest.mark.parametrize(("name", "given", "says"), REFUSED, ids=lambda value: str(value)[:30])
def test_what_is_no_kernel_is_refused_in_one_line(name, given, says):
    with pytest.raises(InputError) as refused:
        kernel_of(name, given, d=4)
    assert str(refused.value).startswith(says)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Polynomial(1.0, 0.0, 2)])
def test_data_and_C_that_leave_double_precision_are_refused(kernel):
    X, y = np.array([[1e130], [-1e130]]), np.array([1.0, -1.0])
    with pytest.raises(InputError, match="leave double precision"):
        Problem(X, y, kernel=kernel)
    with pytest.raises(InputError, match="needs a finite C"):
        make_problem(X * 1e-130, y, {"C": np.inf, "kernel": kernel.name})
    with pytest.raises(InputError, match="leaves double precision"):
        Problem(X * 1e-30, y, kernel=Polynomial(1.0, 0.0, 9))


def test_the_linear_kernel_is_the_linear_problem_itself():
    X, y = rows(), labels(9)
    linear = make_problem(X, y, {"C": 2.0, "kernel": "linear", "gamma": None})
    assert linear.kernel is None
    assert problem_key(linear, "d" * 16) == problem_key(Problem(X, y, 2.0), "d" * 16) == f"{'d' * 16}-C2.0-free-hinge"
    told = problem_key(make_problem(X, y, {"kernel": "gaussian", "sigma": 1.0}), "d" * 16)
    assert told == f"{'d' * 16}-C1.0-free-hinge-gaussian-g0.5"
