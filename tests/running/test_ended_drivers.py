"""However a driver with workers ends, no process is left and nothing stored is run again; a full disk is said."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter, deque
from contextlib import suppress
from pathlib import Path

import pytest

from marginbench.harness.cli import main
from marginbench.harness.errors import StoreError
from marginbench.harness.records.store import Store
from marginbench.harness.running.launchers.launcher import FAILED
from marginbench.harness.running.launchers.local import Local

HELPERS = str(Path(__file__).parents[1] / "helpers")
SWEEP = [
    *("dataset.n=40", "dataset.d=3", "limits.memory_mb=500", "reference=none", "problem.bias=none"),
    *("solver=neighbours.Waiter", "solver.seconds=0.5", "problem.C=1e-5,2e-5,3e-5,4e-5,5e-5,6e-5"),
]
MARK = "MARGINBENCH_TEST_MARK"


def start(out: Path, *words: str) -> subprocess.Popen:
    """As from a terminal: with an ear for Ctrl-C even where the tests have none."""
    begin = f"import sys; sys.path.append({HELPERS!r}); from marginbench.__main__ import main; sys.exit(main())"
    return subprocess.Popen(
        [sys.executable, "-c", begin, "run", *SWEEP, *words, f"out={out}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=_hears_interrupts,
        env=os.environ | {MARK: str(out)},
    )


def _hears_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def left(out: Path) -> list[int]:
    """Processes that descend from a command of `start`, after the moment that the kernel needs to end them."""
    for _ in range(50):
        found = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and _marked(entry, out)]
        if not found:
            break
        time.sleep(0.1)
    return found


def _marked(entry: Path, out: Path) -> bool:
    with suppress(OSError):
        ended = (entry / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
        return not ended and f"{MARK}={out}\0".encode() in (entry / "environ").read_bytes()
    return False


def until_stored(out: Path, driver: subprocess.Popen) -> None:
    while not list(out.glob("*/*/cells/*.json")):
        time.sleep(0.02)
        assert driver.poll() is None


def starts(run: Path) -> Counter[str]:
    lines = [line for log in run.glob("jobs/chunks/*.log") for line in log.read_text().splitlines()]
    return Counter(entry["start"] for line in lines if "start" in (entry := json.loads(line)))


@pytest.mark.long
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_end_of_a_driver_ends_its_workers_and_the_same_command_runs_nothing_twice(tmp_path, by):
    driver = start(tmp_path, "launcher.jobs=2")
    until_stored(tmp_path, driver)
    driver.send_signal(by)
    said, _ = driver.communicate(timeout=120)
    assert not left(tmp_path)
    assert driver.returncode == (-by if by == signal.SIGKILL else 130)
    assert ("the same command goes on from here" in said) == (by != signal.SIGKILL)
    (first,) = (path.parent for path in tmp_path.glob("*/*/run.json"))
    done = {path.stem for path in first.glob("cells/*.json")}
    assert 1 <= len(done) < 6
    again = start(tmp_path, "launcher.jobs=2")
    said, _ = again.communicate(timeout=120)
    assert again.returncode == 0, said
    (second,) = (path.parent for path in tmp_path.glob("*/*/run.json") if path.parent != first)
    assert len(Store(second).records()) == 6
    assert not done & set(starts(second))
    assert not Store(first).damaged


@pytest.mark.long
def test_a_worker_that_is_killed_from_outside_costs_the_cell_that_it_ran_one_start(tmp_path):
    driver = start(tmp_path, "launcher.jobs=2")
    until_stored(tmp_path, driver)
    (run,) = (path.parent for path in tmp_path.glob("*/*/run.json"))
    done = {path.stem for path in run.glob("cells/*.json")}
    log = max(run.glob("jobs/chunks/*.log"), key=lambda path: path.stat().st_mtime_ns)
    os.kill(json.loads(log.read_text().splitlines()[0])["worker"]["pid"], signal.SIGKILL)
    said, _ = driver.communicate(timeout=120)
    assert driver.returncode == 0, said
    assert len(Store(run).records()) == 6
    assert sum(starts(run).values()) <= 7
    assert all(starts(run)[key] == 1 for key in done)
    assert not left(tmp_path)


@pytest.mark.long
def test_two_drivers_at_once_have_folders_of_their_own(tmp_path):
    drivers = [start(tmp_path, "launcher.jobs=2") for _ in range(2)]
    said = [driver.communicate(timeout=180)[0] for driver in drivers]
    assert [driver.returncode for driver in drivers] == [0, 0], said
    runs = [path.parent for path in tmp_path.glob("*/*/run.json")]
    assert [len(Store(run).records()) for run in runs] == [6, 6]


@pytest.fixture(scope="module")
def unfinished(tmp_path_factory) -> Path:
    """A run of which nothing can be stored any more."""
    out = tmp_path_factory.mktemp("unfinished")
    driver = start(out, "launcher.jobs=2", "solver.seconds=0.01")
    assert driver.communicate()[1] is None
    (run,) = (path.parent for path in out.glob("*/*/run.json"))
    shutil.rmtree(run / "cells")
    (run / "cells").write_text("")
    return run


def test_a_worker_that_cannot_store_says_so_to_its_launcher(unfinished, capsys, monkeypatch):
    monkeypatch.syspath_prepend(HELPERS)
    assert main(["work", str(unfinished), "0"]) == 1
    said = capsys.readouterr()
    assert said.out.startswith(f"{FAILED} cannot write {unfinished / 'cells'}")
    assert said.err.count("\n") == 1


def test_no_worker_follows_one_that_cannot_store(unfinished):
    launcher = Local(jobs=2)
    launcher.start(unfinished, range(6))
    with pytest.raises(StoreError, match="cannot write"):
        deque(iter(launcher.working, False))
    launcher.end()
    lines = [line for log in unfinished.glob("jobs/chunks/*.log") for line in log.read_text().splitlines()]
    assert sum('"worker"' in line for line in lines) <= 6 + 1 + 2  # of the run, of the test before, of this one
