"""Planning cannot be hurt: what data sets and solvers of the user's own do before a cell runs costs their rows only."""

import csv
import errno
import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest

from marginbench.harness.cli import main
from marginbench.harness.places import cache_folder
from marginbench.harness.rehearsal import import_rehearsed, rehearsed
from marginbench.harness.running.cores import usable

pytestmark = pytest.mark.long

DEEDS = {
    "exits": ("import os\nos._exit(0)", "failed", "exit code 0"),
    "leaves": ("raise SystemExit(3)", "failed", "SystemExit: 3"),
    "crashes": ("import ctypes\nctypes.string_at(0)", "crashed", "SIGSEGV"),
    "hangs": ("import time\ntime.sleep(1000)", "timeout", "limit of 2 s"),
    "hoards": ("x = bytearray(2**33)", "memory", "512 MB"),
}
"""What foreign code does, as statements; the status of the row and a part of its message."""

SOLVER = """
from dataclasses import dataclass
from marginbench import BoxDual, Iterate, Solver


@dataclass(frozen=True)
class Mine(Solver):
    size: float = 1.0
    accepts = (BoxDual,)

    def __post_init__(self):
        {making}

    def warm_up(self, program):
        {warming}

    def iterates(self, program):
        yield Iterate(program.upper.copy())
"""

LIMITS = ["limits.seconds=2", "limits.memory_mb=512"]


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def rows(tmp_path):
    with max(tmp_path.glob("out/*/*/table.csv")).open() as file:
        return {(row["dataset"], row["solver"]): row for row in csv.DictReader(file)}


def inside(deed):
    return "; ".join(DEEDS[deed][0].splitlines())


@pytest.mark.parametrize("deed", DEEDS)
@pytest.mark.parametrize("place", ["import", "constructor"])
def test_a_solver_costs_its_own_rows_only(tmp_path, deed, place):
    name = f"{place}_{deed}"
    top = DEEDS[deed][0] if place == "import" else ""
    (tmp_path / f"{name}.py").write_text(top + SOLVER.format(making="pass" if top else inside(deed), warming="pass"))
    code = main(["run", "dataset=separable", f"solver={name}.py:Mine,auto", "out=out", *LIMITS])
    found = rows(tmp_path)
    assert found["separable", "auto"]["status"] == "solved"
    broken = found["separable", f"{name}.py:Mine"]
    assert broken["status"] == DEEDS[deed][1]
    assert DEEDS[deed][2] in broken["message"]
    assert code == (1 if DEEDS[deed][1] in ("failed", "crashed") else 0)


@pytest.mark.parametrize("deed", DEEDS)
def test_a_data_set_costs_its_own_rows_only(tmp_path, deed):
    (tmp_path / f"data_{deed}.py").write_text(f"def made():\n    {inside(deed)}\n")
    folder = tmp_path / "conf" / "dataset"
    folder.mkdir(parents=True)
    (folder / "broken.yaml").write_text(f"_target_: data_{deed}.made\n")
    main(["run", "--config-dir", "conf", "dataset=broken,separable", "method=auto", "out=out", *LIMITS])
    found = rows(tmp_path)
    assert found["separable", "auto"]["status"] == "solved"
    assert found["broken", "auto"]["status"] == DEEDS[deed][1]
    assert "loading the data set broken" in found["broken", "auto"]["message"]


def test_a_hang_in_warm_up_costs_the_limit(tmp_path):
    (tmp_path / "slow_start.py").write_text(SOLVER.format(making="pass", warming="import time; time.sleep(1000)"))
    start = time.monotonic()
    main(["run", "dataset=separable", "solver=slow_start.py:Mine", "out=out", *LIMITS])
    assert time.monotonic() - start < 60.0  # and not STARTUP_SECONDS
    row = rows(tmp_path)["separable", "slow_start.py:Mine"]
    assert (row["status"], row["message"]) == ("timeout", "ended by the limit of 2 s, while it was warmed up")


def test_a_module_of_the_package_is_not_tried_and_the_same_is_tried_once(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "counted.py").write_text(f"with open({str(tmp_path / 'count')!r}, 'a') as file:\n    file.write('x')\n")
    for _ in range(3):
        assert import_rehearsed("counted.anything", 20.0, 1024.0) is None
    assert (tmp_path / "count").read_text() == "x"
    forks = []
    monkeypatch.setattr(os, "fork", lambda: forks.append(1))
    assert rehearsed({"_target_": "marginbench.solvers.pegasos.Pegasos"}, 20.0, 1024.0) is None
    assert not forks


def test_what_was_taken_for_labels_is_printed_and_recorded(tmp_path, capsys):
    X = np.random.default_rng(0).normal(size=(20, 2))
    table = "".join(f"{a};{b};{'yes' if a > 0 else 'no'}\n" for a, b in X)
    (tmp_path / "mine.csv").write_text("a;b;class\n" + table)
    assert main(["run", "dataset=file", "dataset.path=mine.csv", "method=auto", "out=out"]) == 0
    said = capsys.readouterr().out
    assert "data mine: read as a table with semicolons and a line of names; the labels are column 'class'" in said
    (about,) = tmp_path.glob("out/*/*/run.json")
    notes = json.loads(about.read_text())["data_notes"]["mine"]
    assert "the labels are column 'class', by its name" in notes
    assert any(note.startswith("+1 stands for yes, -1 for no") for note in notes)


def test_scikit_learns_loaders_by_their_names(tmp_path):
    loader = ["dataset._target_=sklearn.datasets.load_breast_cancer", "+dataset.return_X_y=false,true"]
    main(["run", *loader, "method=auto", "budget.seconds=0.2", "out=out"])
    row = rows(tmp_path)["load_breast_cancer", "auto"]
    assert (row["n"], row["d"]) == ("569", "30")


# -- one line, and no traceback ---------------------------------------------------------------------------------------

LONG = "x" * 300

ONE_LINE = {
    "seed=x": (2, "seed=x: needs a whole number, 0 or more"),
    "seed=-1": (2, "seed=-1: needs a whole number, 0 or more"),
    "solver._target_=no.such.Thing": (2, "No module named 'no'"),
    "solver._target_=Thing": (2, "_target_=Thing: needs package.module.name"),
    "solver._target_=marginbench.solvers.pegasos.Thing": (2, "marginbench.solvers.pegasos has no Thing"),
    "solver=syntax.py:Mine": (2, "solver=syntax.py:Mine: SyntaxError: invalid syntax (syntax.py, line 1)"),
    "dataset._target_=no.such.function": (2, "_target_=no.such.function: No module named 'no'"),
    "dataset._target_=function": (2, "_target_=function: needs package.module.function"),
    "dataset._target_=sklearn.datasets.load_nothing": (2, "sklearn.datasets has no function load_nothing"),
    "dataset._target_=sklearn.datasets.load_iris": (2, "labels 0, 1, 2: need exactly two classes"),
    "dataset._target_=platform.node": (2, "the data are a str; need (X, y)"),
    f"out={LONG}": (2, "File name too long"),
    "out=/dev/null/folder": (2, "out=/dev/null/folder"),
    "experiment=headless": (2, "its first line has to be `# @package _global_`"),
}


@pytest.mark.parametrize("word", ONE_LINE, ids=lambda word: word[:60])
def test_bad_input_is_one_line(tmp_path, capsys, word):
    if "syntax.py" in word:  # once: a second file of this name elsewhere would be another module
        (tmp_path / "syntax.py").write_text("def f(:\n")
    (tmp_path / "conf" / "experiment").mkdir(parents=True)
    (tmp_path / "conf" / "experiment" / "headless.yaml").write_text("problem:\n  C: 7\n")
    code, says = ONE_LINE[word]
    chosen = [] if word.startswith("dataset.") else ["dataset=separable"]
    assert main(["run", "--config-dir", "conf", "out=out", *chosen, word]) == code
    said = capsys.readouterr().err
    assert says in said
    assert len(said.strip().splitlines()) == 1


def typed(tmp_path, *words, **options):
    command = [sys.executable, "-m", "marginbench", *words]
    return subprocess.run(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, check=False, **options)


@pytest.mark.parametrize(
    "words", [["list"], ["run", "dataset=separable", "method=auto", "out=out"]], ids=lambda w: w[0]
)
def test_an_output_that_takes_nothing_is_one_line(tmp_path, words):
    with open("/dev/full", "w") as full:
        done = typed(tmp_path, *words, stdout=full)
    assert done.returncode == 1
    assert done.stderr == "marginbench: No space left on device: the output cannot be written\n"
    closed = typed(tmp_path, *words, preexec_fn=lambda: os.close(1))
    assert (closed.returncode, closed.stderr) == (0, "")


def test_a_cache_that_cannot_be_written_is_named(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MARGINBENCH_CACHE", str(tmp_path / "file" / "cache"))
    assert main(["run", "dataset=separable", "out=out"]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"marginbench: cannot write {tmp_path}/file/cache/data/")
    assert len(said.splitlines()) == 1


def test_a_user_without_a_home_has_a_cache(monkeypatch):
    for name in ("HOME", "MARGINBENCH_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 987654)
    assert cache_folder().name == "marginbench-987654"


def test_a_machine_that_starts_no_more_processes_is_one_line(monkeypatch, capsys):
    def refused(*_, **__):
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(subprocess, "Popen", refused)
    assert main(["run", "dataset=separable", "out=out"]) == 1
    assert capsys.readouterr().err.startswith("marginbench: cannot start a process: Resource temporarily unavailable")


def test_a_full_cache_is_named(full_disk, tmp_path_factory, monkeypatch, capsys):
    """Data and compiled kernels are kept there."""
    monkeypatch.setenv("MARGINBENCH_CACHE", str(full_disk))
    out = tmp_path_factory.mktemp("out")
    assert main(["run", "dataset=overlapping", "dataset.n=20000", "method=auto", f"out={out}"]) == 1
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert said.startswith(f"marginbench: cannot write {full_disk}")


def test_threads_are_an_axis_of_a_sweep_with_rows_and_keys_of_their_own(tmp_path, capsys):
    asked = ["run", "dataset=separable", "method=auto", "threads=1,2", "reference=none", "out=out"]
    if len(usable()) < 2:
        pytest.skip("one core")
    assert main(asked) == 0
    with max(tmp_path.glob("out/*/*/table.csv")).open() as file:
        found = {int(row["threads"]): row for row in csv.DictReader(file)}
    assert set(found) == {1, 2}
    assert found[1]["hash"] != found[2]["hash"]
    for path in tmp_path.glob("out/*/*/cells/*.json"):
        record = json.loads(path.read_text())["record"]
        assert len(record["machine"]["cpus"]) in (0, record["threads"])  # 0: others have claimed them
    assert main(asked) == 0
    assert "2 found in earlier runs" in capsys.readouterr().out


@pytest.mark.parametrize(("given", "said"), [("4097", "possible are 1 to "), ("0", "1 or more"), ("2.5", "1 or more")])
def test_threads_that_cannot_be_are_refused_in_one_line(given, said, capsys):
    assert main(["run", f"threads={given}", "out=out"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"marginbench: threads={given}: ")
    assert said in line
