"""`marginbench run` as a user of Hydra types it: flags anywhere, own folders, own solver files, several experiments."""

import csv
import re
import sys
from pathlib import Path

import pytest
import yaml

from marginbench.harness.cli import main, split_verb

ROOT = Path(__file__).resolve().parents[2]
SMALL = ["dataset=overlapping", "dataset.n=40", "dataset.d=3", "budget.seconds=2"]
README_SOLVER = re.search(r"```python\n(from dataclasses.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[1]


@pytest.fixture(autouse=True)
def own_import_path(monkeypatch):
    monkeypatch.setattr("sys.path", [*sys.path])


def rows(out: Path) -> list[dict[str, str]]:
    return [row for path in out.glob("*/*/table.csv") for row in csv.DictReader(path.read_text().splitlines())]


def printed(capsys, *words: str) -> str:
    assert main(list(words)) == 0
    return capsys.readouterr().out


def refused(capsys, *words: str) -> str:
    assert main(list(words)) == 2
    streams = capsys.readouterr()
    assert streams.out == ""
    assert streams.err.count("\n") == 1
    return streams.err


@pytest.mark.parametrize(
    ("words", "verb", "rest"),
    [
        (["run", "a=1"], "run", ["a=1"]),
        (["a=1", "-m"], "run", ["a=1", "-m"]),
        (["--multirun", "a=1"], "run", ["--multirun", "a=1"]),
        (["--config-dir", "list", "run", "a=1"], "run", ["--config-dir", "list", "a=1"]),
        (["-cd=x", "validate", "solver=s"], "validate", ["-cd=x", "solver=s"]),
        (["~method", "a=1"], "run", ["~method", "a=1"]),
        ([], "help", []),
        (["-h"], "help", []),
    ],
)
def test_the_verb_may_stand_anywhere(words, verb, rest):
    assert split_verb(words) == (verb, rest)


def test_cfg_job_prints_what_would_be_run(capsys):
    config = yaml.safe_load(printed(capsys, "run", "--cfg", "job", "dataset=wine", "seed=4"))
    assert (config["dataset"]["positive"], config["solver"]["seed"]) == (1, "${seed}")
    resolved = yaml.safe_load(printed(capsys, "run", "dataset=wine", "seed=4", "-c", "job", "--resolve"))
    assert resolved["solver"]["seed"] == 4
    part = printed(capsys, "run", "problem.C=1,2", "--cfg=job", "--package", "problem")
    assert [document["C"] for document in yaml.safe_load_all(part)] == [1, 2]
    assert part.startswith("# @package problem\n")
    assert "possible are dataset" in refused(capsys, "run", "--cfg", "job", "-p", "kitchen")


def test_info_says_which_files_are_merged(capsys, tmp_path):
    text = printed(capsys, "run", "experiment=overhead", "--info", "defaults")
    assert [line.split()[0] for line in text.splitlines()][1:4] == [
        "dataset/overlapping",
        "formulation/dual_qp",
        "solver/idle",
    ]
    assert str(tmp_path) in printed(capsys, "run", "-cd", str(tmp_path), "--info", "searchpath")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--cfg", "hydra"], "--cfg hydra: marginbench uses Hydra to compose only; possible is --cfg job"),
        (["--cfg", "all"], "possible is --cfg job"),
        (["--cfg"], "--cfg: needs a value, as in --cfg job"),
        (["--package", "problem"], "--package: goes with --cfg job"),
        (["--resolve"], "--resolve: goes with --cfg job"),
        (["--info", "plugins"], "--info plugins: possible are defaults, searchpath"),
        (["--hydra-help"], "see `marginbench help run`"),
        (["--shell-completion", "install=bash"], "use `marginbench completion bash`"),
        (["-sc", "install=bash"], "use `marginbench completion bash`"),
        (["--config-name", "x"], "the verb names the primary configuration"),
        (["-cp", "x"], "--config-dir DIR"),
        (["--run"], "one cell is run anyway"),
        (["--multirun=3"], "--multirun takes no value"),
        (["--config-dir", "/no/such/folder"], "no such folder"),
    ],
)
def test_what_has_no_meaning_is_refused_in_one_line(capsys, words, said):
    assert said in refused(capsys, "run", *words)


@pytest.mark.long
def test_several_experiments_are_several_runs(tmp_path, capsys):
    (tmp_path / "conf" / "experiment").mkdir(parents=True)
    for name, C, repeats in (("first", "1,2", 1), ("second", "3", 2)):
        (tmp_path / "conf" / "experiment" / f"{name}.yaml").write_text(
            f"# @package _global_\nrepeats: {repeats}\nhydra: {{sweeper: {{params: {{problem.C: '{C}'}}}}}}\n"
        )
    out = tmp_path / "out"
    words = ["experiment=first,second", *SMALL, f"out={out}", "-m", "--config-dir", str(tmp_path / "conf")]
    assert main(["run", *words]) == 0
    assert [path.name for path in sorted(out.iterdir()) if not path.is_symlink()] == ["first", "second"]
    assert sorted(row["C"] for row in rows(out)) == ["1.0", "2.0", "3.0", "3.0"]
    assert capsys.readouterr().out.count("report: ") == 2


def test_the_readmes_solver_runs_from_its_file_beside_others(tmp_path, capsys):
    (tmp_path / "readme_solver_in_run.py").write_text(README_SOLVER)
    file = f"{tmp_path}/readme_solver_in_run.py:Mine"
    words = [f"solver={file},sdca", "solver.seed=5", *SMALL, "budget.gap=1e-6", "budget.seconds=30"]
    assert main(["run", *words, f"out={tmp_path}/out"]) == 0
    assert {(row["solver"], row["status"]) for row in rows(tmp_path / "out")} == {
        ("readme_solver_in_run.py:Mine", "solved"),
        ("sdca", "solved"),
    }


def test_a_solver_that_imports_old_names_is_told_the_new_ones(tmp_path, capsys):
    (tmp_path / "conf" / "solver").mkdir(parents=True)
    (tmp_path / "old_names_solver.py").write_text("import json\nfrom harness.solver import Iterate, Solver\n")
    (tmp_path / "conf" / "solver" / "old.yaml").write_text("_target_: old_names_solver.Mine\n")
    error = refused(capsys, "run", f"solver={tmp_path}/old_names_solver.py:Mine")
    assert "line 2 imports from harness.solver, an old name; write `from marginbench" in error
    assert "import Iterate, Solver`" in error
    assert "an old name" in refused(capsys, "run", "solver=old", "-cd", str(tmp_path / "conf"))


@pytest.mark.parametrize(
    ("text", "said"),
    [("import no_such_library", "No module named 'no_such_l"), ("1 / 0", "ZeroDivisionError"), ("x = (", "Syntax")],
)
def test_a_solver_file_that_cannot_be_imported_is_one_line(tmp_path, capsys, text, said):
    name = f"unimportable_{abs(hash(text))}"
    (tmp_path / f"{name}.py").write_text(text)
    assert said in refused(capsys, "run", f"solver={tmp_path}/{name}.py:Mine")


def test_a_choice_made_for_the_user_and_an_option_left_out_are_said(tmp_path, capsys):
    words = ["solver=pegasos,sdca", "solver.batch=2", *SMALL, "budget.seconds=0.2", f"out={tmp_path}"]
    assert main(["run", *words]) == 0
    said = capsys.readouterr().err
    assert "solver=pegasos: formulation=pegasos (it does not take the default, dual_qp)" in said
    assert "solver.batch: not an option of solver=sdca; left out there" in said


@pytest.mark.long
def test_precision_is_swept_as_rows_of_one_problem_where_rounding_changes_nothing(tmp_path, capsys):
    """One-hot entries are float32 already: the same numbers, so the same objectives, from two files on disk."""
    words = ["dataset=one_hot", "preprocess.precision=float32,float64", "method=liblinear", "problem.bias=augmented"]
    assert main(["run", *words, f"out={tmp_path}"]) == 0
    found = rows(tmp_path)
    assert sorted(row["preprocess.precision"] for row in found) == ["float32", "float64"]
    assert found[0]["primal"] == found[1]["primal"]
    assert found[0]["hash"] != found[1]["hash"]
    capsys.readouterr()
    said = refused(capsys, "run", "dataset=one_hot", "preprocess.precision=half", f"out={tmp_path}")
    assert "preprocess.precision=half: possible are float64, float32" in said
