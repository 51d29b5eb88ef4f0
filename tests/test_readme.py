"""What README and CONTRIBUTING tell a reader to type works, as it stands there."""

import csv
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from marginbench.harness.cli import main

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[1]
README, CONTRIBUTING = (ROOT / "README.md").read_text(), (ROOT / "CONTRIBUTING.md").read_text()
COMMANDS = re.findall(r"^(?:    |\$ )marginbench ([^#\n]+)", README + CONTRIBUTING, re.MULTILINE)
PYTHON = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
SOLVER = next(code for code in PYTHON if "class Mine" in code)
FIRST_TRY = re.search(r"```python\n(.*?class MySolver.*?)```", CONTRIBUTING, re.DOTALL)

SHORT = {
    "run": ["budget.seconds=0.1", "limits.seconds=20"],
    "validate": ["budget.seconds=0.05", "formulation=dual_qp"],
}
"""What is added so that a test is short: the command stays what it is."""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with all that the commands name: a data file, the solver of the README, two stored runs."""
    folder = tmp_path_factory.mktemp("reader")
    (folder / "mine.py").write_text(SOLVER)
    (folder / "my_solver.py").write_text(FIRST_TRY[1])
    rows = [f"{label} 1:{x} 2:{label * 0.5 + x}" for label in (1, -1) for x in (0.25, 0.5, 1.5)]
    (folder / "heart_scale.libsvm").write_text("\n".join(rows) + "\n")
    (folder / "rows").mkdir()
    np.save(folder / "rows" / "X.npy", np.random.default_rng(0).normal(size=(40, 3)))
    np.save(folder / "rows" / "y.npy", np.resize([1.0, -1.0], 40))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["run", "dataset=separable", "method=auto", "out=stored"]) == 0
    (stored,) = (folder / "stored").glob("run/*")
    for name in ("RUN1", "RUN2", *re.findall(r"results/comparison/[\d_-]+", README)):
        shutil.copytree(stored, folder / name, dirs_exist_ok=True)
    (folder / "results" / "latest").symlink_to(folder / name)
    return folder


def typed(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own, as from a terminal: `mine` may be the name of another test's module here."""
    command = [sys.executable, "-m", "marginbench", *words]
    return subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("command", sorted(set(COMMANDS)))
def test_every_command_runs(command, place):
    words = shlex.split(command.replace("heart_scale.libsvm.xz", "heart_scale.libsvm"))
    done = typed(place, *words, *SHORT.get(words[0], []))
    assert done.returncode in (0, 1), done.stderr  # 1: a row is wrong, as LIBLINEAR's at a large C is
    assert "Traceback" not in done.stdout + done.stderr
    if words[0] in ("run", "report"):
        page = Path(done.stdout.strip().splitlines()[-1].removeprefix("report: "))
        assert (place / page).stat().st_size > 10_000


def test_the_solver_of_the_readme_runs_and_is_valid(place):
    assert typed(place, "run", "dataset=text", "dataset.n=100", "solver=mine.py:Mine,auto", "out=own").returncode == 0
    with next((place / "own").glob("*/*/table.csv")).open() as file:
        rows = list(csv.DictReader(file))
    assert [row["status"] for row in rows] == ["solved", "solved"]
    done = typed(place, "validate", "solver=mine.py:Mine", "budget.seconds=2")
    assert done.returncode == 0, done.stdout
    assert "pass: mine.py:Mine" in done.stdout


@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")  # at times it does, by its random numbers
def test_the_python_of_the_readme_runs(place, monkeypatch):
    monkeypatch.chdir(place)
    code = next(code for code in PYTHON if "mb.solve" in code)
    exec(compile(code, "README.md", "exec"), {})
    assert (place / "comparison.html").stat().st_size > 10_000


def test_every_experiment_composes():
    names = sorted(path.stem for path in (ROOT / "conf" / "experiment").glob("*.yaml"))
    assert names
    for name in names:
        assert main(["run", f"experiment={name}", "--cfg", "job"]) == 0


def test_the_readme_is_short_and_what_it_points_to_is_there():
    assert len(README.split()) <= 1200
    for path in re.findall(r"\]\(([\w/.]+)\)", README):
        assert (ROOT / path).stat().st_size > 0
