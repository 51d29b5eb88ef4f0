"""G by rows: the bits of the whole matrix, the same certificates, and the same optimum from a cache of few rows."""

from itertools import islice

import numpy as np
import pytest
import scipy.sparse as sp

from marginbench.harness.cell.certificate import certify
from marginbench.harness.cell.exact_objectives import evaluate_exactly
from marginbench.harness.cell.objectives import evaluate
from marginbench.harness.cell.run import run_cell
from marginbench.harness.cell.spec import Cell
from marginbench.harness.formulations.dual_qp import DualQP
from marginbench.harness.model.kernel import Gaussian, Polynomial
from marginbench.harness.model.kernel_dual import KernelDual
from marginbench.harness.model.kernel_rows import KernelRows, RowCache, slot_for
from marginbench.harness.model.problem import Problem
from marginbench.solvers.auto import Auto
from marginbench.solvers.coordinate_descent.solver import CoordinateDescent
from marginbench.solvers.smo import SMO

KERNELS = [Gaussian(0.7), Gaussian(1e-3), Polynomial(1.0, 1.0, 2), Polynomial(0.1, 0.0, 3)]
kernels = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.key)
layouts = pytest.mark.parametrize("layout", ["dense", "csr", "csr, wide"])


def data(layout: str, n: int = 70):
    """Wide: so many columns that rows are merged, and not written out."""
    rng = np.random.default_rng(0)
    d = 60 if layout == "csr, wide" else 3
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < (0.05 if d == 60 else 0.8))
    y = np.where((X[:, :3] ** 2).sum(1) + 0.3 * rng.normal(size=n) > np.median((X[:, :3] ** 2).sum(1)), 1.0, -1.0)
    return (X if layout == "dense" else sp.csr_array(X)), y


def pair(layout: str, kernel, *asked) -> tuple[Problem, Problem]:
    """The same problem with the whole matrix, and by rows."""
    X, y = data(layout)
    return Problem(X, y, *asked, kernel=kernel), Problem(X, y, *asked, kernel=kernel).within(0.0)


@kernels
@layouts
@pytest.mark.parametrize("bias", ["free", "augmented"])
def test_rows_have_the_bits_of_the_matrix(kernel, layout, bias):
    whole, by_rows = pair(layout, kernel, 1.0, bias)
    assert isinstance(by_rows.gram, KernelRows)
    assert by_rows.eps == whole.eps
    for at in (slice(0, 70), slice(13, 14), slice(60, 70)):
        np.testing.assert_array_equal(by_rows.gram[at], whole.gram[at])
    np.testing.assert_array_equal(by_rows.gram.diagonal(), whole.gram.diagonal())
    one, other = (DualQP().program(problem, KernelDual).K for problem in (whole, by_rows))
    np.testing.assert_array_equal(other[:], one)
    np.testing.assert_array_equal(other.diagonal(), one.diagonal())
    c = np.random.default_rng(1).normal(size=70) * (np.arange(70) % 3 > 0)
    for _ in range(2):  # the second product is the remembered one
        np.testing.assert_allclose(other @ c, one @ c, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(other @ np.zeros(70), np.zeros(70))


def test_a_matrix_that_spans_several_tiles_has_the_same_bits():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(600, 4)), np.where(np.arange(600) % 2, 1.0, -1.0)
    whole, by_rows = Problem(X, y, kernel=Gaussian(0.2)), Problem(X, y, kernel=Gaussian(0.2)).within(1.0)
    np.testing.assert_array_equal(by_rows.gram[250:520], whole.gram[250:520])
    np.testing.assert_allclose(by_rows.gram @ y, whole.gram @ y, atol=1e-12)


@kernels
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("bias", ["none", "free", "augmented"])
def test_certificates_do_without_the_matrix(kernel, bias, loss):
    whole, by_rows = pair("dense", kernel, 0.7, bias, loss)
    alpha = whole.feasible_dual(np.random.default_rng(3).uniform(0.0, 1.0, 70))
    at, there = whole.point(alpha), by_rows.point(alpha)
    assert there.b == pytest.approx(at.b, rel=1e-9, abs=1e-12)
    one, other = certify(whole, at), certify(by_rows, at)
    for name in ("primal", "dual", "gap", "kkt_dual", "kkt_stationarity", "kkt_complementarity"):
        assert getattr(other, name) == pytest.approx(getattr(one, name), rel=1e-9, abs=1e-12), name
    near, sharp = evaluate(by_rows, at.w, at.b, alpha), evaluate_exactly(by_rows, at.w, at.b, alpha)
    assert sharp == evaluate_exactly(whole, at.w, at.b, alpha)
    assert near.primal.low <= sharp[0].low <= sharp[0].high <= near.primal.high
    assert near.dual.low <= sharp[1].low <= sharp[1].high <= near.dual.high


@layouts
@pytest.mark.parametrize("bias", ["none", "free", "augmented"])
@pytest.mark.parametrize("solver", [CoordinateDescent(), SMO(), Auto()], ids=lambda solver: type(solver).__name__)
def test_a_cache_of_two_rows_leads_to_the_same_certified_optimum(solver, bias, layout):
    whole, by_rows = pair(layout, Gaussian(0.7), 2.0, bias)
    program = DualQP().program(by_rows, KernelDual)
    if solver.refuses(program):
        return
    *_, iterate = islice(solver.iterates(program), 20_000)
    assert iterate.claim == "converged"
    found = certify(whole, DualQP().point(whole, program, iterate))
    assert found.gap <= 1e-9
    assert certify(by_rows, DualQP().point(by_rows, program, iterate)).gap <= 1e-9


def test_the_row_that_was_used_longest_ago_makes_room():
    cache = RowCache.of(5, 2 * 5 * 8 / 2**20)
    taken = [slot_for(cache, i, time) for time, i in enumerate((3, 1, 3, 4, 1))]
    assert taken == [(0, False), (1, False), (0, True), (1, False), (0, False)]
    assert cache.owner.tolist() == [1, 4]
    assert cache.slot_of.tolist() == [-1, 0, -1, -1, 1]


def cell(solver: str, memory_mb: float) -> Cell:
    return Cell(
        dataset={},
        problem={"C": 1.0, "bias": "free", "kernel": "gaussian", "gamma": 0.5},
        formulation={"_target_": "marginbench.harness.formulations.dual_qp.DualQP"},
        solver={"_target_": f"marginbench.solvers.{solver}"},
        dataset_name="data",
        formulation_name="dual_qp",
        solver_name=solver,
        budget={"gap": 1e-6},
        limits={"memory_mb": memory_mb},
    )


@pytest.mark.parametrize("name", ["smo.SMO", "coordinate_descent.solver.CoordinateDescent", "auto.Auto"])
def test_a_cell_with_too_little_memory_is_solved_by_rows_and_says_so(name):
    X, y = data("dense", n=200)
    record = run_cell(cell(name, memory_mb=0.3), X, y, "").record
    assert (record.status, record.info["kernel_rows"]) == ("solved", "computed")
    assert "kernel_rows" not in run_cell(cell(name, memory_mb=100.0), X, y, "").record.info


def test_what_needs_the_matrix_is_refused_with_its_size():
    X, y = data("dense", n=200)
    record = run_cell(cell("newton.augmented.NewtonAugmented", memory_mb=0.3), X, y, "").record
    assert record.status == "skipped"
    assert record.message.startswith("needs a kernel matrix of 2.0e+02 x 2.0e+02")
