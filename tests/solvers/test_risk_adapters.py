"""Regularised risks and box duals by outside libraries: minimised, repeatable, and nothing added to the library."""

import warnings

import numpy as np
import pytest
from adapters import data, installed, largest_margin, last, make
from other_route import optimum

from marginbench.harness.model.programs import (
    BoxDual,
    Hinge,
    RegularisedRisk,
    SmoothedHinge,
    SquaredHinge,
)
from marginbench.solvers.cvxpy_model import CvxpyHighs, CvxpyModel
from marginbench.solvers.liblinear import Liblinear
from marginbench.solvers.libsvm import Libsvm


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("weighted", [False, True], ids=["one-weight", "weights"])
@pytest.mark.parametrize("loss", [Hinge(), SmoothedHinge(0.5), SquaredHinge()], ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("name", [n for n in installed(RegularisedRisk) if n not in ("cvxpy_highs", "cvxpy_piqp")])
def test_risks_are_minimised(name, loss, weighted, sparse):
    X, y, weight = data(sparse=sparse)
    solver = make(name)
    for intercept in (False, True):
        program = RegularisedRisk(X, y, 0.7, weight if weighted else np.full(y.size, 1.5), loss, intercept)
        if reason := solver.refuses(program):
            assert reason.startswith(("LIBLINEAR", "ReHLine", "skglm", "Snap ML"))
            continue
        iterate = last(solver, program)
        assert iterate.x.shape == (program.d + intercept,)
        if isinstance(loss, Hinge):
            assert program.objective(iterate.x) == pytest.approx(program.objective(optimum(program)), rel=1e-6)
        else:
            assert program.residual(iterate.x, None) < 1e-4
        if iterate.dual is not None:
            np.testing.assert_allclose(X.T @ (iterate.dual * y), iterate.x, atol=1e-8)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_the_cvxpy_adapter_adds_nothing_to_the_textbook_line(sparse):
    """Right or wrong (cvxpy 1.9 with HiGHS and dense X says `optimal` at w = 0), the answer is cvxpy's own."""
    import cvxpy as cp

    X, y, weight = data(sparse=sparse)
    w, b = cp.Variable(3), cp.Variable(1)
    loss = weight @ cp.pos(1 - cp.multiply(y, X @ w + b))
    with warnings.catch_warnings(action="ignore"):
        cp.Problem(cp.Minimize(0.35 * cp.sum_squares(w) + loss)).solve(solver="HIGHS")
    iterate = last(CvxpyHighs("HIGHS", (), ()), RegularisedRisk(X, y, 0.7, weight, Hinge(), True))
    np.testing.assert_array_equal(iterate.x, np.append(w.value, b.value))
    assert iterate.claim == "converged"
    assert iterate.said.startswith("optimal")


def test_a_solver_error_in_cvxpy_is_a_claim_not_an_exception():
    iterate = last(CvxpyModel("OSQP", ()), largest_margin(*data(n=12, shift=3.0)[:2]))
    assert iterate.claim == "failed"
    assert "OSQP" in iterate.said


def test_liblinear_repeats_itself_and_depends_on_its_seed():
    X, y, weight = data()
    program = RegularisedRisk(X, y, 0.7, weight, Hinge())
    first, again, other = (list(Liblinear(seed=s).iterates(program)) for s in (0, 0, 1))
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a.x, b.x)
    assert any((a.x != b.x).any() for a, b in zip(first, other, strict=False))


def test_liblinear_out_of_iterations_says_limit_and_no_warning_escapes():
    X, y, weight = data()
    rungs = list(Liblinear(max_iter=1).iterates(RegularisedRisk(X, y, 0.7, weight, Hinge())))
    assert len(rungs) == 1
    assert rungs[0].claim == "limit"
    assert "converge" in rungs[0].said


def test_liblinear_in_the_primal():
    X, y, weight = data()
    program = RegularisedRisk(X, y, 0.7, weight, SquaredHinge())
    assert program.residual(last(Liblinear(dual=False), program).x, None) < 1e-6
    assert "primal" in Liblinear(dual=False).refuses(RegularisedRisk(X, y, 0.7, weight, Hinge()))


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_libsvm_finds_multipliers_and_bias(sparse):
    X, y, C = data(sparse=sparse)
    program = BoxDual(X, y, C, np.zeros(y.size), equality=True)
    rungs = list(Libsvm().iterates(program))
    residuals = [program.residual(r.x, r.dual) for r in rungs]
    assert residuals[-1] < 2e-6  # its Gram matrix is in single precision
    assert residuals[-1] < residuals[0]
    np.testing.assert_allclose(rungs[-1].dual[:-1], X.T @ (rungs[-1].x * y))


def test_spark_without_java_says_so(monkeypatch):
    """The library is not needed for that."""
    from marginbench.solvers.spark_svc import SparkSvc

    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    program = RegularisedRisk(np.eye(2), np.array([1.0, -1.0]), 1.0, np.ones(2), Hinge())
    assert SparkSvc().refuses(program) == "Spark needs Java: there is no java on the PATH, and JAVA_HOME is not set"
