"""The command line as a user meets it: what it prints, what it writes, how it ends."""

import csv
import json
import textwrap

import numpy as np
import pytest

from marginbench.harness.cli import VERBS, main
from marginbench.harness.records.store import Store


def rows(out):
    """The rows of the only table below `out`."""
    (path,) = out.glob("*/*/table.csv")
    with path.open() as file:
        return list(csv.DictReader(file))


def small(tmp_path, *overrides):
    """A run on a few rows, with little time."""
    given = ["dataset=overlapping", "dataset.n=60", "dataset.d=4", "budget.seconds=5", f"out={tmp_path}"]
    return main(["run", *given, *overrides])


def test_one_cell_ends_with_the_path_of_a_report(tmp_path, capsys):
    assert small(tmp_path, "method=coordinate_descent") == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("report: ")
    assert last.endswith("report.html")
    (row,) = rows(tmp_path)
    assert row["status"] == "solved"
    assert float(row["gap"]) <= 1e-9
    folder = next(tmp_path.glob("run/*"))
    written = {path.name for path in folder.iterdir()}
    assert written >= {"cells", "figures", "report.html", "run.json", "table.csv", "table.tex"}
    about = json.loads((folder / "run.json").read_text())
    assert about["command"].startswith("marginbench run dataset=overlapping")


def test_a_sweep_has_a_row_for_every_cell_asked_for(tmp_path):
    methods = "coordinate_descent,pegasos,libsvm"
    small(tmp_path, f"method={methods}", "problem.C=0.1,1", "problem.bias=none,free", "budget.seconds=0.2")
    table = rows(tmp_path)
    pairs = {(row["solver"], row["bias"], row["C"]) for row in table}
    assert pairs == {(m, b, C) for m in methods.split(",") for b in ("none", "free") for C in ("0.1", "1.0")}
    skipped = [row for row in table if row["solver"] == "libsvm" and row["bias"] == "none"]
    assert {row["status"] for row in skipped} == {"skipped"}
    assert all(row["message"] for row in skipped)
    assert all(row["gap"] == "" for row in skipped)


def test_what_is_finished_is_not_run_again_unless_fresh(tmp_path, capsys):
    small(tmp_path, "method=coordinate_descent,pegasos", "budget.seconds=0.2")
    capsys.readouterr()
    small(tmp_path, "method=coordinate_descent,pegasos,sdca", "budget.seconds=0.2")
    assert "2 found in earlier runs" in capsys.readouterr().out
    small(tmp_path, "method=coordinate_descent,pegasos", "budget.seconds=0.2", "fresh=true")
    assert "earlier runs" not in capsys.readouterr().out


def test_cells_that_come_to_the_same_thing_are_one_row(tmp_path):
    """The hard margin has no C: three values of it are one problem."""
    small(tmp_path, "dataset=separable", "method=hard_primal_qp", "problem.C=0.1,1,10")
    (row,) = rows(tmp_path)
    assert row["C"] == "inf"
    assert row["status"] == "solved"


def test_repeats_are_rows_of_their_own(tmp_path):
    small(tmp_path, "method=coordinate_descent", "repeats=3")
    table = rows(tmp_path)
    assert sorted(row["repeat"] for row in table) == ["0", "1", "2"]
    assert len({row["primal"] for row in table}) == 1


BAD = [
    (["dataset=nowhere"], "there is no dataset 'nowhere'; possible are"),
    (["solver=nobody"], "there is no solver 'nobody'; possible are"),
    (["method=magic"], "there is no method 'magic'"),
    (["problem.D=3"], "there is no option 'problem.D'; problem has C, bias"),
    (["nonsense=3"], "there is no option 'nonsense'"),
    (["solver.nonsense=3"], "there is no option 'solver.nonsense'; solver has"),
    (["problem.C=0"], "problem.C=0: C must be a number above 0"),
    (["problem.C=-1"], "problem.C=-1"),
    (["problem.C=nan"], "problem.C=nan"),
    (["problem.C=abc"], "problem.C=abc"),
    (["problem.bias=maybe"], "problem.bias=maybe: possible are none, free, augmented"),
    (["problem.loss=cubic"], "problem.loss=cubic"),
    (["budget.gap=0"], "budget.gap=0: needs a number above 0"),
    (["limits.seconds=abc"], "limits.seconds=abc"),
    (["repeats=0"], "repeats=0"),
    (["repeats=x"], "repeats=x"),
    (["repeat_below=0"], "repeat_below=0"),
    (["dataset=file"], "dataset.path"),
    (["dataset=file", "dataset.path=/nowhere/at.libsvm"], "/nowhere/at.libsvm"),
    (["dataset=overlapping", "dataset.n=1"], "n=1"),
    (["--nonsense"], "--nonsense: no such option"),
    (["experiment=none_such"], "there is no experiment 'none_such'"),
    (["problem.C=1,"], "problem.C=1,: cannot be read; possible are key=value"),
    (["nonsense"], "nonsense: cannot be read"),
    (["dataset=null"], "there is no dataset 'null'; possible are"),
    (["~dataset"], "~dataset: a run needs a dataset; possible are"),
    (["hydra/launcher=ray"], "possible are basic, joblib, submitit_local, submitit_slurm"),
    (["launcher.jobs=0"], "launcher.jobs=0: needs a whole number, 1 or more"),
    (["launcher.jobs=100000"], "and this machine has"),
    (["launcher=local", "launcher.exclusive=2"], "launcher.exclusive=2: possible are true and false"),
    (["launcher=cloud"], "there is no launcher 'cloud'; possible are dask, local, slurm"),
]


@pytest.mark.parametrize(("given", "said"), BAD, ids=[" ".join(given) for given, _ in BAD])
def test_bad_input_is_one_line_and_exit_code_2_before_any_work(tmp_path, capsys, given, said):
    assert main(["run", *given, f"out={tmp_path}/results"]) == 2
    streams = capsys.readouterr()
    assert streams.out == ""
    assert streams.err.count("\n") == 1
    assert said in streams.err
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "empty"),
        ("1 1:0.5\n1 2:1\n", "classes"),
        ("1 1:0.5\n2 2:1\n3 1:1\n", "1, 2, 3"),
        ("1 1:0.5\n-1 2:nan\n", "nan"),
        ("1 1:0.5\n-1 2:1\n1 abc\n", "line 3"),
    ],
)
def test_bad_data_are_named(tmp_path, capsys, content, said):
    path = tmp_path / "data.libsvm"
    path.write_text(content)
    assert main(["run", "dataset=file", f"dataset.path={path}", f"out={tmp_path}/results"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert said in error.lower()


def test_a_path_with_strange_characters_can_be_given(tmp_path):
    path = tmp_path / "my data (1).csv"
    rng = np.random.default_rng(0)
    y = np.where(np.arange(20) % 2, 1, -1)
    np.savetxt(path, np.column_stack([y, rng.normal(size=(20, 2)) + y[:, None]]), delimiter=",")
    assert main(["run", "dataset=file", f"dataset.path='{path}'", f"out={tmp_path}/results"]) == 0


def test_unknown_verbs_are_named(capsys):
    assert main(["conquer"]) == 2
    assert f"possible are {', '.join(VERBS)}" in capsys.readouterr().err


def test_help_names_every_verb(capsys):
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(verb in text for verb in ("run", "report", "validate", "reference", "reproduce", "list", "doctor"))


def test_a_solver_of_ones_own_needs_one_file_and_one_yaml(tmp_path):
    (tmp_path / "conf" / "solver").mkdir(parents=True)
    (tmp_path / "conf" / "solver" / "mine.yaml").write_text("_target_: mine.Mine\nsteps: 2000\n")
    (tmp_path / "mine.py").write_text(
        textwrap.dedent(
            """
            from dataclasses import dataclass

            import numpy as np

            from marginbench.harness.model.programs import BoxDual
            from marginbench.harness.model.solver import Iterate, Solver


            @dataclass(frozen=True)
            class Mine(Solver):
                steps: int = 10
                accepts = (BoxDual,)

                def iterates(self, program):
                    Z = program.y[:, None] * program.X
                    step, alpha = 1.0 / np.linalg.norm(Z, 2) ** 2, np.zeros(program.n)
                    for _ in range(self.steps):
                        alpha = np.clip(alpha + step * (1.0 - Z @ (Z.T @ alpha)), 0.0, program.upper)
                        yield Iterate(alpha)
            """
        )
    )
    options = ("solver=mine", "problem.bias=none", "budget.gap=1e-3", "--config-dir", str(tmp_path / "conf"))
    code = small(tmp_path / "out", *options)
    (row,) = rows(tmp_path / "out")
    assert (row["solver"], row["status"]) == ("mine", "solved")
    assert code == 0


def test_report_is_rebuilt_from_records_and_merges_runs(tmp_path, capsys):
    small(tmp_path / "a", "method=coordinate_descent")
    small(tmp_path / "b", "method=sdca")
    folders = [str(next((tmp_path / x).glob("run/*"))) for x in "ab"]
    capsys.readouterr()
    assert main(["report", *folders, "--out", str(tmp_path / "both")]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"report: {tmp_path}/both/report.html"
    with (tmp_path / "both" / "table.csv").open() as file:
        assert {row["solver"] for row in csv.DictReader(file)} == {"coordinate_descent", "sdca"}


def test_a_problem_in_the_plane_is_drawn_by_run_and_by_report(tmp_path, capsys):
    words = ["dataset=overlapping", "dataset.n=100", "dataset.d=2", "method=coordinate_descent", "figures=none"]
    assert main(["run", *words, f"out={tmp_path}"]) == 0
    (run,) = (tmp_path / "run").glob("2*")
    assert not (run / "figures").exists()
    (record,) = Store(run).records()
    assert len(record.curve) > 3
    assert all({"w1", "w2", "b", "kkt_dual", "kkt_stationarity"} <= set(entry) for entry in record.curve)
    assert len({entry["w1"] for entry in record.curve}) > 3
    assert record.info["w"] == [record.curve[-1][name] for name in ("w1", "w2")]
    assert main(["report", str(run), "--out", str(tmp_path / "again"), "figures=svg"]) == 0
    assert (tmp_path / "again" / "figures" / "plane_01.svg").stat().st_size > 1000
    assert main(["report", str(run), "figures=jpg"]) == 2
    assert "figures=jpg: possible are none, svg, all" in capsys.readouterr().err


def test_report_of_nothing_is_bad_input(tmp_path, capsys):
    assert main(["report", str(tmp_path)]) == 2
    assert "no results there" in capsys.readouterr().err
    assert main(["report"]) == 2


def test_list_names_what_there_is(capsys):
    assert main(["list"]) == 0
    text = capsys.readouterr().out
    for word in ("breast_cancer", "smoothed_hinge", "coordinate_descent", "comparison", "which solver takes"):
        assert word in text
    assert main(["list", "solvers"]) == 0
    assert main(["list", "kitchen"]) == 2


def test_claims_of_convergence_above_the_gap_asked_for_are_counted(tmp_path, capsys):
    """LIBLINEAR at a loose tolerance: below `wrong_gap`, and still not what it says."""
    asked = [
        "dataset.n=200",
        "method=liblinear",
        "problem.bias=none",
        "solver.tolerances=[0.1]",
        "budget.wrong_gap=0.9",
    ]
    assert main(["run", *asked, f"out={tmp_path}"]) == 0
    assert "1 claimed convergence at a larger gap than was asked for (column false_claim)" in capsys.readouterr().out
    with next(tmp_path.glob("*/*/table.csv")).open() as file:
        (row,) = csv.DictReader(file)
    assert (row["claim"], row["false_claim"], row["status"]) == ("converged", "True", "inaccurate")
    assert "claimed convergence above the gap asked for" in next(tmp_path.glob("*/*/report.html")).read_text()
