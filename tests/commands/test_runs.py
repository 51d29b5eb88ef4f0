"""Runs have names and say how they ended; a report reads folders and writes into one of its own."""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from marginbench.harness.cli import main
from marginbench.harness.interruption import ended_by_signals, undisturbed
from marginbench.harness.records.run_folder import read_folder, run_folders
from marginbench.harness.records.store import Store

pytestmark = pytest.mark.long

ONE = ["dataset=overlapping", "dataset.n=40", "dataset.d=3", "method=coordinate_descent", "budget.seconds=2"]


def content(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every file below a folder, with the time of its last change."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "table.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def two(tmp_path_factory) -> Path:
    """A folder of results with two runs, `first` and `second`."""
    out = tmp_path_factory.mktemp("results")
    assert main(["run", *ONE, f"out={out}", "name=first"]) == 0
    assert main(["run", *ONE, f"out={out}", "name=second", "problem.C=2,3"]) == 0
    return out


# -- names ---------------------------------------------------------------------------------------------------------


def test_a_run_has_the_name_that_it_was_given_and_the_last_one_is_linked(two):
    assert {path.name for path in (two / "run").iterdir()} == {"first", "second"}
    assert os.readlink(two / "latest") == "run/second"
    assert len(rows(two / "latest")) == 2


def test_a_name_that_is_taken_gets_a_number_and_nothing_is_run_again(tmp_path, capsys):
    for _ in range(2):
        assert main(["run", *ONE, f"out={tmp_path}", "name=mine"]) == 0
    assert "1 found in earlier runs" in capsys.readouterr().out
    assert {path.name for path in (tmp_path / "run").iterdir()} == {"mine", "mine-2"}
    assert os.readlink(tmp_path / "latest") == "run/mine-2"


@pytest.mark.parametrize("name", ["../up", "a/b", ".hidden", "latest", "''", "a b", "x" * 81, "é", "-x", "a,b"])
def test_a_bad_name_is_one_line_before_any_work(name, tmp_path, capsys):
    given = name if name in ("''", "a,b") else f"'{name}'"
    assert main(["run", *ONE, f"out={tmp_path}/new", f"name={given}"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "name" in said.err
    assert not (tmp_path / "new").exists()


def test_what_a_user_keeps_under_the_name_of_the_link_stays(tmp_path):
    (tmp_path / "latest").mkdir()
    assert main(["run", *ONE, f"out={tmp_path}"]) == 0
    assert not (tmp_path / "latest").is_symlink()
    assert not list(tmp_path.glob(".*"))


# -- the list ------------------------------------------------------------------------------------------------------


def test_runs_are_listed_with_date_cells_state_and_size(two, capsys):
    assert main(["runs", str(two)]) == 0
    head, first, second = capsys.readouterr().out.splitlines()
    assert head.split() == ["name", "started", "cells", "state", "size"]
    assert first.split()[0] == "run/first"
    assert second.split()[0] == "run/second"
    assert second.split()[3:5] == ["2", "complete"]
    assert time.strftime("%Y-%m-%d") in second
    assert second.split()[-1] in ("kB", "MB")
    assert main(["runs", f"out={two}"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == first


def test_what_was_ended_from_outside_or_is_damaged_is_listed_too(two, tmp_path, capsys):
    killed = shutil.copytree(two / "run" / "second", tmp_path / "x" / "killed")
    (killed / "state.json").unlink()
    next((killed / "cells").iterdir()).unlink()
    for name, text in (("cut", "{"), ("list", "[]"), ("odd", '{"cells": 3, "started": [], "sources": "x"}')):
        (tmp_path / "x" / name / "cells").mkdir(parents=True)
        (tmp_path / "x" / name / "run.json").write_text(text)
    (tmp_path / "x" / "link").symlink_to(two / "run" / "first")
    found = {run.path.name: (run.cells, run.planned, run.state) for run in run_folders(tmp_path)}
    assert found == {"killed": (1, 2, "unfinished"), **dict.fromkeys(("cut", "list", "odd"), (0, 0, "unfinished"))}
    assert main(["runs", str(tmp_path)]) == 0
    assert "1 of 2" in capsys.readouterr().out


def test_a_run_of_version_0_1_is_complete():
    stored = Path(__file__).resolve().parents[1] / "data" / "v0.1"
    assert (read_folder(stored).state, read_folder(stored).cells) == ("complete", 12)


@pytest.mark.parametrize("words", [["nowhere"], ["a", "b"], ["--all"]])
def test_a_list_of_nothing_is_bad_input(words, capsys):
    assert main(["runs", *words]) == 2
    assert capsys.readouterr().err.count("\n") == 1


# -- reports -------------------------------------------------------------------------------------------------------


def test_a_report_changes_none_of_the_folders_it_reads_and_can_be_reported_again(two, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    before = content(two)
    given = [str(two / "run" / name) for name in ("first", "second")]
    assert main(["report", *given]) == 0
    assert content(two) == before
    (merged,) = (tmp_path / "results" / "report").iterdir()
    assert capsys.readouterr().out.splitlines()[-1] == f"report: {merged.relative_to(tmp_path)}/report.html"
    assert {row["C"] for row in rows(merged)} == {"1.0", "2.0", "3.0"}
    assert json.loads((merged / "run.json").read_text())["sources"] == given
    assert not (tmp_path / "results" / "latest").is_symlink()  # a report is not a run
    shutil.move(merged, tmp_path / "moved")
    assert main(["report", str(tmp_path / "moved"), "--out", "again"]) == 0
    assert (tmp_path / "again" / "table.csv").read_bytes() == (tmp_path / "moved" / "table.csv").read_bytes()
    assert main(["report", given[0], "--out", "again"]) == 0  # a report may be replaced; a run may not
    assert len(Store(tmp_path / "again").records()) == len(rows(tmp_path / "again")) == 1
    assert content(two) == before


def test_a_report_takes_its_references_along(two, tmp_path):
    source = shutil.copytree(two / "run" / "second", tmp_path / "source")
    assert list((source / "references").iterdir())
    assert main(["report", str(source), "--out", str(tmp_path / "new")]) == 0
    kept = {path.name for path in (tmp_path / "new" / "references").iterdir()}
    assert kept == {path.name for path in (source / "references").iterdir()}


def test_a_report_is_never_written_into_a_run(two, capsys):
    first, second = (str(two / "run" / name) for name in ("first", "second"))
    before = content(two)
    for words, said in (
        ([first, second, "--out", first], "is one of the folders to read"),
        ([first, "--out", f"{first}/../first"], "is one of the folders to read"),
        ([first, "--out", second], "holds the results of a run"),
    ):
        assert main(["report", *words]) == 2
        assert said in capsys.readouterr().err
    assert content(two) == before


# -- signals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_ends_a_run_as_ctrl_c_does(number, tmp_path):
    sweep = ["method=coordinate_descent,pegasos", "problem.C=0.1,1,10", "budget.seconds=1", "dataset.n=40"]
    command = [sys.executable, "-m", "marginbench", "run", *sweep, f"out={tmp_path}/out", "name=ended"]
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    run = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {"TMPDIR": str(temporary)}
    )
    while not list(tmp_path.glob("out/*/ended/cells/*.json")):
        time.sleep(0.05)
        assert run.poll() is None
    os.kill(run.pid, number)
    os.kill(run.pid, number)  # a second one does not disturb what is written
    said, errors = run.communicate(timeout=60)
    assert run.returncode == 130, errors
    assert said.splitlines()[-1].startswith("report: ")
    assert "the same command goes on from here" in said
    folder = tmp_path / "out" / "run" / "ended"
    assert 1 <= len(rows(folder)) < 6
    assert read_folder(folder).state == "interrupted"
    assert not list(temporary.iterdir())
    assert not list((tmp_path / "out").rglob(".*"))


def test_signals_take_effect_once_and_after_what_must_not_be_disturbed():
    before, done = signal.getsignal(signal.SIGTERM), []

    def writing() -> None:
        with undisturbed():
            os.kill(os.getpid(), signal.SIGTERM)
            done.append("written")
        done.append("not reached")

    def ending() -> None:
        try:
            os.kill(os.getpid(), signal.SIGHUP)
            time.sleep(5)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
            done.append("written again")

    for command in (writing, ending):
        with pytest.raises(KeyboardInterrupt), ended_by_signals():
            command()
    assert done == ["written", "written again"]
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_signal_that_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with ended_by_signals():
            os.kill(os.getpid(), signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
