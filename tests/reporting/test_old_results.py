"""A results folder of version 0.1, whose records name modules by their old short names, is read as it always was."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from marginbench.harness.cli import main
from marginbench.harness.records.record import ADDED, COLUMNS
from marginbench.harness.records.status import STATUSES
from marginbench.harness.records.store import Store
from marginbench.harness.references.computed import read_bounds
from marginbench.harness.reporting.analysis import analysis
from marginbench.harness.reporting.ratios import BEST
from marginbench.harness.reporting.tables import IDENTITY
from marginbench.harness.reporting.variation import ALWAYS

STORED = Path(__file__).resolve().parents[1] / "data" / "v0.1"


@pytest.fixture
def folder(tmp_path) -> Path:
    return shutil.copytree(STORED, tmp_path / "run")


def test_every_record_and_every_reference_is_read_and_none_is_touched(folder):
    store = Store(folder)
    records = store.records()
    assert (len(records), store.damaged) == (12, {})
    assert {r.status for r in records} == {"solved", "inaccurate", "skipped", "infeasible"} <= set(STATUSES)
    assert all(r.cell["solver"]["_target_"].startswith("solvers.") for r in records)
    found = {key: read_bounds(folder, key) for key in {r.problem for r in records}}
    assert all(bounds is not None for bounds in found.values())
    (impossible,) = {r.problem for r in records if r.status == "infeasible"}
    assert [key for key, bounds in found.items() if bounds.infeasible] == [impossible]
    before = {path.name: path.read_bytes() for path in (STORED / "cells").iterdir()}
    assert {path.name: path.read_bytes() for path in (folder / "cells").iterdir()} == before


def test_its_report_has_all_rows_with_the_numbers_of_then(folder, tmp_path, capsys):
    then = pd.read_csv(folder / "table.csv")
    assert main(["report", str(folder), "--out", str(tmp_path / "new")]) == 0
    assert "12 cells: 5 solved, 4 inaccurate, 2 skipped, 1 infeasible" in capsys.readouterr().out
    now = pd.read_csv(tmp_path / "new" / "table.csv")
    later = [name for names in ADDED.values() for name in names if name in COLUMNS]
    assert set(now.columns.difference(then.columns)) == {*later, *IDENTITY, *ALWAYS}
    assert now[later].isna().all(axis=None)  # what was not measured then is not known now
    pd.testing.assert_frame_equal(now[then.columns], then)
    assert now[["problem", "budget.gap", "budget.seconds"]].notna().all(axis=None)
    page = (tmp_path / "new" / "report.html").read_text()
    assert "A choice between two solvers of BoxDual" in page  # the methods are explained under their old names too
    assert "Updates and Novikoff" in page


def test_methods_are_compared_although_the_records_do_not_say_what_their_solvers_declare(folder):
    records = Store(folder).records()
    assert not any("baseline" in r.info or "peer" in r.info for r in records)
    soft = next(study for study in analysis(records).studies if study.question.name == "soft margin")
    assert (soft.base, soft.question.peers) == ("auto", {"primal_qp"})
    assert BEST in soft.section(soft.accuracy).contest.methods


def test_what_it_says_about_itself_is_readable(folder):
    about = json.loads((folder / "run.json").read_text())
    assert about["versions"]["marginbench"] == "0.1.0"
    assert len(about["cells"]) == 12
