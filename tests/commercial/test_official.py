"""LIBLINEAR and LIBSVM as their authors publish them, and qpsolvers: for real."""

import csv

import numpy as np
import pytest
from adapters import data, last, make, primal_qp
from other_route import optimum

from marginbench.harness.cli import main
from marginbench.harness.model.problem import InputError
from marginbench.harness.model.programs import BoxDual, Hinge, RegularisedRisk, SquaredHinge
from marginbench.solvers.qpsolvers_any import QpsolversAny


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge()], ids=lambda loss: type(loss).__name__)
def test_liblinear_minimises_the_risk_whichever_label_comes_first(loss, sparse):
    X, y, _ = data(sparse=sparse)
    for labels in (y, -y):
        program = RegularisedRisk(X, labels, 0.7, np.full(y.size, 0.3), loss)
        x = last(make("liblinear_official"), program).x
        if isinstance(loss, Hinge):
            assert program.objective(x) == pytest.approx(program.objective(optimum(program)), rel=1e-6)
        else:
            assert program.residual(x, None) < 1e-6


def test_liblinears_silent_stop_is_never_called_solved(tmp_path):
    """-s 3 ends after 300 epochs, here with a fifth of the gap left, and says so only in its log."""
    options = ("dataset.n=150", "dataset.d=5", "problem.C=100", "method=liblinear_official", "figures=none")
    main(["run", *options, f"out={tmp_path}"])
    with next(tmp_path.glob("*/*/table.csv")).open() as file:
        (found,) = csv.DictReader(file)
    assert found["status"] == "inaccurate"
    assert found["claim"] == "limit"
    assert float(found["gap"]) > 1e-2
    assert "reaching max number of iterations" in found["message"]


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_libsvm_finds_multipliers_and_bias_whichever_label_comes_first(sparse):
    X, y, _ = data(sparse=sparse)
    for labels in (y, -y):
        program = BoxDual(X, labels, np.ones(y.size), np.zeros(y.size), equality=True)
        iterate = last(make("libsvm_official"), program)
        assert program.residual(iterate.x, iterate.dual) < 2e-6  # its Gram matrix is in single precision


@pytest.mark.parametrize("name", ["clarabel", "daqp", "piqp", "PIQP"])
def test_qpsolvers_gives_multipliers_of_the_right_sign(name):
    program = primal_qp(*data())
    iterate = last(QpsolversAny(name), program)
    assert iterate.claim == "converged"
    assert program.residual(iterate.x, iterate.dual) < 1e-7


def test_a_name_that_qpsolvers_does_not_know_is_answered_with_those_it_finds():
    with pytest.raises(InputError, match=r"solver.name=none: .*possible are clarabel, .*piqp"):
        QpsolversAny("none")
