"""How far a run is, told by its folder alone: done, running, waiting, lost, left out."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from sample_records import solved

from marginbench.harness.cell.spec import Cell
from marginbench.harness.cli import main
from marginbench.harness.records.run_folder import write_state
from marginbench.harness.records.store import Store
from marginbench.harness.running.chunk_log import ChunkLog, log_file
from marginbench.harness.running.chunks import write_chunks
from marginbench.harness.running.launchers.slurm import arrays_of, queued
from marginbench.harness.running.mapped_data import Data
from marginbench.harness.running.planning import Planned
from marginbench.harness.running.run_state import run_state
from marginbench.harness.running.runner import Settings, node


def planned(number: int, repeat: int = 0) -> Planned:
    cell = Cell({}, {"C": 1.0}, {}, {}, "data", "f", f"s{number}", limits={"seconds": 1.0}, repeat=repeat)
    key, first = f"{number:015x}{repeat:x}{0:08x}", f"{number:016x}{0:08x}"
    return Planned(cell, Data(Path("d" * 64), "d" * 64), f"p{number}", key, first)


CELLS = [planned(number, repeat) for number in range(3) for repeat in range(2)]


@pytest.fixture
def dead() -> int:
    """The number of a process that has ended."""
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    return done.pid


def a_run(folder, pid: int, repeat_below: float = math.inf) -> None:
    (folder / "run.json").write_text(json.dumps({"cells": [{}] * len(CELLS)}))
    settings = Settings(jobs=2, repeat_below=repeat_below, driver={"node": node(), "pid": pid})
    write_chunks(folder, [CELLS[:4], CELLS[4:]], settings)
    Store(folder).put(solved(hash=CELLS[0].key, machine={"process_cpu_seconds": 9.0}))


def counts(folder) -> tuple[int, ...]:
    state = run_state(folder)
    return state.done, len(state.running), state.waiting, state.lost, state.left_out


def test_a_run_with_a_living_driver_waits_and_runs(tmp_path):
    a_run(tmp_path, os.getpid())
    assert counts(tmp_path) == (1, 0, 5, 0, 0)
    log = ChunkLog(tmp_path, 1)
    log.start(CELLS[4])
    assert counts(tmp_path) == (1, 1, 4, 0, 0)
    assert "f / s2" in run_state(tmp_path).running[0].what
    Store(tmp_path).put(solved(hash=CELLS[4].key))
    assert counts(tmp_path) == (2, 0, 4, 0, 0)
    log.close()


def test_a_run_whose_driver_died_has_lost_what_is_not_stored(tmp_path, dead, capsys):
    a_run(tmp_path, dead)
    assert counts(tmp_path) == (1, 0, 0, 5, 0)
    assert main(["status", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "6 cells: 1 done, 0 running, 0 waiting, 5 lost" in said
    assert "the command that made the run finishes them" in said


def test_repeats_of_an_expensive_cell_are_left_out_not_lost(tmp_path, dead):
    a_run(tmp_path, dead, repeat_below=1.0)
    assert counts(tmp_path) == (1, 0, 0, 4, 1)


def test_the_reason_of_a_worker_that_refused_is_shown(tmp_path):
    a_run(tmp_path, os.getpid())
    log = ChunkLog(tmp_path, 0)
    log.say("refused", "n1: other versions")
    log.close()
    assert "n1: other versions" in "\n".join(run_state(tmp_path).lines())


def test_a_run_in_one_process_needs_no_chunks(tmp_path, dead):
    (tmp_path / "run.json").write_text(json.dumps({"cells": [{}] * 3}))
    log = ChunkLog(tmp_path, 0)
    log.start(CELLS[0])
    log.close()
    assert counts(tmp_path) == (0, 1, 2, 0, 0)
    path = log_file(tmp_path, 0)
    path.write_text(path.read_text().replace(f'"pid": {os.getpid()}', f'"pid": {dead}'))
    assert counts(tmp_path) == (0, 0, 0, 3, 0)
    Store(tmp_path).put(solved(hash=CELLS[0].key))
    write_state(tmp_path, interrupted=False)
    assert counts(tmp_path) == (1, 0, 0, 0, 2)


@pytest.mark.parametrize("verb", ["status", "collect"])
def test_what_is_no_run_is_one_line(tmp_path, capsys, verb):
    assert main([verb, str(tmp_path)]) == 2
    assert main([verb, str(tmp_path / "nowhere")]) == 2
    assert capsys.readouterr().err.count("\n") == 2


DAMAGE = {
    "jobs/chunks/0.json": ["", "{", "[]", "{}", '{"cells": 5, "codes": [], "versions": []}', '{"cells": [{}]}'],
    "jobs/settings.json": ["", "[]", "{}", '{"path": 3}', '{"path": [], "nosuch": 1}'],
    "run.json": ["", "[]", '{"cells": 7}'],
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in DAMAGE.items() for text in texts])
@pytest.mark.parametrize("verb", ["status", "collect"])
def test_a_damaged_file_of_a_run_is_named_in_one_line(tmp_path, capsys, dead, verb, name, text):
    a_run(tmp_path, dead)
    (tmp_path / name).write_text(text)
    assert main([verb, str(tmp_path)]) in (1, 2)
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert name in error


@pytest.mark.parametrize("name", ["jobs/chunks/0.json", "jobs/settings.json", "jobs/chunks/0.log", "jobs/slurm.json"])
def test_nobody_waits_at_a_pipe(tmp_path, dead, name):
    a_run(tmp_path, dead)
    (tmp_path / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / name)
    assert main(["status", str(tmp_path)]) == (1 if name.endswith("0.json") or "settings" in name else 0)


@pytest.mark.parametrize(
    "line",
    [
        b"\xff\x00\n",
        b'{"start": "k"}\n',
        b'{"start": {}, "time": "x"}\n',
        b'{"worker": 3}\n',
        b"[" * 10**5,
        b'{"worker": {"node": "%s", "pid": -1}}\n{"start": "k", "time": 1}\n' % node().encode(),
        b'{"worker": {"node": "%s", "pid": "9999999999999999999"}}\n' % node().encode(),
    ],
)
def test_a_damaged_log_is_passed_over(tmp_path, dead, line):
    a_run(tmp_path, dead)
    log_file(tmp_path, 0).write_bytes(line)
    assert counts(tmp_path) == (1, 0, 0, 5, 0)


@pytest.mark.parametrize("arrays", [[5], [{"name": "--all", "chunks": [0]}], [{"name": "marginbench-00000000"}], {}])
def test_names_that_are_not_ours_are_not_given_to_slurm(tmp_path, dead, arrays):
    a_run(tmp_path, dead)
    (tmp_path / "jobs/slurm.json").write_text(json.dumps({"arrays": arrays}))
    assert arrays_of(tmp_path) == []
    assert counts(tmp_path) == (1, 0, 0, 5, 0)


def test_a_run_that_was_copied_from_a_cluster_has_waiting_tasks_and_no_traceback(tmp_path, monkeypatch):
    (tmp_path / "jobs").mkdir()
    array = {"name": "marginbench-01234567", "chunks": [0, 1]}
    (tmp_path / "jobs/slurm.json").write_text(json.dumps({"arrays": [array]}))
    monkeypatch.setenv("PATH", str(tmp_path))
    waits = "PENDING (squeue is not on the PATH: this is no Slurm machine)"
    assert queued(tmp_path) == [(0, waits), (1, waits)]
