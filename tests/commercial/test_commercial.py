"""CPLEX, Gurobi, COPT and Xpress for real, without a licence: right up to the free size, and a sentence beyond it.
MOSEK, which has no free size: the program it is given, and the sentence."""

import csv

import numpy as np
import pytest
import scipy.sparse as sp
from adapters import data, dual_qp, last, make, primal_qp
from problems import random_problem

from marginbench.harness.cell.certificate import certify
from marginbench.harness.cli import main
from marginbench.harness.formulations.dual_qp import DualQP
from marginbench.harness.formulations.primal_qp import PrimalQP
from marginbench.harness.model.bounded_qp import bounded
from marginbench.harness.model.programs import QuadraticProgram
from marginbench.solvers.clarabel_qp import ClarabelQp
from marginbench.solvers.mosek_qp import UNLICENSED, load, word

FREE = {"cplex": (1000, 1000), "gurobi": (200, 2000), "copt": (2000, 2000), "xpress": (200, 200)}
names = pytest.mark.parametrize("name", FREE)
TOGETHER = "xpress"
"""Counts variables and constraints together."""


def rows(out, *options):
    code = main(["run", "problem.bias=free", "formulation=primal_qp", "figures=none", f"out={out}", *options])
    with next(out.glob("*/*/table.csv")).open() as file:
        return code, list(csv.DictReader(file))


@names
def test_the_soft_margin_is_solved_as_the_certificate_says(tmp_path, name):
    n = 90 if name == TOGETHER else 150
    options = (f"dataset.n={n}", "dataset.d=5", "problem.C=1", "budget.gap=1e-7", f"solver={name}")
    code, (found,) = rows(tmp_path, *options)
    assert code == 0
    assert found["status"] == "solved"
    assert abs(float(found["suboptimality"])) <= 1e-6
    assert float(found["primal"]) - float(found["dual"]) <= 1e-6 * float(found["primal"])


@names
def test_its_value_is_that_of_another_library(name):
    problem = random_problem(0, n=90 if name == TOGETHER else 150, d=5)
    program = PrimalQP().program(problem, QuadraticProgram)
    points = [PrimalQP().point(problem, program, last(solver, program)) for solver in (make(name), ClarabelQp())]
    mine, other = (certify(problem, point) for point in points)
    assert mine.gap <= 1e-9
    assert mine.primal == pytest.approx(other.primal, rel=1e-6)


@names
@pytest.mark.parametrize("write", [primal_qp, dual_qp])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_multipliers_have_the_right_sign(name, write, sparse):
    program = write(*data(sparse=sparse))
    iterate = last(make(name), program)
    assert iterate.claim == "converged"
    assert program.residual(iterate.x, iterate.dual) < 1e-8
    assert iterate.info["library_seconds"] >= 0.0  # Xpress counts hundredths
    assert iterate.info["settings"]


@names
def test_a_dual_without_rows_is_solved(name):
    """No bias, no equality: all constraints are bounds."""
    problem = random_problem(0, n=40, d=3).with_(bias="none")
    program = DualQP().program(problem, QuadraticProgram)
    iterate = last(make(name), program)
    assert iterate.claim == "converged"
    assert certify(problem, DualQP().point(problem, program, iterate)).gap <= 1e-7


@names
def test_beyond_the_free_size_the_row_is_skipped_with_a_sentence(tmp_path, name):
    variables, constraints = FREE[name]
    n = variables + 1
    code, (found,) = rows(tmp_path, f"dataset.n={n}", "dataset.d=2", f"solver={name}", "reference=none")
    assert code == 0
    assert found["status"] == "skipped"
    library = {"cplex": "CPLEX", "gurobi": "Gurobi", "copt": "COPT", "xpress": "Xpress"}[name]
    size = f"{variables:,} variables and {constraints:,} constraints"
    size = f"{variables} variables and constraints together" if name == TOGETHER else size
    said = f"{library} without a licence takes quadratic programs of {size}; this has {n + 3:,} and {n:,}"
    assert found["message"] == said


@names
def test_the_free_size_itself_is_solved(name):
    """As many variables as are free; bounds are no constraints."""
    X, y, C = data(n=FREE[name][0] // 2 - 2 if name == TOGETHER else FREE[name][0] - 4, d=3)
    program = primal_qp(X, y, C)
    iterate = last(make(name), program)
    assert iterate.claim == "converged"
    assert program.residual(iterate.x, iterate.dual) < 1e-8


def test_mosek_without_a_licence_is_skipped_with_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("MOSEKLM_LICENSE_FILE", raising=False)
    code, (found,) = rows(tmp_path, "dataset.n=20", "solver=mosek", "reference=none")
    assert code == 0
    assert (found["status"], found["message"]) == ("skipped", UNLICENSED)


@pytest.mark.parametrize("write", [primal_qp, dual_qp])
def test_mosek_is_given_the_program(write):
    """Read back from the library; to solve it takes a licence."""
    import mosek

    program = write(*data())
    qp = bounded(program)
    with mosek.Env() as env, env.Task() as task:
        load(task, program, qp)
        rows, columns, values = task.getatrip()
        assert np.array_equal(sp.coo_array((values, (rows, columns)), shape=qp.A.shape).toarray(), qp.A.toarray())
        _, rows, columns, values = task.getqobj()
        P = sp.coo_array((values, (rows, columns)), shape=program.P.shape).toarray()
        assert np.array_equal(P + np.tril(P, -1).T, program.P.toarray())
        assert np.array_equal(task.getc(), program.q)
        kinds, low, high = task.getvarboundslice(0, program.q.size)
        names = [word(kind) for kind in kinds]
        lower = [bound if name in ("lo", "ra", "fx") else -np.inf for name, bound in zip(names, low, strict=True)]
        upper = [bound if name in ("up", "ra", "fx") else np.inf for name, bound in zip(names, high, strict=True)]
        assert np.array_equal(lower, qp.lower)
        assert np.array_equal(upper, qp.upper)
        kinds, _, high = task.getconboundslice(0, qp.b.size)
        assert [word(kind) for kind in kinds] == ["fx"] * qp.zero + ["up"] * (qp.b.size - qp.zero)
        assert np.array_equal(high, qp.b)


def test_copt_survives_a_dual_without_rows_and_without_a_bound(tmp_path):
    """One feature, no bias: Q has rank one, and presolving it corrupted memory."""
    options = ("dataset=small", "dataset.name=one_feature", "problem.bias=none", "formulation=hard_dual_qp")
    code = main(["run", *options, "solver=copt", "figures=none", f"out={tmp_path}"])
    with next(tmp_path.glob("*/*/table.csv")).open() as file:
        (found,) = csv.DictReader(file)
    assert (found["status"], found["claim"], code) == ("inaccurate", "unbounded", 0), found["message"]
