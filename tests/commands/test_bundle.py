"""A bundle made in one clone is reproduced from another one, in another folder, by the command in its README."""

import hashlib
import json
import re
import shlex
import shutil
import zipfile
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pytest
from clones import clone, typed

from marginbench.harness.cli import main
from marginbench.harness.records.store import Store

pytestmark = pytest.mark.long

SOLVER = """from dataclasses import dataclass
import numpy as np
from marginbench import BoxDual, Iterate, Solver
from bd_start import START


@dataclass(frozen=True)
class Mine(Solver):
    share: float = 0.5
    seed: int = 0
    accepts = (BoxDual,)

    def iterates(self, program):
        yield Iterate(np.full(program.n, START * self.share), None, "inaccurate")
"""


@pytest.fixture(scope="module")
def author(tmp_path_factory) -> Path:
    """A clone, beside it an own data file and an own solver, and a run of both."""
    home = clone(tmp_path_factory.mktemp("author"))
    y = np.where(np.arange(40) % 2, 1, -1)
    rows = np.column_stack([y, np.random.default_rng(0).normal(size=(40, 2)) + y[:, None]])
    np.savetxt(home / "toy.csv", rows, delimiter=",")
    (home / "bd_mine.py").write_text(SOLVER)
    (home / "bd_start.py").write_text("START = 0.5\n")
    words = ["run", "dataset=file", "dataset.path=toy.csv", "dataset.labels=0", "dataset.header=false", "keep=solution"]
    words += [
        "formulation=dual_qp",
        "solver=bd_mine.py:Mine,coordinate_descent",
        "solver.share=0.25",
        "budget.gap=0.999",
    ]
    done = typed(home, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    return home


def made(author: Path, name: str, *flags: str) -> Path:
    """The bundle of the author's run, as the author makes it."""
    (run,) = (author / "results" / "run").glob("2*")
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    done = typed(author, "bundle", str(run.relative_to(author)), "--out", name, *flags)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before
    return author / name


@pytest.fixture(scope="module")
def bundle(author) -> Path:
    return made(author, "plain.zip")


@pytest.fixture(scope="module")
def complete(author) -> Path:
    return made(author, "complete.zip", "--include-data")


def command_of(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        return shlex.split(re.search(r"^    (marginbench reproduce .*)$", archive.read("README.md").decode(), re.M)[1])


def test_it_is_reproduced_from_another_clone_by_the_command_in_its_readme(bundle, tmp_path):
    reader = clone(tmp_path / "reader")
    desk = tmp_path / "desk"
    desk.mkdir()
    shutil.copy(bundle, desk)
    command = command_of(bundle)
    assert command == ["marginbench", "reproduce", "plain.zip", "@bd_mine.py:Mine", "toy=toy.csv"]
    lacking = typed(reader, *command[1:], cwd=desk)
    assert (lacking.returncode, "no such file" in lacking.stderr) == (2, True)
    shutil.copy(bundle.parent / "toy.csv", desk)
    before = (desk / "plain.zip").read_bytes()
    done = typed(reader, *command[1:], cwd=desk)
    assert done.returncode == 0, done.stdout + done.stderr
    for line in ("verdicts: 2 of 2 hold", "values: 2 of 2 hold"):
        assert line in done.stdout
    assert "other code" not in done.stdout
    assert (desk / "plain.zip").read_bytes() == before
    assert {path.name for path in desk.iterdir()} == {"plain.zip", "toy.csv", "results"}


def test_with_its_data_it_needs_nothing_else_and_nothing_unnamed_is_executed(complete, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shutil.copy(complete, tmp_path)
    command = command_of(complete)
    assert command == ["marginbench", "reproduce", "complete.zip", "@bd_mine.py:Mine"]
    assert main(["reproduce", "complete.zip"]) == 1  # the solver is not named, and so it is not run
    said = capsys.readouterr().out
    assert "there is no solver 'bd_mine.py:Mine' in this installation" in said
    assert "verdicts: 1 of 2 hold, 1 cannot be tested here" in said


def test_a_report_is_made_from_it(complete, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["report", str(complete), "--out", "page"]) == 0
    assert "2 cells" in capsys.readouterr().out
    assert len(pd.read_csv(tmp_path / "page" / "table.csv")) == 2


def test_it_holds_everything_and_describes_every_file(complete):
    with zipfile.ZipFile(complete) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    names = set(files)
    assert {"README.md", "run/run.json", "run/report.html", "run/table.csv", "run/environment.json"} <= names
    patterns = (
        r"run/cells/\w+\.json",
        r"run/solutions/\w+\.npz",
        r"run/sources/\w+/bd_start\.py",
        r"data/\w{16}/toy\.npz",
    )
    for pattern in patterns:
        assert any(re.fullmatch(pattern, name) for name in names), pattern
    about = json.loads(files["run/environment.json"])
    assert about["distributions"]["numpy"]
    assert about["machine"]["processor"]
    assert "marginbench" in about["commits"]
    (source,) = json.loads(files["data/sources.json"])
    assert source["name"] == "toy"
    assert source["included"] in names
    graph = {entity["@id"]: entity for entity in json.loads(files["ro-crate-metadata.json"])["@graph"]}
    assert graph["ro-crate-metadata.json"]["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.1"}
    root = graph["./"]
    assert graph[root["conformsTo"]["@id"]]["@type"] == "CreativeWork"
    assert {"name", "description", "datePublished", "license"} <= set(root)
    assert {unquote(part["@id"]) for part in root["hasPart"]} == names - {"ro-crate-metadata.json"}
    (action,) = (graph[mention["@id"]] for mention in root["mentions"])
    assert action["@type"] == "CreateAction"
    assert graph[action["instrument"]["@id"]]["@type"] == "SoftwareApplication"
    used, results = ({unquote(part["@id"]) for part in action[key]} for key in ("object", "result"))
    assert source["included"] in used
    assert "run/report.html" in results
    assert not used & results
    for name in results | used:
        assert graph[name]["sha256"] == hashlib.sha256(files[name]).hexdigest()


def test_bad_input_is_one_line(bundle, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.zip").write_text("no zip")
    for words in (["bundle"], ["bundle", "nowhere"], ["reproduce", "text.zip"], ["report", "text.zip"], ["show"]):
        assert main(words) == 2
        assert capsys.readouterr().err.count("\n") == 1
    (run,) = (bundle.parent / "results" / "run").glob("2*")
    assert main(["bundle", str(run), "--out", str(bundle)]) == 2
    assert "is there already" in capsys.readouterr().err
    assert main(["bundle", str(run), "--out", str(run / "x.zip")]) == 2
    assert main(["bundle", str(run), "--out", "x.tar"]) == 2


def test_show_prints_one_record_in_full(bundle, tmp_path, capsys):
    out = bundle.parent / "results"
    (run,) = (out / "run").glob("2*")
    record = Store(run).records()[0]
    for words in ([record.hash[:6], str(out)], [record.hash, str(run)], [str(run / "cells" / f"{record.hash}.json")]):
        assert main(["show", *words]) == 0
        text, _, solution = capsys.readouterr().out.rpartition("solution: ")
        shown = json.loads(text)
        assert (shown["hash"], shown["solver"], shown["primal"]) == (record.hash, record.solver, record.primal)
        assert shown["code"] == record.code
        assert Path(solution.strip()).is_file()
    assert main(["show", "ffffffff", str(out)]) == 2
    assert main(["show", "../../etc/passwd", str(out)]) == 2
