"""Resuming serves a record only while the code and the libraries are those that made it, and says why it does not."""

import numpy as np
import pytest
from sample_records import solved

from marginbench.harness.cli import main
from marginbench.harness.records.accident import accident
from marginbench.harness.records.solution import read_solution
from marginbench.harness.records.store import Store, cell_key
from marginbench.harness.running.earlier import Earlier

ASKED, CODE, VERSIONS = "0123456789abcdef", {"solvers/x.py": "1", "harness/cell/verdict.py": "1"}, {"numpy": "2.0"}
SOLVER = """from dataclasses import dataclass
import numpy as np
from marginbench import BoxDual, Iterate, Solver
from {helper} import start


@dataclass(frozen=True)
class Mine(Solver):
    accepts = (BoxDual,)

    def iterates(self, program):
        yield Iterate(np.full(program.n, start), None, "inaccurate")
"""


def stored(folder, **changes):
    record = solved(code=CODE, versions=VERSIONS, **changes)
    record.hash = cell_key(ASKED, record.code, record.versions)
    Store(folder).put(record)
    return record.hash


def test_a_record_of_the_same_code_is_served_and_others_are_counted_with_the_reason(tmp_path):
    key = stored(tmp_path)
    earlier = Earlier([tmp_path])
    assert earlier.find(key, CODE, VERSIONS)[1].status == "solved"
    assert earlier.notes() == []
    for code, versions in ((CODE | {"solvers/x.py": "2"}, VERSIONS), (CODE, {"numpy": "2.1"})):
        assert earlier.find(cell_key(ASKED, code, versions), code, versions) is None
    assert earlier.find(cell_key("f" * 16, CODE, VERSIONS), CODE, VERSIONS) is None  # never asked before
    assert earlier.notes() == [
        "1 record was made by other code: solvers/x.py changed",
        "1 record was made with other versions: numpy 2.0 then, 2.1 now",
    ]


def test_records_that_do_not_say_which_code_made_them_are_counted(tmp_path):
    Store(tmp_path).put(solved(hash="0" * 20))
    earlier = Earlier([tmp_path])
    assert earlier.find("1" * 24, CODE, VERSIONS) is None
    assert earlier.notes() == ["1 record was made by an earlier marginbench, which did not note its code: not used"]


ACCIDENTS = {
    "killed": {"status": "crashed", "message": "ended by SIGKILL", "machine": {"signal": "SIGKILL"}},
    "terminated": {"status": "crashed", "message": "ended by SIGTERM", "machine": {"signal": "SIGTERM"}},
    "full disk": {"status": "failed", "message": "OSError: [Errno 28] No space left on device: '/tmp/x'"},
    "cache": {"status": "failed", "message": f"FileNotFoundError: [Errno 2] No such file: '/c/{'a' * 64}/y.npy'"},
    "data changed": {"status": "invalid", "message": "the data on disk were changed while it ran: its row is void"},
    "marked": {"machine": {"accident": "solvers/x.py changed during the run"}},
}
FAILURES = {
    "segmentation fault": {"status": "crashed", "message": "ended by SIGSEGV", "machine": {"signal": "SIGSEGV"}},
    "its own missing file": {"status": "failed", "message": "FileNotFoundError: [Errno 2] No such file: 'weights.txt'"},
    "timeout": {"status": "timeout", "machine": {"signal": "SIGKILL"}},
    "memory": {"status": "memory", "machine": {"signal": "SIGKILL"}},
    "exception": {"status": "failed", "message": "ValueError: no"},
    "wrong": {"status": "wrong"},
}


@pytest.mark.parametrize("what", ACCIDENTS)
def test_an_accident_is_run_again(what, tmp_path):
    key, earlier = stored(tmp_path, **ACCIDENTS[what]), Earlier([tmp_path])
    assert earlier.find(key, CODE, VERSIONS) is None
    (note,) = earlier.notes()
    assert note.startswith("1 record was run again: ")


@pytest.mark.parametrize("what", FAILURES)
def test_a_failure_of_the_solver_is_not(what, tmp_path):
    key = stored(tmp_path, **FAILURES[what])
    assert Earlier([tmp_path]).find(key, CODE, VERSIONS) is not None
    assert accident(Store(tmp_path).records()[0]) == ""


def test_unreadable_records_of_earlier_runs_are_named_and_nothing_is_written(tmp_path):
    key = stored(tmp_path)
    path = tmp_path / "cells" / f"{key}.json"
    path.write_bytes(path.read_bytes()[:-9])
    earlier = Earlier([tmp_path])
    assert earlier.find(key, CODE, VERSIONS) is None
    assert earlier.notes()[0] == "1 record was unreadable in earlier runs, left where they are:"
    assert "cut short" in earlier.notes()[1]
    assert [str(entry.relative_to(tmp_path)) for entry in tmp_path.rglob("*")] == ["cells", f"cells/{key}.json"]


def test_an_edit_of_what_a_solver_imports_runs_its_cells_again_and_is_said(tmp_path, capsys, monkeypatch):
    (tmp_path / "er_mine.py").write_text(SOLVER.format(helper="er_start"))
    (tmp_path / "er_start.py").write_text("start = 0.1\n")
    run = ["run", f"solver={tmp_path}/er_mine.py:Mine,sdca", "formulation=dual_qp", "dataset=overlapping"]
    run += [
        "dataset.n=40",
        "dataset.d=3",
        "reference=none",
        "budget.iterations=3",
        "keep=solution",
        f"out={tmp_path}/out",
    ]
    main(run)
    main(run)
    assert "2 found in earlier runs" in capsys.readouterr().out
    newest = max((tmp_path / "out" / "run").iterdir())
    assert [p.name for p in sorted(newest.glob("sources/*/*"))] == ["er_mine.py", "er_start.py"]
    for record in Store(newest).records():
        assert record.machine["processor"]
        point = read_solution(newest, record.hash)
        assert point.w.shape == (3,)
        assert np.isfinite(point.alpha).all()
    (tmp_path / "er_start.py").write_text("start = 0.25\n")
    main(run)
    said = capsys.readouterr().out
    assert "1 found in earlier runs" in said
    assert "1 record was made by other code: ./er_start.py changed" in said
