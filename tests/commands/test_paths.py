"""Paths of C as a user asks for them: rows cold and warm, refusals in one line, times side by side."""

import csv
from pathlib import Path

import pytest

from marginbench.harness.cli import main
from marginbench.harness.records.store import Store

SMALL = ["dataset=overlapping", "dataset.n=60", "dataset.d=3", "figures=none", "out=out"]
PATH = "problem.path=[0.1,1,10]"
OWN = """
from dataclasses import dataclass

import numpy as np
from marginbench import BoxDual, Iterate, Solver


@dataclass(frozen=True)
class Ascent(Solver):
    accepts = (BoxDual,)

    def refuses(self, program):
        return "no free bias" if program.equality else None

    def iterates(self, program, start=None):
        alpha = np.zeros(program.n) if start is None else start.alpha
        w, began = program.image(alpha), "nothing" if start is None else f"{alpha.max() / program.upper.max():.3g}"
        while True:
            for i in range(program.n):
                x, y = program.X[i], program.y[i]
                new = np.clip(alpha[i] + (1.0 - y * (x @ w)) / (x @ x), 0.0, program.upper[i])
                w, alpha[i] = w + (new - alpha[i]) * y * x, new
            yield Iterate(alpha, w, info={"began": began})
"""


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def rows(name):
    """(solver, C, start) -> record of a run, none twice."""
    records = Store(Path("out", "run", name)).records()
    found = {(r.solver, r.C, r.start): r for r in records}
    assert len(found) == len(records)
    return found


@pytest.mark.long
def test_every_C_is_certified_cold_and_warm_and_nothing_is_run_twice(capsys):
    command = ["run", *SMALL, PATH, "problem.bias=free", "method=coordinate_descent,smo,pegasos", "budget.gap=1e-8"]
    assert main([*command, "name=it"]) == 0
    said = capsys.readouterr().out
    found = rows("it")
    assert len(found) == 3 * 5
    for solver in ("coordinate_descent", "smo"):
        for k, C in enumerate((0.1, 1.0, 10.0)):
            cold = found[solver, C, "cold"]
            assert (cold.status, cold.path, cold.position) == ("solved", [0.1, 1.0, 10.0], k)
            if k:
                warm = found[solver, C, "warm"]
                assert (warm.status, warm.path, warm.position) == ("solved", [0.1, 1.0, 10.0], k)
                assert warm.problem == cold.problem
                assert warm.hash != cold.hash
                assert warm.primal == pytest.approx(cold.primal, rel=2e-8)
    assert {r.message for (solver, _, start), r in found.items() if solver == "pegasos" and start == "warm"} == {
        "pegasos takes no start: cold only"
    }
    assert "warm / cold" in said
    times = list(csv.DictReader(Path("out/run/it/paths.csv").read_text().splitlines()))
    assert [(row["C"], row["warm_status"]) for row in times if row["method"] == "smo"] == [
        ("0.1", ""),
        ("1.0", "solved"),
        ("10.0", "solved"),
    ]
    assert "Paths of C" in Path("out/run/it/report.html").read_text()

    assert main([*command, "name=again"]) == 0
    assert "15 found in earlier runs" in capsys.readouterr().out
    assert {key: r.hash for key, r in rows("again").items()} == {key: r.hash for key, r in found.items()}


@pytest.mark.long
def test_a_cold_cell_of_a_path_is_the_plain_one_and_a_longer_path_goes_on(capsys):
    command = ["run", *SMALL, "method=coordinate_descent", "keep=solution"]
    assert main([*command, "problem.C=1", "name=plain"]) == 0
    assert main([*command, PATH, "name=short"]) == 0
    assert "1 found in earlier runs" in capsys.readouterr().out
    assert main([*command, "problem.path=[0.1,1,10,100]", "name=long"]) == 0
    assert "5 found in earlier runs" in capsys.readouterr().out
    assert rows("long")["coordinate_descent", 1.0, "cold"].hash == rows("plain")["coordinate_descent", 1.0, "cold"].hash
    assert rows("long")["coordinate_descent", 1.0, "cold"].path == [0.1, 1.0, 10.0, 100.0]
    assert rows("long")["coordinate_descent", 100.0, "warm"].status == "solved"
    assert main([*command, "problem.path=[10,1,0.1]", "name=back"]) == 0
    back = rows("back")
    assert back["coordinate_descent", 0.1, "warm"].status == "solved"
    assert back["coordinate_descent", 1.0, "warm"].hash != rows("short")["coordinate_descent", 1.0, "warm"].hash


def test_a_solver_in_one_file_declares_it_by_a_parameter(capsys):
    Path("pa_mine.py").write_text(OWN)
    assert (
        main(["run", *SMALL, PATH, "problem.bias=none", "solver=pa_mine.py:Ascent", "budget.gap=1e-6", "name=it"]) == 0
    )
    found = {(C, start): r for (_, C, start), r in rows("it").items()}
    assert {r.status for r in found.values()} == {"solved"}
    assert {r.info["began"] for (_, start), r in found.items() if start == "cold"} == {"nothing"}
    assert all(0.09 < float(r.info["began"]) <= 1.0 for (_, start), r in found.items() if start == "warm")


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (["problem.path=[]"], "problem.path=[]: the list is empty; needs a list of different numbers above 0"),
        (["problem.path=1"], "problem.path=1: needs a list"),
        (["problem.path=[1,many]"], "problem.path=[1,'many']: many is no number"),
        (["problem.path=[1,true]"], "problem.path=[1,True]: True is no number"),
        (["problem.path=[1,0]"], "problem.path=[1,0]: 0 is not above 0 and finite"),
        (["problem.path=[1,inf]"], "problem.path=[1,inf]: inf is not above 0 and finite"),
        (["problem.path=[1,nan]"], "problem.path=[1,nan]: nan is not above 0 and finite"),
        (["problem.path=[1,2,1.0]"], "problem.path=[1,2,1.0]: 1.0 is there twice"),
        ([PATH, "problem.C=3"], "problem.C beside problem.path: the path gives every C; leave one of the two out"),
        ([PATH, "problem.C=1,2"], "problem.C beside problem.path"),
        ([PATH, "experiment=effect_of_C"], "problem.C beside problem.path"),
    ],
)
def test_refusals_are_one_line_before_any_work(capsys, asked, says):
    assert main(["run", *SMALL, *asked]) == 2
    said = capsys.readouterr().err
    assert says in said
    assert len(said.splitlines()) == 1
    assert not Path("out").exists()


def test_a_hard_margin_has_no_path(capsys):
    pair = ["formulation=hard_dual_qp", "solver=coordinate_descent"]
    assert main(["run", *SMALL, "problem.path=[0.1,1]", *pair, "budget.seconds=0.1", "name=it"]) == 0
    (warm,) = [r for (_, _, start), r in rows("it").items() if start == "warm"]
    assert (warm.status, warm.message) == ("skipped", "a hard margin has no C, and so no path")
