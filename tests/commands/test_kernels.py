"""Kernels as a user asks for them: rows, refusals in one line, and a linear kernel that changes nothing."""

import csv
import json
from pathlib import Path

import pytest

from marginbench.harness.cli import main
from marginbench.harness.records.record import Record
from marginbench.harness.records.store import Store

SMALL = ["dataset=overlapping", "dataset.n=60", "dataset.d=3", "figures=none", "out=out"]
GAUSSIAN = ["problem.kernel=gaussian", "problem.sigma=2", "problem.bias=free"]
POLYNOMIAL = ["problem.kernel=polynomial"]


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def only(name: str) -> Record:
    """The one record of a run."""
    (record,) = Store(Path("out", "run", name)).records()
    return record


def test_a_kernel_is_solved_shown_and_skipped_by_what_needs_w(capsys):
    methods = "method=coordinate_descent,smo,tikhonov,hard_dual_qp"
    assert main(["run", "-m", *SMALL, *GAUSSIAN, methods, "preprocess.test=0.25", "name=it"]) == 0
    assert "gaussian kernel (gamma 0.125)" in capsys.readouterr().out
    rows = list(csv.DictReader(Path("out/run/it/table.csv").read_text().splitlines()))
    solved = {row["solver"]: row for row in rows if row["status"] == "solved"}
    assert set(solved) == {"coordinate_descent", "smo"}
    assert float(solved["smo"]["primal"]) == pytest.approx(float(solved["coordinate_descent"]["primal"]), rel=1e-8)
    assert all(0.5 < float(row["test_accuracy"]) <= 1.0 for row in solved.values())
    skipped = {row["formulation"]: row["message"] for row in rows if row["status"] == "skipped"}
    assert "needs w" in skipped.pop("tikhonov")
    assert skipped == {"hard_dual_qp": "the formulation needs a linear kernel; use dual_qp"}
    assert main(["show", solved["smo"]["hash"], "out"]) == 0
    info = json.loads(capsys.readouterr().out)["info"]
    assert (info["kernel"], info["gamma"]) == ("gaussian", 0.125)
    assert 0.0 < info["eps"] < 1e-11


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (["problem.kernel=sigmoid"], "problem.kernel=sigmoid: is not positive semidefinite"),
        ([*POLYNOMIAL, "problem.degree=1.5"], "problem.degree=1.5: a polynomial kernel needs a whole number"),
        ([*POLYNOMIAL, "problem.c=-1"], "problem.coef0=-1.0: a polynomial kernel needs a number from 0 on"),
        ([*GAUSSIAN, "problem.gamma=1"], "problem.gamma=1 contradicts problem.sigma=2, which means gamma"),
        ([*GAUSSIAN, "problem.C=inf"], "problem.C=inf with problem.kernel=gaussian: needs a finite C"),
        (["problem.c=10"], "problem.c=10: the linear kernel has no parameters; the price of slack is problem.C"),
    ],
)
def test_refusals_are_one_line_before_any_work(capsys, asked, says):
    assert main(["run", *SMALL, *asked]) == 2
    streams = capsys.readouterr()
    assert streams.out == ""
    assert says in streams.err
    assert streams.err.count("\n") == 1
    assert not Path("out").exists()


def test_a_matrix_beyond_the_memory_limit_is_skipped_with_its_size():
    assert (
        main(
            ["run", *SMALL, "dataset.n=20000", "method=newton_augmented", *GAUSSIAN, "limits.memory_mb=1000", "name=it"]
        )
        == 0
    )
    record = only("it")
    assert record.status == "skipped"
    assert record.message.startswith("needs a kernel matrix of 2.0e+04 x 2.0e+04, 3.2 GB; limits.memory_mb=1000")


def test_the_linear_kernel_is_the_linear_problem_in_every_record():
    assert main(["run", *SMALL, "name=plain"]) == 0
    assert main(["run", *SMALL, "problem.kernel=linear", "fresh=true", "name=asked"]) == 0
    plain, asked = only("plain"), only("asked")
    for name in ("hash", "problem", "cell", "primal", "dual", "gap"):
        assert getattr(plain, name) == getattr(asked, name)
    assert "kernel" not in plain.cell["problem"]
