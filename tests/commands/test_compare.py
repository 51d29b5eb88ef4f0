"""`marginbench compare A B`: what changed in verdict, value and time, and the exit code of a regression check."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from marginbench.harness.cli import main
from marginbench.harness.records.record import SCHEMA, Record
from marginbench.harness.records.store import Store

STORED = Path(__file__).resolve().parents[1] / "data" / "repeated"


def changed(folder: Path, change: Callable[[Record], Record | None]) -> str:
    """A run like the stored one, with `change` made to every record; None leaves it out."""
    folder.mkdir(parents=True)
    store = Store(folder)
    for r in Store(STORED).records():
        if (now := change(r)) is not None:
            store.put(replace(now, schema=SCHEMA))
    return str(folder)


def slower(method: str, factor: float) -> Callable[[Record], Record]:
    def change(r: Record) -> Record:
        if r.method != method:
            return r
        curve = [entry | {"seconds": factor * entry["seconds"]} for entry in r.curve]
        return replace(r, solve_seconds=factor * r.solve_seconds, build_seconds=factor * r.build_seconds, curve=curve)

    return change


def compare(*words: str) -> int:
    return main(["compare", *words])


def test_a_run_compared_with_itself_has_no_change(tmp_path, capsys):
    code = compare(str(STORED), str(STORED), "--fail-if", "slower 1, cell slower 1, wrong, unsolved, missing")
    said = capsys.readouterr().out
    assert code == 0
    assert "9 cells in both, 0 only in A, 0 only in B" in said
    assert said.count("no difference") == 3
    assert "changed" not in said
    assert max(map(len, said.splitlines()[2:])) <= 80


def test_a_slower_method_is_found_and_makes_the_exit_code(tmp_path, capsys):
    now = changed(tmp_path / "b", slower("auto", 30.0))
    file = tmp_path / "changes.json"
    assert compare(str(STORED), now, "--fail-if", "slower 1.2", "--json", str(file)) == 1
    said = capsys.readouterr().out
    assert "slower 1.2: auto: B took 30 times as long" in said
    assert compare(str(STORED), now, "--fail-if", "slower 1000, wrong") == 0
    assert compare(str(STORED), now) == 0  # without a condition it only tells
    assert compare(now, str(STORED), "--fail-if", "slower 1.2") == 0  # faster is no regression
    assert compare(str(STORED), now, "--fail-if", "cell slower 3", "--accuracy", "1e-3") == 1
    found = json.loads(file.read_text())
    by = {m["method"]: m for m in found["methods"]}
    assert by["auto"]["ratio"] == pytest.approx(30.0)
    assert by["auto"]["over_problems"] == pytest.approx([30.0, 30.0])
    assert by["auto"]["from_timing"][0] < 30.0 < by["auto"]["from_timing"][1]
    assert by["primal_qp"]["ratio"] == pytest.approx(1.0)
    assert [f["condition"] for f in found["fails"]] == ["slower 1.2"]


def test_verdicts_values_and_missing_cells_are_told(tmp_path, capsys):
    def change(r: Record) -> Record | None:
        if r.method == "auto" and r.dataset == "separable":
            return replace(r, status="timeout", message="too late")
        if r.method == "primal_qp" and r.dataset == "separable":
            return replace(r, status="wrong")
        if r.method == "coordinate_descent" and r.dataset == "overlapping":
            return replace(r, primal=0.5 * r.dual)  # below what A proved
        return None if r.method == "coordinate_descent" and r.dataset == "separable" else r

    now = changed(tmp_path / "b", change)
    said = {}
    for condition, code in (("unsolved", 1), ("wrong", 1), ("missing", 1), ("slower 1000", 0)):
        assert compare(str(STORED), now, "--fail-if", condition) == code
        said[condition] = capsys.readouterr().out
    assert "verdicts that changed (2)" in said["missing"]
    assert "separable, C = 1, bias none, auto: solved -> timeout" in said["missing"]
    assert "8 cells in both, 1 only in A, 0 only in B" in said["missing"]
    assert "values that contradict each other (1)" in said["missing"]
    assert said["wrong"].count("wrong: ") == 2  # the wrong cell, and the contradiction
    assert "unsolved: separable, C = 1, bias none, auto" in said["unsolved"]


def test_cells_are_matched_by_what_was_asked_whatever_code_answered(tmp_path, capsys):
    def other_code(r: Record) -> Record:
        return replace(r, hash=r.hash[::-1], code={"solvers/auto.py": "changed"})

    assert compare(str(STORED), changed(tmp_path / "b", other_code)) == 0
    assert "9 cells in both" in capsys.readouterr().out

    def new_option(r: Record) -> Record:
        return replace(r, hash=r.hash[::-1], cell=r.cell | {"solver": r.cell["solver"] | {"added": 1}})

    assert compare(str(STORED), changed(tmp_path / "c", new_option)) == 0
    assert "9 cells in both" in capsys.readouterr().out


def test_two_versions_of_a_solver_under_two_names(capsys):
    assert compare(f"{STORED}:auto", f"{STORED}:coordinate_descent") == 0
    said = capsys.readouterr().out
    assert "3 cells in both" in said
    assert "auto ->" in said


def test_runs_are_found_by_name_and_latest(tmp_path, capsys):
    root = tmp_path / "results"
    shutil.copytree(STORED, root / "mine" / "old")
    shutil.copytree(STORED, root / "mine" / "new")
    (root / "latest").symlink_to("mine/new")
    assert compare("old", "latest", "--results", str(root)) == 0
    assert compare("mine/old", "new:auto", "--results", str(root)) == 0
    assert "3 cells in both, 6 only in A" in capsys.readouterr().out


def test_times_of_different_machines_are_compared_in_passes(tmp_path, capsys):
    def twice_as_slow(r: Record) -> Record:
        elsewhere = r.machine | {"processor": "another"}
        r = slower(r.method, 2.0)(r)
        return replace(r, machine=elsewhere, pass_seconds=2.0 * r.pass_seconds)

    now = changed(tmp_path / "b", twice_as_slow)
    assert compare(str(STORED), now, "--fail-if", "slower 1.05") == 0
    assert "as asked, passes" in capsys.readouterr().out
    assert compare(str(STORED), now, "--clock", "wall", "--fail-if", "cell slower 1000") == 0
    assert "as asked, wall time" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "give two runs, A and B"),
        (["nowhere", "nowhere"], "compare nowhere: no such folder, bundle or run below results"),
        ([str(STORED), str(STORED), "--fail-if", "slower"], "--fail-if slower: possible are `slower R`"),
        ([str(STORED), str(STORED), "--fail-if", "slower 0.5"], "a ratio R of at least 1"),
        ([str(STORED), str(STORED), "--accuracy", "0.5"], "--accuracy 0.5: possible are 1e-2, 1e-3"),
        ([str(STORED), str(STORED), "--clock", "sun"], "--clock sun: possible are wall, cpu, passes"),
        ([f"{STORED}:none", str(STORED)], "there is no method none; possible are auto, coordinate_descent, primal_qp"),
    ],
)
def test_bad_input_is_one_line_before_any_work(words, said, capsys):
    assert compare(*words) == 2
    error = capsys.readouterr().err
    assert said in error
    assert len(error.splitlines()) == 1
