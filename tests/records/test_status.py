"""One table of statuses: everything that groups them reads it."""

import ast
import re
from pathlib import Path
from typing import get_args

import pytest

from marginbench.harness.model.solver import Claim
from marginbench.harness.records.status import RANK, STATUSES, TONES, named, status_of, worst

HARNESS = Path(__file__).resolve().parents[2] / "harness"
TABLE = HARNESS / "records" / "status.py"
MODULES = sorted(path for path in HARNESS.rglob("*.py") if path != TABLE)


def groups_of_statuses(text: str) -> list[list[str]]:
    """Tuples, lists, sets and keys of dictionaries that name two statuses or more; claims share some of the words."""
    found = []
    for node in ast.walk(ast.parse(text)):
        parts = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
        names = [part.value for part in parts if isinstance(part, ast.Constant) and part.value in STATUSES]
        if len(names) > 1 and not set(names) <= set(get_args(Claim)):
            found.append(names)
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_no_other_module_groups_statuses_by_name(path):
    assert groups_of_statuses(path.read_text()) == []


def test_a_group_would_be_found():
    assert groups_of_statuses('BAD = ("wrong", "crashed")') == [["wrong", "crashed"]]
    assert groups_of_statuses('{"solved": 1, "memory": 2}') == [["solved", "memory"]]
    assert len(MODULES) > 50


def test_page_and_script_know_tones_and_no_status():
    folder = HARNESS / "reporting" / "assets"
    style = (folder / "report.css").read_text()
    assert set(re.findall(r"\.tone-(\w+)", style)) == set(TONES)
    names = sorted(path.name for path in folder.iterdir())
    assert {"report.css", "charts.js", "report.html.j2"} <= set(names)
    for name in names:
        text = (folder / name).read_text()
        assert not [s for s in STATUSES if re.search(rf"""["'.-]{s}["']|\.s-{s}""", text) and s != "solved"], name


def test_every_row_can_be_drawn_and_told_apart():
    assert {status.tone for status in STATUSES.values()} == set(TONES)
    assert len({status.sign for status in STATUSES.values()}) == len(STATUSES)
    assert all(len(status.sign) == 1 and status.meaning for status in STATUSES.values())


def test_the_design_decides_which_statuses_are_bad():
    assert set(named(bad=True)) == {"wrong", "crashed", "failed", "invalid"}
    assert set(named(success=True)) == {"solved", "infeasible", "unbounded"}
    assert set(named(ran=False)) == {"skipped", "not_installed"}


def test_no_status_is_two_things_at_once():
    for status in STATUSES.values():
        assert not (status.success and (status.bad or not status.ran or status.broke))
        assert not status.no_solution or status.success


def test_the_worst_status_stands_for_several():
    assert worst(["solved", "crashed", "timeout"]) == "crashed"
    assert worst(["solved", "skipped"]) == "skipped"
    bad, good = named(bad=True), named(success=True)
    assert min(RANK[name] for name in bad) > max(RANK[name] for name in STATUSES if name not in bad)
    assert max(RANK[name] for name in good) < min(RANK[name] for name in STATUSES if name not in good)


def test_a_status_of_another_version_is_shown_and_counts_for_nothing():
    other = status_of("excellent")
    assert (other.name, other.success, other.bad) == ("excellent", False, False)
    assert worst(["excellent", "solved"]) == "solved"
