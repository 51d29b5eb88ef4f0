"""Answers that other tools take for done: each is called wrong here, unasked, through the command line."""

import csv

import pytest

from marginbench.harness.cli import main


def row(out, *options):
    main(["run", *options, f"out={out}"])
    with next(out.glob("*/*/table.csv")).open() as file:
        (found,) = csv.DictReader(file)
    return found


def test_liblinear_at_its_own_tolerance_claims_convergence_far_from_the_optimum(tmp_path):
    """Separable data and a large C: at its default tolerance the library stops, content, with most of the gap left."""
    data = ("dataset=separable", "problem.C=1e6", "problem.bias=none")
    found = row(tmp_path, *data, "method=liblinear", "solver.tolerances=[1e-4]")
    assert found["claim"] == "converged"
    assert float(found["suboptimality"]) > 1e-2
    assert found["status"] == "wrong"


def test_the_textbook_hinge_through_cvxpy(tmp_path):
    """cvxpy 1.9 fixes each hinge at 1 with solvers that take bounds, and says optimal. Once mended, it is solved."""
    found = row(tmp_path, "dataset.n=100", "formulation=regularised_sum", "solver=cvxpy_highs", "budget.gap=1e-5")
    assert found["claim"] == "converged"
    assert found["status"] == ("wrong" if float(found["gap"]) > 1e-2 else "solved")


@pytest.mark.parametrize("formulation", ["dual_qp", "regularised_sum"])
def test_zeros_are_never_the_fastest(tmp_path, formulation):
    (tmp_path / "conf" / "solver").mkdir(parents=True)
    (tmp_path / "conf" / "solver" / "zeros.yaml").write_text("_target_: zeros.Zeros\n")
    (tmp_path / "zeros.py").write_text(
        "import numpy as np\nfrom marginbench.harness.model.programs import BoxDual, RegularisedRisk\n"
        "from marginbench.harness.model.solver import Iterate, Solver\n\n\nclass Zeros(Solver):\n"
        "    accepts = (BoxDual, RegularisedRisk)\n\n    def iterates(self, program):\n"
        "        yield Iterate(np.zeros(program.n if isinstance(program, BoxDual) else program.d))\n"
    )
    options = (f"formulation={formulation}", "solver=zeros", "dataset.n=100", "--config-dir", str(tmp_path / "conf"))
    assert row(tmp_path / "out", *options)["status"] == "wrong"
