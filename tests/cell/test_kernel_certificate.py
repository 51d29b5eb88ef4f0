"""P, D and the KKT residuals with a kernel: against the same problem on explicit features, and in rationals."""

from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest
import scipy.sparse as sp

import marginbench as mb
from marginbench.harness.cell.certificate import certify
from marginbench.harness.cell.exact_objectives import evaluate_exactly
from marginbench.harness.cell.objectives import evaluate
from marginbench.harness.model.feasibility import feasible
from marginbench.harness.model.kernel import Gaussian, Polynomial
from marginbench.harness.model.problem import Point, Problem
from marginbench.harness.references.enclosure import enclose
from marginbench.harness.references.polish import polish

BIASES = ("none", "free", "augmented")
LOSSES = ("hinge", "squared_hinge")
KERNELS = (Gaussian(0.4), Polynomial(1.0, 1.0, 2), Polynomial(0.5, 0.0, 3))
every = pytest.mark.parametrize(
    ("kernel", "bias", "loss"),
    [(kernel, bias, loss) for kernel in KERNELS for bias in BIASES for loss in LOSSES],
    ids=lambda value: value if isinstance(value, str) else value.key,
)


def data(n: int = 30, d: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] ** 2 + 0.4 * rng.normal(size=n) > 0.5, 1.0, -1.0)


def point(problem: Problem, seed: int = 0) -> Point:
    """Any coefficients, any multipliers of the box, of any size."""
    rng = np.random.default_rng(seed)
    alpha = feasible(problem, rng.uniform(0.0, 1.5, problem.n) * np.minimum(problem.upper, 2.0))
    b = 0.0 if problem.bias == "none" else float(rng.normal())
    return Point(0.3 * rng.normal(size=problem.n), b, alpha)


def explicit(X: np.ndarray) -> np.ndarray:
    """phi of (x.z + 1)^2"""
    X = np.hstack([X, np.ones((len(X), 1))])
    pairs = combinations_with_replacement(range(X.shape[1]), 2)
    return np.column_stack([X[:, i] * X[:, j] * (1.0 if i == j else np.sqrt(2.0)) for i, j in pairs])


def exactly(problem: Problem, at: Point) -> tuple[Fraction, Fraction]:
    """P and D in rationals."""
    G = [[Fraction(float(v)) for v in row] for row in problem.gram]
    y, s = [int(v) for v in problem.y], Fraction(problem.s)
    C = [Fraction(float(v)) for v in problem.penalty]
    c, alpha, b = [Fraction(float(v)) for v in at.w], [Fraction(float(v)) for v in at.alpha], Fraction(at.b)
    power = 1 if problem.loss == "hinge" else 2

    def form(v):
        scores = [sum(g * x for g, x in zip(row, v, strict=True)) for row in G]
        return scores, sum(a * x for a, x in zip(scores, v, strict=True))

    scores, norm = form(c)
    pull = form([a * t for a, t in zip(alpha, y, strict=True)])[1]
    if problem.bias == "augmented":
        norm += (b / s) ** 2
        pull += (s * sum(a * t for a, t in zip(alpha, y, strict=True))) ** 2
    slack = [max(Fraction(0), 1 - t * (f + b)) for t, f in zip(y, scores, strict=True)]
    dual = sum(alpha) - pull / 2
    dual -= sum(a * a / (4 * k) for a, k in zip(alpha, C, strict=True)) if power == 2 else 0
    return norm / 2 + sum(k * t**power for k, t in zip(C, slack, strict=True)), dual


@every
def test_bounds_of_P_and_D_hold_in_rationals(kernel, bias, loss):
    problem = Problem(*data(n=12), 0.7, bias, loss, s=0.5, kernel=kernel)
    at = point(problem)
    P, D = exactly(problem, at)
    seen = evaluate(problem, at.w, at.b, at.alpha)
    sharp = evaluate_exactly(problem, at.w, at.b, at.alpha)
    proven = enclose(problem, at)
    for primal, dual in ((seen.primal, seen.dual), sharp):
        assert Fraction(primal.low) <= P <= Fraction(primal.high)
        assert Fraction(dual.low) <= D <= Fraction(dual.high)
    assert seen.primal.width <= 1e-11 * float(P)
    assert sharp[0].width <= 1e-15 * float(P)
    assert Fraction(proven.lower) <= max(D, 0)
    assert Fraction(proven.upper) >= P
    assert float(P) == pytest.approx(problem.primal(at.w, at.b))
    assert float(D) == pytest.approx(problem.dual(at.alpha))


@every
def test_weak_duality_on_random_points(kernel, bias, loss):
    problem = Problem(*data(), 1.3, bias, loss, kernel=kernel)
    for seed in range(20):
        one, other = point(problem, seed), point(problem, 100 + seed)
        assert problem.primal(one.w, one.b) >= problem.dual(other.alpha)


@pytest.mark.parametrize("bias", BIASES)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("explicitly", ["degree 1", "degree 2"])
def test_a_kernel_with_explicit_features_is_that_linear_problem(bias, loss, sparse, explicitly):
    X, y = data()
    degree, features = (1, X) if explicitly == "degree 1" else (2, explicit(X))
    kernel = Polynomial(1.0, degree - 1.0, degree)
    implicit = Problem(sp.csr_array(X) if sparse else X, y, 0.8, bias, loss, kernel=kernel)
    linear = Problem(features, y, 0.8, bias, loss)
    at = point(implicit)
    w = features.T @ at.w
    assert implicit.primal(at.w, at.b) == pytest.approx(linear.primal(w, at.b), rel=1e-9)
    assert implicit.dual(at.alpha) == pytest.approx(linear.dual(at.alpha), rel=1e-9)
    assert implicit.best_bias(at.w) == pytest.approx(linear.best_bias(w), rel=1e-9)
    one, other = certify(implicit, at), certify(linear, Point(w, at.b, at.alpha))
    for name in ("primal", "dual", "kkt_dual", "kkt_complementarity", "mistakes"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-9, abs=1e-12), name
    there, here = linear.point(at.alpha), implicit.point(at.alpha)
    assert here.b == pytest.approx(there.b, rel=1e-9, abs=1e-12)
    np.testing.assert_allclose(features.T @ here.w, there.w, atol=1e-9)


def test_stationarity_is_a_norm_of_w_and_not_of_its_coefficients():
    X, y = data()
    X[1] = X[0]
    y[1] = y[0]
    problem = Problem(X, y, 1.0, "none", kernel=Gaussian(0.4))
    at = problem.point(point(problem).alpha)
    same = at.w.copy()
    same[:2] = same[:2][::-1] + np.array([0.1, -0.1])
    assert certify(problem, at).kkt_stationarity == 0.0
    assert certify(problem, at._replace(w=same)).kkt_stationarity <= 1e-6  # sqrt(eps)
    norm = problem.norm2(at.w) ** 0.5
    twice = certify(problem, at._replace(w=2.0 * at.w))
    assert twice.kkt_stationarity == pytest.approx(norm / max(1.0, 2.0 * norm))


@pytest.mark.parametrize("bias", BIASES)
def test_the_order_of_the_rows_does_not_matter(bias):
    X, y = data()
    problem = Problem(X, y, 1.0, bias, kernel=Gaussian(0.4))
    at, order = point(problem), np.random.default_rng(1).permutation(len(y))
    other = Problem(X[order], y[order], 1.0, bias, kernel=Gaussian(0.4))
    np.testing.assert_array_equal(other.gram, problem.gram[np.ix_(order, order)])
    moved = Point(at.w[order], at.b, at.alpha[order])
    assert other.primal(moved.w, moved.b) == pytest.approx(problem.primal(at.w, at.b), rel=1e-13)
    assert other.dual(moved.alpha) == pytest.approx(problem.dual(at.alpha), rel=1e-13)


@pytest.mark.parametrize("bias", ["none", "free"])
@pytest.mark.parametrize("C", [0.1, 100.0])
def test_two_points_by_hand(bias, C):
    """K = [[1, k], [k, 1]]: both multipliers are a = min(C, 1 / (1 - k)), and P* = 2 a - a^2 (1 - k)."""
    problem = Problem(np.array([[0.0], [1.0]]), np.array([1.0, -1.0]), C, bias, kernel=Gaussian(0.5))
    k = np.exp(-0.5)
    a = min(C, 1.0 / (1.0 - k))
    found = enclose(problem, polish(problem, problem.point(np.full(2, 0.5 * a))))
    assert found.lower == pytest.approx(2.0 * a - a * a * (1.0 - k), rel=1e-12)
    assert found.width <= 1e-14


def test_a_python_user_states_and_certifies_a_problem_with_a_kernel():
    X, y = data()
    problem = mb.Problem(X, np.where(y > 0, "out", "in"), bias="free", kernel=Gaussian(0.4))
    assert "Gaussian(gamma=0.4), eps=" in repr(problem)
    at = problem.point(point(problem).alpha)
    assert certify(problem, at).gap == pytest.approx(certify(Problem(X, y, 1.0, "free", kernel=Gaussian(0.4)), at).gap)
