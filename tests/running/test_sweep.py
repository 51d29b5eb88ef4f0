"""A sweep that is killed or interrupted loses nothing that had finished, and the same command completes it."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sample_records import solved
from timeless import timeless_rows

from marginbench.harness.cell.spec import Cell
from marginbench.harness.cli import main
from marginbench.harness.records.store import Store
from marginbench.harness.running.chunk_log import ChunkLog
from marginbench.harness.running.driver import Driver
from marginbench.harness.running.planning import Planned
from marginbench.harness.running.progress import Progress
from marginbench.harness.running.runner import Runner, Settings
from marginbench.harness.running.worker import Worker

SWEEP = [
    "dataset=overlapping",
    "dataset.n=60",
    "dataset.d=4",
    "method=coordinate_descent,sdca,perceptron",
    "problem.C=0.1,1",
    "problem.bias=none,augmented",
    "budget.seconds=60",
    "budget.iterations=300",
]


def start(out: Path) -> subprocess.Popen:
    """As from a terminal: in a group of its own, and with an ear for Ctrl-C even when the tests have none."""
    ear = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)"
    command = [
        sys.executable,
        "-c",
        f"{ear}; from marginbench.__main__ import main; sys.exit(main())",
        "run",
        *SWEEP,
    ]
    return subprocess.Popen(
        [*command, f"out={out}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def newest_table(out: Path) -> list[dict[str, str]]:
    """The last table, without what depends on the clock."""
    return timeless_rows(max(out.glob("*/*/table.csv")))


def descendants(mark: str) -> list[int]:
    """Processes whose command line or environment has the mark."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if mark.encode() in (entry / "environ").read_bytes() and (entry / "stat").read_text().split()[2] != "Z":
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


@pytest.mark.long
def test_killed_at_twenty_random_moments_a_sweep_ends_as_if_it_had_not_been(tmp_path, monkeypatch):
    """kill -9: every finished cell stays readable, no process is left, and resuming gives the same table."""
    begin = time.monotonic()
    start(tmp_path / "whole").communicate()
    seconds = time.monotonic() - begin
    whole = newest_table(tmp_path / "whole")
    assert len(whole) == 10
    mark = f"sweep-of-{os.getpid()}"
    monkeypatch.setenv("MARGINBENCH_TEST_MARK", mark)
    rng, out = random.Random(0), tmp_path / "killed"
    finished: set[str] = set()
    for _ in range(20):
        sweep = start(out)
        time.sleep(rng.uniform(0.0, seconds))
        os.killpg(sweep.pid, signal.SIGKILL)
        sweep.communicate()
        stores = [Store(folder) for folder in out.glob("*/*")]
        kept = {record.hash for store in stores for record in store.records()}
        assert not any(store.damaged for store in stores)
        assert finished <= kept
        finished = kept
    for _ in range(50):
        if not (left := descendants(mark)):
            break
        time.sleep(0.1)
    assert not left
    assert main(["run", *SWEEP, f"out={out}"]) == 0
    assert newest_table(out) == whole


def test_the_same_configuration_gives_the_same_bits(tmp_path):
    few = [*SWEEP, "method=coordinate_descent,pegasos", "problem.C=1"]
    for name in ("a", "b"):
        assert main(["run", *few, f"out={tmp_path / name}"]) == 0
    assert newest_table(tmp_path / "a") == newest_table(tmp_path / "b")


def test_an_interrupt_writes_the_report_of_what_exists_and_says_how_to_go_on(tmp_path):
    sweep = start(tmp_path)
    while not list(tmp_path.glob("*/*/cells/*.json")):
        time.sleep(0.05)
        assert sweep.poll() is None
    os.kill(sweep.pid, signal.SIGINT)
    said, _ = sweep.communicate(timeout=60)
    assert sweep.returncode == 130
    lines = said.splitlines()
    assert lines[-1].startswith("report: ")
    assert "the same command goes on from here" in said
    assert 1 <= len(newest_table(tmp_path)) < 10


def test_an_interrupt_between_storing_a_record_and_handing_it_on_loses_nothing(tmp_path, monkeypatch):
    records = Driver.records

    def interrupted(*args):
        next(records(*args))
        raise KeyboardInterrupt

    monkeypatch.setattr(Driver, "records", interrupted)
    assert main(["run", *SWEEP, f"out={tmp_path}"]) == 130
    assert len(newest_table(tmp_path)) == 1


def test_a_full_results_folder_is_named_and_what_was_there_stays(tmp_path, capsys, monkeypatch):
    """A folder that takes no more: the path is said, the exit code is not 0, earlier records are whole."""
    assert main(["run", *SWEEP[:3], "method=coordinate_descent", f"out={tmp_path}"]) == 0
    before = {path: path.read_bytes() for path in tmp_path.glob("*/*/cells/*")}

    def full(file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    capsys.readouterr()
    assert main(["run", *SWEEP[:3], "method=coordinate_descent", "problem.C=7", f"out={tmp_path}"]) == 1
    error = capsys.readouterr().err
    assert str(tmp_path) in error
    assert "No space left" in error
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "a & b", "../../escape"])
def test_a_strange_name_of_a_data_file_stays_text(tmp_path, name):
    path = tmp_path / f"{name.replace('/', '_')}.csv"
    y = np.where(np.arange(20) % 2, 1, -1)
    np.savetxt(path, np.column_stack([y, np.random.default_rng(0).normal(size=(20, 2))]), delimiter=",")
    assert main(["run", "dataset=file", f"dataset.path='{path}'", f"out={tmp_path}/out"]) == 0
    page = next((tmp_path / "out").glob("*/*/report.html")).read_text()
    assert "<script>alert" not in page


class Order(Progress):
    """Hears in which order cells run."""

    def __init__(self):
        self.keys = []

    def started(self, key, where):
        self.keys.append(key)


def test_repeats_take_turns_and_a_dear_cell_has_none(tmp_path, monkeypatch):
    """Cells cost what their solver is named after."""
    cells = [Cell({}, {}, {}, {}, "", "", cost, repeat=k) for cost in ("0.1", "0.3", "7") for k in range(3)]
    planned = [Planned(c, None, "", c.solver_name + str(c.repeat), c.solver_name + "0") for c in cells]

    def run(self, one, isolation):
        return solved(hash=one.key, machine={"process_cpu_seconds": float(one.cell.solver_name)})

    monkeypatch.setattr(Runner, "run", run)
    order = Order()
    driver = Driver(tmp_path, Settings(repeat_below=1.0), progress=order)
    assert len(list(driver.records(planned))) == 7
    assert [key[-1] for key in order.keys] == ["0", "0", "0", "1", "1", "2", "2"]
    assert "71" not in order.keys
    assert driver.left_out == 2


def test_a_cell_that_another_worker_stored_meanwhile_is_not_run_again(tmp_path, monkeypatch):
    """A node that was believed to be dead may have gone on."""
    cells = [Cell({}, {}, {}, {}, "", "", name) for name in "ab"]
    planned = [Planned(cell, None, "", cell.solver_name * 24, cell.solver_name * 24) for cell in cells]
    run = []

    def one_for_both(self, one, isolation):
        run.append(one.key)
        for key in ("a" * 24, "b" * 24):
            self.store.put(solved(hash=key))
        return self.store.get(one.key)

    monkeypatch.setattr(Runner, "run", one_for_both)
    log = ChunkLog(tmp_path, 0)
    assert len(list(Worker(tmp_path, Settings(), None).cells(planned, log, {}))) == 1
    log.close()
    assert run == ["a" * 24]
