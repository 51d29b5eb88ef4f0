"""Programs: derivatives by finite differences; residuals that vanish at the optimum and nowhere else."""

import numpy as np
import pytest
import scipy.sparse as sp
from other_route import solve

from marginbench.harness.model.problem import Problem
from marginbench.harness.model.programs import (
    BoxDual,
    ConeProgram,
    Hinge,
    PerceptronLoss,
    QuadraticProgram,
    RegularisedRisk,
    SmoothedHinge,
    SquaredHinge,
)

LOSSES = [Hinge(), SmoothedHinge(0.5), SmoothedHinge(1e-3), SquaredHinge(), PerceptronLoss(), PerceptronLoss(2.0)]
EPS = 1e-6


def derivative(f, x):
    return np.array([(f(x + EPS * e) - f(x - EPS * e)) / (2.0 * EPS) for e in np.eye(x.size)])


def data(n=12, d=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.tile([1.0, -1.0], n // 2)
    return rng.standard_normal((n, d)) + 0.5 * y[:, None], y, rng


# -- losses ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_slope_is_the_derivative_away_from_kinks(loss):
    m = np.random.default_rng(0).uniform(-3.0, 4.0, 2000)
    kinks = np.array([1.0, 0.0, 2.0, 0.5, 1.0 - 1e-3])
    m = m[np.abs(m[:, None] - kinks).min(axis=1) > 10 * EPS]
    slope = -(loss.value(m + EPS) - loss.value(m - EPS)) / (2.0 * EPS)
    assert np.allclose(loss.slope(m), slope, atol=1e-6)


@pytest.mark.parametrize("delta", [1.0, 1e-2, 1e-8])
def test_smoothed_hinge_lies_within_half_a_delta_below_the_hinge(delta):
    m = np.concatenate([np.linspace(-3.0, 3.0, 1001), 1.0 - delta * np.linspace(-1.0, 2.0, 100)])
    below = Hinge().value(m) - SmoothedHinge(delta).value(m)
    assert below.min() >= -1e-15
    assert below.max() <= delta / 2.0 * (1.0 + 1e-9) + 1e-15


def test_perceptron_errs_at_the_margin_itself():
    """m = 0 counts as a mistake, or nothing would ever move w = 0."""
    assert PerceptronLoss().slope(np.zeros(1)) == 1.0
    assert PerceptronLoss(1.0).slope(np.ones(1)) == 1.0
    assert Hinge().slope(np.ones(1)) == 0.0


# -- regularised risk --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_risk_gradient(loss, intercept, sparse):
    X, y, rng = data()
    risk = RegularisedRisk(sp.csr_array(X) if sparse else X, y, 0.7, rng.uniform(0.1, 2.0, 12), loss, intercept)
    x = rng.standard_normal(3 + intercept)
    assert np.allclose(risk.gradient(x), derivative(risk.objective, x), atol=1e-5)


def test_risk_residual():
    X, y, _ = data()
    risk = RegularisedRisk(X, y, 1.0, np.full(12, 0.3), SquaredHinge(), intercept=True)
    x = np.zeros(4)
    for _ in range(2000):
        x -= 0.02 * risk.gradient(x)
    assert risk.residual(x, None) < 1e-9
    assert risk.residual(x + 0.1, None) > 1e-2
    assert np.isnan(risk.residual(x * np.nan, None))
    hinge = RegularisedRisk(X, y, 1.0, np.ones(12), Hinge())
    assert hinge.residual(np.zeros(3), None) is None


def test_perceptron_residual_is_the_share_of_mistakes():
    X, y = np.array([[1.0], [2.0], [3.0], [-1.0]]), np.array([1.0, 1.0, -1.0, -1.0])
    risk = RegularisedRisk(X, y, 0.0, np.ones(4), PerceptronLoss())
    assert risk.residual(np.ones(1), None) == 0.25
    assert risk.residual(np.zeros(1), None) == 1.0
    assert risk.residual(np.full(1, np.nan), None) == 1.0


# -- box dual ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("bias", ["none", "free", "augmented"])
def test_box_gradient(bias, loss):
    X, y, rng = data()
    problem = Problem(X, y, C=0.6, bias=bias, loss=loss)
    box = BoxDual(problem.features, y, problem.upper, problem.curvature, equality=bias == "free")
    alpha, b = rng.random(12), 0.4 if bias == "free" else 0.0
    lagrangian = derivative(lambda a: b * float(a @ y) - problem.dual(a), alpha)
    assert np.allclose(box.gradient(alpha, b), lagrangian, atol=1e-6)


@pytest.mark.parametrize("C", [1e-3, 1.0, 50.0])
@pytest.mark.parametrize("equality", [False, True])
def test_box_residual(equality, C):
    """x = 2, 0 with labels +, -: w = 1, b = -1 with a free bias; without, alpha = (1/4, C)."""
    X, y = np.array([[2.0], [0.0]]), np.array([1.0, -1.0])
    box = BoxDual(X, y, np.full(2, C), np.zeros(2), equality)
    alpha = np.minimum(C, [0.5, 0.5] if equality else [0.25, np.inf])
    w = X.T @ (alpha * y)
    b = np.mean(y - X @ w) if equality else 0.0
    plane = np.append(w, b) if equality else None
    assert box.residual(alpha, plane) < 1e-12
    assert box.residual(0.5 * alpha, plane) > 1e-2
    assert box.residual(2.0 * alpha, plane) > 1e-2
    assert box.residual(-alpha, plane) > 1e-2
    assert np.isnan(box.residual(alpha * np.nan, plane))
    if equality:
        assert box.residual(alpha, None) is None
        assert box.residual(alpha * [1.0, 0.5], plane) > 1e-2
        assert np.isnan(box.residual(alpha, plane * np.nan))


# -- quadratic and cone programs ---------------------------------------------------------------------------------


def box_constrained_qp():
    """min 1/2 ||x - a||^2 over 0 <= x <= 1.2 and sum x = 1.2: at a lower bound, at an upper bound, inside, equal."""
    a = np.array([3.0, -2.0, 0.1, 0.2])
    A = sp.csc_array(np.vstack([np.eye(4), np.ones((1, 4))]))
    return QuadraticProgram(sp.eye_array(4, format="csc"), -a, A, np.append(np.zeros(4), 1.2), np.full(5, 1.2))


def test_qp_residual_vanishes_only_at_the_optimum():
    qp = box_constrained_qp()
    x = np.array([1.2, 0.0, 0.0, 0.0])
    z = np.array([0.0, 0.0, 0.0, 0.0, 1.8])
    z[:4] = -(x - np.array([3.0, -2.0, 0.1, 0.2]) + 1.8)  # what x - a + A'z = 0 leaves for the bounds
    assert (z[1:4] < 0.0).all()
    assert qp.residual(x, z) < 1e-12
    assert qp.residual(x, None) is None
    assert qp.residual(x + 0.1 * np.eye(4)[1], z) > 1e-2
    assert qp.residual(x - 0.1 * np.eye(4)[1], z) > 1e-2
    assert qp.residual(x, -z) > 1e-2
    assert qp.residual(x, z + 0.1 * np.eye(5)[2]) > 1e-2
    assert np.isnan(qp.residual(x, z * np.nan))
    assert np.isnan(qp.residual(x * np.nan, z))


def test_qp_residual_sees_a_multiplier_of_the_wrong_sign():
    """min 1/2 x^2 - x over x >= 0: x = 0 with z = +1 is stationary and complementary, yet no optimum."""
    one = sp.csc_array(np.ones((1, 1)))
    for upper in (np.inf, 5.0):
        qp = QuadraticProgram(one, -np.ones(1), one, np.zeros(1), np.full(1, upper))
        assert qp.residual(np.zeros(1), np.ones(1)) > 0.1
        assert qp.residual(np.ones(1), np.zeros(1)) < 1e-15


def test_qp_objective():
    qp = box_constrained_qp()
    x = np.array([0.3, 0.1, -0.2, 1.0])
    a = np.array([3.0, -2.0, 0.1, 0.2])
    assert qp.objective(x) == pytest.approx(0.5 * ((x - a) ** 2).sum() - 0.5 * (a**2).sum())


def small_cone_program():
    """min -x_0 - x_1 with x_2 = 0.5, x_0 <= 0.6 and ||x|| <= 1."""
    A = np.vstack([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], np.zeros(3), -np.eye(3)])
    b = np.array([0.5, 0.6, 1.0, 0.0, 0.0, 0.0])
    return ConeProgram(np.array([-1.0, -1.0, 0.0]), sp.csc_array(A), b, zero=1, nonnegative=1, cones=(4,))


def test_cone_residual_vanishes_only_at_the_optimum():
    cone = small_cone_program()
    found = solve(cone)
    x, z = found.x, found.dual
    assert x == pytest.approx([0.6, np.sqrt(1 - 0.25 - 0.36), 0.5], abs=1e-6)
    assert cone.residual(x, z) < 1e-6
    assert cone.residual(x, None) is None
    assert cone.residual(x + 0.1 * np.eye(3)[0], z) > 1e-2
    assert cone.residual(0.9 * x, z) > 1e-2
    assert cone.residual(x, -z) > 1e-2
    assert np.isnan(cone.residual(x, z * np.nan))
    assert np.isnan(cone.residual(x * np.nan, z))


def test_cone_residual_sees_multipliers_outside_the_dual_cone():
    """min x_0 over x_0 <= 1 is unbounded; z = -1 makes it stationary with no gap at x_0 = 1."""
    cone = ConeProgram(np.ones(1), sp.csc_array(np.ones((1, 1))), np.ones(1), nonnegative=1)
    assert cone.residual(np.ones(1), -np.ones(1)) > 0.1
    cone = ConeProgram(np.ones(1), sp.csc_array(np.array([[1.0], [0.0]])), np.array([1.0, 0.0]), cones=(2,))
    assert cone.residual(np.ones(1), np.array([-1.0, 0.0])) > 0.1
    cone = ConeProgram(np.ones(1), sp.csc_array(np.ones((1, 1))), np.ones(1), zero=1)
    assert cone.residual(np.ones(1), -np.ones(1)) < 1e-15


def test_one_sided_rows_say_the_same_as_two_sided_ones():
    rng = np.random.default_rng(0)
    A, x, z = sp.csc_array(rng.normal(size=(6, 3))), rng.normal(size=3), np.abs(rng.normal(size=7))
    l = np.array([-np.inf, -1.0, 0.0, 2.0, -np.inf, -3.0])
    u = np.array([1.0, 1.0, np.inf, 2.0, np.inf, 3.0])
    program = QuadraticProgram(sp.csc_array(np.eye(3)), np.ones(3), A, l, u)
    cone, S = program.conic()
    assert (cone.zero, cone.nonnegative) == (1, 6)
    Ax = A @ x
    slack = np.array([2.0 - Ax[3], 1 - Ax[0], 1 - Ax[1], 3 - Ax[5], Ax[1] + 1, Ax[2], Ax[5] + 3])
    np.testing.assert_allclose(cone.b - cone.A @ x, slack)
    np.testing.assert_allclose(A.T @ (S.T @ z), cone.A.T @ z)
