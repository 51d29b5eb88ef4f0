"""`reproduce` runs stored cells again and compares; a stranger's folder makes it execute and open nothing."""

from dataclasses import replace
from pathlib import Path

import pytest

from marginbench.harness.cli import main
from marginbench.harness.records.record import Record
from marginbench.harness.records.store import Store
from marginbench.harness.running.reproduction import Rerun, cell_again, compare, rankings

RUN = ["dataset=overlapping", "dataset.n=60", "dataset.d=4", "method=coordinate_descent", "budget.seconds=5"]

CD = "marginbench.solvers.coordinate_descent.solver.CoordinateDescent"


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("then")
    assert main(["run", *RUN, f"out={out}"]) == 0
    return next(out.glob("run/*"))


def local(group: str, name: str):
    """A small installation."""
    return {
        ("solver", "coordinate_descent"): {
            "_target_": CD,
            "seed": 0,
        },
        ("formulation", "dual_qp"): {"_target_": "marginbench.harness.formulations.dual_qp.DualQP"},
        ("dataset", "overlapping"): {"_target_": "marginbench.datasets.generators.overlapping", "n": 1000, "d": 20},
        ("dataset", "file"): {"_target_": "marginbench.datasets.files.file", "path": "???"},
    }.get((group, name))


def test_the_same_cells_give_the_same_verdicts(run_folder, tmp_path, capsys):
    assert main(["reproduce", str(run_folder), "--out", str(tmp_path)]) == 0
    assert "1 of 1 verdicts and values hold" in capsys.readouterr().out


def test_a_record_that_says_otherwise_does_not_hold(run_folder, tmp_path, capsys):
    forged = Store(run_folder).records()[0]
    forged.status = "wrong"
    Store(tmp_path / "forged").put(forged)
    assert main(["reproduce", str(tmp_path / "forged"), "--out", str(tmp_path / "now")]) == 1
    assert "was wrong, is solved" in capsys.readouterr().out


class TestStrangers:
    @pytest.fixture
    def record(self, run_folder) -> Record:
        return Store(run_folder).records()[0]

    def test_targets_are_those_of_this_installation_and_settings_are_plain(self, record):
        record.cell["solver"] = {"_target_": "os.system", "command": "touch owned", "seed": 7}
        record.cell["dataset"] |= {"_target_": "builtins.exec", "n": 50, "d": {"_target_": "os.abort"}}
        cell = cell_again(record, local, {})
        assert cell.solver == {"_target_": CD, "seed": 7}
        assert cell.dataset == {"_target_": "marginbench.datasets.generators.overlapping", "n": 50, "d": 20}

    def test_no_file_is_opened_that_the_user_did_not_name(self, record):
        record.dataset, record.cell["dataset"] = (
            "secrets",
            {"_target_": "datasets.files.file", "path": "/etc/passwd"},
        )
        assert "give it as secrets=FILE" in cell_again(record, local, {})
        assert cell_again(record, local, {"secrets": "mine.csv"}).dataset["path"] == "mine.csv"

    def test_what_this_installation_lacks_is_named(self, record):
        record.solver = "../../evil"
        assert cell_again(record, local, {}) == "there is no solver '../../evil' in this installation"

    @pytest.mark.parametrize("nonsense", [None, 3, "text", [1], {}])
    def test_a_cell_of_nonsense_breaks_nothing(self, record, nonsense):
        for part in ("dataset", "solver", "formulation", "problem", "budget", "limits"):
            record.cell[part] = nonsense
        assert cell_again(record, local, {}).dataset["n"] == 1000


def test_values_hold_while_their_enclosures_meet():
    then = Record(status="solved", problem="p", primal=1.0, dual=0.9)
    assert compare(then, replace(then, primal=0.95, dual=0.94)).holds
    apart = compare(then, replace(then, primal=0.8, dual=0.7))
    assert not apart.holds
    assert "exclude each other" in apart.note
    assert "data are not the same" in compare(then, replace(then, problem="q")).note
    assert not compare(then, None).holds


def test_a_ranking_changes_only_when_both_runs_saw_a_clear_difference():
    def pair(solver: str, then: float, now: float) -> Rerun:
        record = Record(solver=solver, status="solved", solve_seconds=then)
        return Rerun(record, replace(record, solve_seconds=now))

    assert len(rankings([pair("a", 1.0, 3.0), pair("b", 3.0, 1.0)])) == 1
    assert not rankings([pair("a", 1.0, 1.5), pair("b", 3.0, 1.0)])
    assert not rankings([pair("a", 1.0, 1.0), pair("b", 3.0, 3.0)])
