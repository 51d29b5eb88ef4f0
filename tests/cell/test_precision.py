"""float32 entries: the problem is that of the same numbers in float64, exactly, and everything is summed in float64."""

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp

from marginbench.harness.cell.attempt import Attempt
from marginbench.harness.cell.certificate import certify
from marginbench.harness.cell.exact_objectives import evaluate_exactly
from marginbench.harness.cell.judging import Judging
from marginbench.harness.cell.spec import Cell
from marginbench.harness.matrices import both_products, is_single, times, transposed_times
from marginbench.harness.model.problem import Problem
from marginbench.harness.model.programs import BoxDual
from marginbench.harness.model.solver import Solver
from marginbench.harness.rowops import Room, norm2, rows_of, squared_norms, take

LAYOUTS = [np.asarray, sp.csr_array]


def data(layout, n=60, d=7, seed=0):
    """(X of float32, the same numbers in float64, y); their products do not fit into float32."""
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)).astype(np.float32)
    return layout(X), layout(X.astype(np.float64)), np.where(np.arange(n) % 3 == 0, -1.0, 1.0)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("bias", ["none", "free", "augmented"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_objectives_are_those_of_the_same_numbers_in_float64(layout, bias, loss):
    single, double, y = data(layout)
    one, other = (Problem(X, y, 0.7, bias, loss) for X in (single, double))
    assert is_single(one.X)
    assert is_single(one.features)
    rng = np.random.default_rng(1)
    alpha = other.feasible_dual(rng.random(other.n) * 0.7)
    point = other.point(alpha)
    a, b = certify(one, point), certify(other, point)
    assert a.primal == pytest.approx(b.primal, rel=1e-12)
    assert a.own_dual == pytest.approx(b.own_dual, rel=1e-12)
    assert a.kkt_complementarity == pytest.approx(b.kkt_complementarity, rel=1e-12)
    exact = evaluate_exactly(one, point.w, point.b, alpha)
    if bias != "free":  # there alpha is feasible but for rounding
        assert exact == evaluate_exactly(other, point.w, point.b, alpha)
    assert exact[0].low <= a.primal
    assert a.primal - a.primal_error <= exact[0].high


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_constant_feature_that_is_no_float32_keeps_its_value(layout):
    single, _, y = data(layout)
    features = Problem(single, y, 1.0, "augmented", s=0.1).features
    last = features[:, [-1]]
    assert np.unique(last.toarray() if sp.issparse(last) else last).tolist() == [0.1]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("n", [60, 20_000], ids=["small", "compiled"])
def test_products_are_summed_in_float64(layout, n):
    single, double, y = data(layout, n=n)
    w, v = np.random.default_rng(2).normal(size=7), np.where(y > 0, 0.0, 1.0 / 3.0)
    for X in (single, double):
        scores, total = both_products(X, w, v)
        np.testing.assert_allclose(scores, double @ w, rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(total, double.T @ v, rtol=1e-11)
        np.testing.assert_allclose(times(X, w), scores, rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(transposed_times(X, v), total, rtol=1e-11)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_of_float32_have_norms_in_float64_and_copies_in_float32(layout):
    single, double, _ = data(layout)
    exact = squared_norms(rows_of(double), 60)
    np.testing.assert_allclose(squared_norms(rows_of(single), 60), exact, rtol=1e-14)
    assert norm2(rows_of(single), 0) == pytest.approx(exact[0], rel=1e-14)
    some = take(rows_of(single), np.array([3, 1]), Room())
    assert some[-1].dtype == np.float32


@dataclass(frozen=True)
class Plain(Solver):
    """Knows nothing of float32."""

    accepts = (BoxDual,)

    def iterates(self, program):
        return iter(())


@dataclass(frozen=True)
class Frugal(Plain):
    single = True


@pytest.mark.parametrize(("solver", "kept"), [(Plain, np.float64), (Frugal, np.float32)])
def test_a_solver_that_does_not_say_that_it_takes_float32_is_given_float64(solver, kept):
    X, _, y = data(np.asarray)
    target = {"_target_": f"{__name__}.{solver.__name__}"}
    dual = {"_target_": "marginbench.harness.formulations.dual_qp.DualQP"}
    cell = Cell({}, {"C": 1.0, "bias": "augmented"}, dual, target, "made", "dual_qp", "s")
    attempt = Attempt(cell, X, y)
    attempt.open()
    assert attempt.program.X.dtype == kept
    assert Judging(cell, X, y, "0" * 64).problem.X.dtype == np.float32
