"""The code behind a result: every file that can change it is in the fingerprint, and no other."""

import sys
import time

import pytest

from marginbench.harness.running.fingerprint import changed_code, changed_versions, code_of, own_files, versions_of
from marginbench.solvers.osqp_qp import OsqpQp

DUAL = "marginbench.harness.formulations.dual_qp.DualQP"
CD = "marginbench.solvers.coordinate_descent.solver.CoordinateDescent"


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A folder of the user's own: a solver, a module that it imports inside a function, a package, a stranger."""
    (tmp_path / "fp_mine.py").write_text(
        "from marginbench import Solver\n\ndef f():\n    import fp_helper\n\nfrom fp_pack import (\n    part,\n)\n"
    )
    (tmp_path / "fp_helper.py").write_text("x = 1\n")
    (tmp_path / "fp_stranger.py").write_text("x = 1\n")
    pack = tmp_path / "fp_pack"
    pack.mkdir()
    (pack / "__init__.py").write_text("")
    (pack / "part.py").write_text("from . import other\nfrom ..fp_helper import x\n")
    (pack / "other.py").write_text("from marginbench.solvers import pegasos\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_the_code_of_a_cell_is_solver_formulation_measuring_judging_and_row_operations():
    code = code_of([CD, DUAL])
    for name in (
        *("solvers/coordinate_descent/solver.py", "solvers/coordinate_descent/sweeps.py"),
        *("harness/formulations/dual_qp.py", "harness/formulations/common.py", "harness/rowops/rows.py"),
        *(
            "harness/cell/measure.py",
            "harness/cell/certificate.py",
            "harness/cell/verdict.py",
            "harness/model/problem.py",
        ),
        *("harness/running/judge.py", "harness/running/outcome.py"),
    ):
        assert len(code[name]) == 12, name
    for name in code:
        assert not name.startswith(("harness/reporting", "harness/commands", "harness/records", "solvers/pegasos"))
    assert "harness/formulations/tikhonov.py" not in code


def test_a_choice_between_solvers_has_the_code_of_both():
    code = code_of(["marginbench.solvers.auto.Auto", DUAL])
    assert {"solvers/auto.py", "solvers/newton/systems.py", "solvers/coordinate_descent/descent.py"} <= set(code)


def test_what_a_users_solver_imports_from_its_own_folder_counts(own):
    code = code_of(["fp_mine.M", DUAL])
    mine = {name for name in code if name.startswith("./")}
    assert mine == {
        "./fp_mine.py",
        "./fp_helper.py",
        "./fp_pack/__init__.py",
        "./fp_pack/part.py",
        "./fp_pack/other.py",
    }
    assert "solvers/pegasos.py" in code
    assert set(own_files("fp_mine.M")) == mine
    assert "fp_mine" not in sys.modules  # nothing was executed


def test_a_change_of_any_of_its_files_changes_the_code_and_is_named(own):
    before = code_of(["fp_mine.M", DUAL])
    assert code_of(["fp_mine.M", DUAL]) == before
    time.sleep(0.01)
    (own / "fp_helper.py").write_text("x = 2\n")
    after = code_of(["fp_mine.M", DUAL])
    assert changed_code(before, after) == "./fp_helper.py changed"
    (own / "fp_stranger.py").write_text("x = 3\n")
    assert code_of(["fp_mine.M", DUAL]) == after


def test_a_source_that_is_no_python_is_still_a_file(own):
    (own / "fp_mine.py").write_text("def (\n")
    assert len(code_of(["fp_mine.M"])["./fp_mine.py"]) == 12


def test_versions_are_those_of_the_library_and_of_what_everything_runs_on():
    found = versions_of(OsqpQp())
    assert set(found) == {"osqp", "numpy", "scipy", "numba", "Python"}
    assert changed_versions({"numpy": "1"}, {"numpy": "2"}) == "numpy 1 then, 2 now"
    assert changed_versions(found, found) == ""


def test_what_a_solver_does_is_named_before_the_rest():
    then = dict.fromkeys(["harness/a.py", "harness/b.py", "harness/c.py", "solvers/x.py", "./mine.py"], "1")
    assert changed_code(then, {}) == "./mine.py, solvers/x.py, harness/a.py and 2 more changed"
