"""Isolation: whatever a cell does, its row says so in time, and its neighbours do not notice."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import faulty
import numpy as np
import pytest
import scipy.sparse as sp

from marginbench.harness.cell.run import run_cell
from marginbench.harness.cell.spec import Cell
from marginbench.harness.errors import StoreError
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.model.problem import Problem
from marginbench.harness.records.record import Record
from marginbench.harness.running import isolation as isolate
from marginbench.harness.running.cell_job import Order
from marginbench.harness.running.isolation import Isolation
from marginbench.harness.running.job import Job, Limits
from marginbench.harness.running.mapped_data import open_data, spill
from marginbench.harness.running.result import cause

LIMITS = Limits(seconds=10.0, memory_mb=300.0)
SHORT = Limits(seconds=1.0, memory_mb=300.0)
TOKEN = f"marginbench-test-{os.getpid()}-{time.monotonic_ns()}"
DUAL = {"_target_": "marginbench.harness.formulations.dual_qp.DualQP"}

STATUS = {
    "right": ("solved", ""),
    "raise": ("failed", "AttributeError: 'BoxDual' object has no attribute 'no_such_thing'"),
    "segfault": ("crashed", "SIGSEGV"),
    "abort": ("crashed", "SIGABRT"),
    "exit": ("failed", "exit code 3"),
    "exit_as_if_well": ("failed", "exit code 0 and without an answer"),
    "sys_exit": ("failed", "SystemExit: 7"),
    "hang_python": ("timeout", "limit of 1 s"),
    "hang_kernel": ("timeout", "limit of 1 s"),
    "ignore_sigterm": ("timeout", "limit of 1 s"),
    "fork_and_hang": ("timeout", "limit of 1 s"),
    "leave_a_child": ("solved", ""),
    "allocate": ("memory", "MemoryError"),
    "nan": ("invalid", "NaN"),
    "inf": ("invalid", "infinite"),
    "none": ("invalid", "nothing"),
    "wrong_shape": ("invalid", "shape"),
    "text": ("invalid", ""),
    "complex": ("invalid", "complex"),
    "integer": ("solved", ""),
    "read_only": ("solved", ""),
    "lie_zeros": ("wrong", "claimed convergence"),
    "alpha_outside": ("wrong", "infeasible"),
    "megabyte_stdout": ("solved", ""),
    "change_random_state": ("solved", ""),
    "change_data": ("failed", "read-only"),
    "change_data_in_c": ("crashed", "SIGSEGV"),
    "late": ("timeout", "budget"),
    "stop_without_iterate": ("invalid", "without a single iterate"),
    "forge_an_answer": ("failed", "cannot be read"),
    "close_everything": ("failed", "without an answer"),
    "kill_parent": ("crashed", "the solver killed its parent process"),
    "warm_up_crashes": ("crashed", "SIGSEGV"),
    "warm_up_hangs": ("timeout", "limit of 1 s"),
    "warm_up_starts_a_thread": ("solved", ""),
}


def cell(mode: str, **changes) -> Cell:
    solver = {"_target_": "faulty.Faulty", "mode": mode}
    settings = {
        "dataset": {},
        "problem": {"C": 1.0, "bias": "none"},
        "formulation": DUAL,
        "solver": solver,
        "dataset_name": "short rows",
        "formulation_name": "dual_qp",
        "solver_name": "faulty",
        "budget": {"seconds": faulty.LATE / 2.0, "gap": 1e-9},
    }
    return Cell(**settings | changes)


def descent(**changes) -> Cell:
    target = "marginbench.solvers.coordinate_descent.solver.CoordinateDescent"
    return cell("", solver={"_target_": target, "seed": 3}, solver_name="coordinate_descent", seed=3, **changes)


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    """Rows so short that every margin stays below 1: alpha = upper is the optimum."""
    rng = np.random.default_rng(0)
    X = 0.02 * rng.normal(size=(40, 3))
    return spill(X, np.where(X[:, 0] > 0, 1.0, -1.0), "short", tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def isolation():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MARGINBENCH_TEST", TOKEN)
        with Isolation() as isolation:
            yield isolation
    assert until(lambda: not descendants(TOKEN), 3.0)


def descendants(token: str) -> set[int]:
    """Processes that were started, however indirectly, with this token in their environment."""
    found = set()
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and token.encode() in (entry / "environ").read_bytes():
                found.add(int(entry.name))
        except OSError:
            continue
    return found


def until(condition, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


def test_a_ladder_ended_in_a_later_rung_keeps_what_the_earlier_ones_showed(isolation, data):
    stuck = cell("", solver={"_target_": "faulty.Stuck"})
    record = isolation.run(stuck, data, "d", None, SHORT).record
    assert (record.status, record.message) == ("timeout", "ended by the limit of 1 s")
    assert [entry["gap"] for entry in record.curve] == pytest.approx([0.5], rel=0.1)
    assert record.gap == record.curve[0]["gap"]
    assert record.info["restarts"]
    assert isolation.run(cell("hang_kernel"), data, "d", None, SHORT).record.curve == []  # of nobody else


@pytest.mark.parametrize("mode", STATUS)
def test_each_fault_has_its_status_in_time(mode, isolation, data, tmp_path, monkeypatch):
    isolation.run(cell("right"), data, "d", None, LIMITS)  # starting and warming are not what is timed here
    monkeypatch.setattr(isolate, "STARTUP_SECONDS", 1.0)
    start = time.monotonic()
    status, words = STATUS[mode]
    limits = SHORT if "limit" in words else LIMITS
    ended = isolation.run(cell(mode), data, "d", None, limits, tmp_path / "logs" / "cell.log")
    took = time.monotonic() - start
    record = ended.record
    assert record.status == status, record.message
    assert words in record.message
    assert "\n" not in record.message
    assert took < limits.seconds + 2.0
    assert (record.n, record.d, record.C, record.bias) == (40, 3, 1.0, "none")
    assert (record.dataset, record.solver, record.cell["solver"]["mode"]) == ("short rows", "faulty", mode)
    assert (ended.point is not None) == (status in ("solved", "wrong") or mode == "late")
    isolation._cold.clear()


def test_every_mode_is_tested():
    assert {*faulty.DEEDS, *faulty.ANSWERS, *faulty.WARM_UPS, "right", "stop_without_iterate"} == set(STATUS)


def without_times(record: Record) -> dict:
    """All of a record that depends on nothing but the cell."""
    return _timeless(record.to_dict()) | {"curve": [_timeless(entry) for entry in record.curve]}


def _timeless(values: dict) -> dict:
    return {k: v for k, v in values.items() if "seconds" not in k and k not in ("passes", "peak_mb", "machine")}


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_neighbours_of_faults_are_unchanged_to_the_last_digit(layout, isolation, data, tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 4)) * (rng.random((60, 4)) < 0.7)
    y = np.where(X @ rng.normal(size=4) + 0.5 * rng.normal(size=60) > 0, 1.0, -1.0)
    path, known = spill(layout(X), y, "noisy", tmp_path), Bounds(lower=0.0)
    judged = descent(budget={"seconds": 5.0, "gap": 1e-9})
    alone = run_cell(judged, *open_data(path), "d", known)
    assert alone.record.status == "solved"
    for mode in ("segfault", "change_random_state", "kill_parent", "change_data_in_c", "megabyte_stdout"):
        isolation.run(cell(mode), data, "d", None, LIMITS)
        beside = isolation.run(judged, path, "d", known, Limits(20.0, 1000.0))
        assert without_times(beside.record) == without_times(alone.record)
        for ours, theirs in zip(beside.point, alone.point, strict=True):
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(("module", "least"), [("marginbench.solvers.idle", 600.0), ("faulty", 3.0)])
def test_only_own_solvers_may_warm_up_beyond_their_limit(module, least, isolation, monkeypatch):
    """On a busy machine with nothing compiled `auto` took three minutes, and then was ended in each cell."""
    given = []
    monkeypatch.setattr(isolate.Parent, "warm_up", lambda parent, job, seconds: given.append(seconds) or 1)
    isolation._parent(Job("", (), Limits(seconds=3.0, memory_mb=300.0), module=module))
    assert given == [least]


def test_what_a_solver_prints_goes_to_the_log_and_not_to_the_terminal(isolation, data, tmp_path, capfd):
    log = tmp_path / "logs" / "cell.log"
    record = isolation.run(cell("megabyte_stdout"), data, "d", None, LIMITS, log).record
    assert record.machine["log"] == "logs/cell.log"
    assert 2**17 < log.stat().st_size < 2**19
    assert "bytes more]" in log.read_text()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("mode", "trace"), [("raise", "no_such_thing"), ("segfault", "in segfault"), ("right", None)])
def test_the_log_has_the_traceback(mode, trace, isolation, data, tmp_path):
    record = isolation.run(cell(mode), data, "d", None, LIMITS, tmp_path / "cell.log").record
    if trace is None:
        assert "log" not in record.machine
        assert not (tmp_path / "cell.log").exists()
    else:
        assert trace in (tmp_path / "cell.log").read_text()


def test_the_record_says_what_was_enforced_and_used(isolation, data):
    record = isolation.run(cell("right"), data, "d", None, LIMITS).record
    machine = record.machine
    assert machine["memory_limit"] == "RLIMIT_AS"
    assert set(machine["cpus"]) <= os.sched_getaffinity(0)
    assert len(machine["cpus"]) <= 1  # none where others have claimed them all
    assert set(machine["threads"].values()) == {1}
    assert record.peak_mb > 20.0
    assert machine["process_cpu_seconds"] > 0.0
    assert machine["minor_faults"] > 0
    assert (machine["signal"], machine["exit_code"]) == ("", 0)
    crashed = isolation.run(cell("segfault"), data, "d", None, LIMITS).record
    assert crashed.machine["signal"] == "SIGSEGV"
    assert isolation.run(cell("exit"), data, "d", None, LIMITS).record.machine["exit_code"] == 3


@pytest.mark.parametrize("code", [-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGKILL])
def test_a_crash_at_the_memory_limit_is_called_memory(code, data):
    job = Order(cell("right"), data, "d", None, LIMITS).solver_job()
    report = {"late": False, "exit_code": code, "out_of_memory": False, "base_mb": 100.0, "peak_mb": 150.0}
    assert cause(job, report, b"")[0] == "crashed"
    assert cause(job, report, b"what():  std::bad_alloc")[0] == "memory"
    assert cause(job, report | {"peak_mb": 390.0}, b"")[0] == "memory"
    assert cause(job, report | {"out_of_memory": True}, b"")[0] == "memory"


def test_a_cell_leaves_no_process_behind(isolation, data):
    isolation.run(cell("right"), data, "d", None, LIMITS)
    before = descendants(TOKEN)
    assert len(before) >= 2
    for mode in ("leave_a_child", "fork_and_hang"):
        isolation.run(cell(mode), data, "d", None, SHORT)
        assert descendants(TOKEN) == before


def test_an_interrupted_cell_is_ended_and_the_next_one_runs(isolation, data):
    def interrupt(*_):
        raise KeyboardInterrupt

    isolation.run(cell("right"), data, "d", None, LIMITS)
    before = descendants(TOKEN)
    handler = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(KeyboardInterrupt):
            isolation.run(cell("fork_and_hang"), data, "d", None, Limits(60.0, 300.0))
    finally:
        signal.signal(signal.SIGALRM, handler)
    assert until(
        lambda: len(descendants(TOKEN)) == len(before) - 2, 3.0
    )  # with the cell, its parent and that of the judges
    assert isolation.run(cell("right"), data, "d", None, LIMITS).record.status == "solved"


@pytest.mark.parametrize("above", ["root", "parent"])
def test_cells_go_on_when_the_processes_above_them_are_killed(above, isolation, data):
    isolation.run(cell("right"), data, "d", None, LIMITS)
    os.kill(isolation._root.pid if above == "root" else isolation._parents["faulty.Faulty"].pid, signal.SIGKILL)
    time.sleep(0.2)
    assert isolation.run(cell("right"), data, "d", None, LIMITS).record.status == "solved"


def test_a_harness_that_cannot_start_processes_says_why(data, monkeypatch):
    monkeypatch.setattr(sys, "path", ["/nowhere"])
    with Isolation() as isolation, pytest.raises(OSError, match="No module named"):
        isolation.run(cell("right"), data, "d", None, LIMITS)


DRIVER = """
import sys
from pathlib import Path
from test_isolation import cell
from marginbench.harness.running.isolation import Isolation
from marginbench.harness.running.job import Limits
with Isolation() as isolation:
    isolation.run(cell("right"), Path(sys.argv[1]), "d", None, Limits(60.0, 300.0))
    print("running", flush=True)
    isolation.run(cell(sys.argv[2]), Path(sys.argv[1]), "d", None, Limits(60.0, 300.0))
"""


@pytest.mark.parametrize("mode", ["fork_and_hang", "warm_up_hangs"])
def test_nobody_outlives_a_killed_harness(mode, data):
    token = f"marginbench-test-{os.getpid()}-{time.monotonic_ns()}"
    command = [sys.executable, "-c", DRIVER, str(data), mode]
    here = Path(__file__).resolve().parent
    places = os.pathsep.join([str(here), str(here.parent / "helpers")])
    environment = os.environ | {"MARGINBENCH_TEST": token, "PYTHONPATH": places}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as driver:
        assert driver.stdout is not None
        assert driver.stdout.readline() == b"running\n"
        assert until(lambda: len(descendants(token)) >= (6 if mode == "fork_and_hang" else 3), 10.0)
        time.sleep(0.1)
        driver.kill()
    assert until(lambda: not descendants(token), 4.0)


# -- data on disk -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_data_come_back_read_only_and_uncopied(layout, tmp_path):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(9, 5)) * (rng.random((9, 5)) < 0.5)
    y = np.where(rng.random(9) < 0.5, 1.0, -1.0)
    path = spill(layout(X), y, "abc", tmp_path)
    assert spill(layout(X), y, "abc", tmp_path) == path
    assert list(tmp_path.iterdir()) == [path]
    Z, z = open_data(path)
    np.testing.assert_array_equal(Z.toarray() if sp.issparse(Z) else Z, X)
    np.testing.assert_array_equal(z, y)
    problem = Problem(Z, z)
    arrays = lambda X: (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)  # noqa: E731
    for array, mapped in zip(arrays(problem.X), arrays(Z), strict=True):
        assert type(array) is np.ndarray
        assert np.shares_memory(array, mapped)
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0


def test_data_that_cannot_be_written_are_named():
    with pytest.raises(StoreError, match="/proc/marginbench/abc"):
        spill(np.eye(2), np.array([1.0, -1.0]), "abc", Path("/proc/marginbench"))


def test_an_empty_matrix_can_be_spilled(tmp_path):
    X, _ = open_data(spill(sp.csr_array((4, 3)), np.array([1.0, -1.0, 1.0, -1.0]), "empty", tmp_path))
    assert X.shape == (4, 3)
    assert X.nnz == 0
