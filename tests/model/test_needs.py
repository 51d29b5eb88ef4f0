"""A matrix that does not fit is refused with its size, before it is made."""

import importlib.util

import numpy as np
import pytest
import scipy.sparse as sp

from marginbench.harness.cell.attempt import Attempt
from marginbench.harness.cell.spec import Cell
from marginbench.harness.formulations.common import gram
from marginbench.harness.formulations.dual_qp import DualQP
from marginbench.harness.formulations.primal_qp import PrimalQP
from marginbench.harness.model.needs import Need, dense_need, gram_need, kkt_need
from marginbench.harness.model.problem import Problem
from marginbench.harness.model.programs import BoxDual, QuadraticProgram

DAQP = importlib.util.find_spec("daqp") is not None  # `make test-commercial` installs it


def problem(n: int = 400, d: int = 5, bias="none", sparse: bool = False) -> Problem:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.2 if sparse else 1.0)
    return Problem(sp.csr_array(X) if sparse else X, np.where(np.arange(n) % 2, 1.0, -1.0), bias=bias)


def test_the_sentence_says_what_is_needed_and_what_is_allowed():
    said = Need("a Gram matrix", 50_000, 50_000, 8.0 * 50_000**2).beyond(4096)
    assert said == "needs a Gram matrix of 5.0e+04 x 5.0e+04, 20.0 GB; limits.memory_mb=4096 allows 4.3 GB"
    assert Need("a Gram matrix", 100, 100, 80_000.0).beyond(1) is None


@pytest.mark.parametrize("bias", ["none", "augmented"])
@pytest.mark.parametrize("sparse", [False, True])
def test_what_is_said_to_be_needed_is_needed(bias, sparse):
    """Never more than the matrices take: nothing that fits is refused."""
    one = problem(bias=bias, sparse=sparse)
    box = DualQP().program(one, BoxDual)
    need, Q = gram_need(one.X, bias == "augmented"), gram(box)
    taken = Q.data.nbytes + Q.indices.nbytes
    assert 0.0 < need.bytes <= (taken if sparse else 20 * one.n**2)
    program = PrimalQP().program(one, QuadraticProgram)
    system = sp.bmat([[program.P, program.A.T], [program.A, None]])
    assert kkt_need(program.P, program.A).rows == system.shape[0]
    dense = dense_need(program.P, program.A)
    assert dense.bytes == program.P.toarray().nbytes + program.A.toarray().nbytes


@pytest.mark.parametrize(
    ("formulation", "solver", "words"),
    [
        ("dual_qp.DualQP", "clarabel_qp.ClarabelQp", "needs a Gram matrix of 4.0e+02 x 4.0e+02"),
        ("hard_dual_qp.HardDualQP", "osqp_qp.OsqpQp", "needs a Gram matrix of 4.0e+02 x 4.0e+02"),
        ("primal_qp.PrimalQP", "clarabel_qp.ClarabelQp", "needs a KKT system of 1.2e+03 x 1.2e+03"),
        *([("primal_qp.PrimalQP", "daqp_qp.DaqpQp", "needs a dense matrix of 1.2e+03 x 4.0e+02")] if DAQP else []),
    ],
)
def test_a_cell_whose_matrix_does_not_fit_is_skipped_with_its_size(formulation, solver, words):
    one = problem()
    opening = Attempt(cell_of(formulation, solver, 0.06), one.X, one.y).open()
    assert opening.status == "skipped"
    assert opening.message.startswith(words)
    assert opening.message.endswith("limits.memory_mb=0.06 allows 0.0 GB")


@pytest.mark.parametrize("solver", ["auto.Auto", "newton.augmented.NewtonAugmented"])
def test_more_rows_than_there_is_memory_for_are_refused_up_front_with_what_takes_less(solver):
    one = problem()
    opening = Attempt(cell_of("dual_qp.DualQP", solver, 0.02), one.X, one.y).open()
    assert opening.status == "skipped"
    assert opening.message.startswith("needs numbers of its own of 4.0e+02 x 7.0e+00")
    assert "method=newton_streaming" in opening.message
    assert not Attempt(cell_of("dual_qp.DualQP", solver, 0.03), one.X, one.y).open().status


def cell_of(formulation: str, solver: str, memory_mb: float) -> Cell:
    return Cell(
        dataset={},
        problem={"bias": "none"},
        formulation={"_target_": f"marginbench.harness.formulations.{formulation}"},
        solver={"_target_": f"marginbench.solvers.{solver}"},
        dataset_name="",
        formulation_name="",
        solver_name="",
        limits={"memory_mb": memory_mb},
    )
