"""Cells side by side: the same results, nothing lost with a worker, and times that neighbours spoilt taken again."""

import itertools
import json
import math
import os
from collections import Counter
from pathlib import Path

import pytest
from sample_records import solved

from marginbench.harness.cli import main
from marginbench.harness.compose import Composer
from marginbench.harness.compose.cells import cells_of
from marginbench.harness.compose.grid import expand
from marginbench.harness.records.record import COLUMNS
from marginbench.harness.running.runner import disturbance
from marginbench.harness.running.sweep import Finished, run_cells

SMALL = ["dataset.n=40", "dataset.d=3", "limits.memory_mb=500", "reference=none", "problem.bias=none"]
TIMES = ("seconds", "passes", "peak_mb", "message")
PRICES = "problem.C=1e-5,2e-5"
"""So small that alpha = upper is right."""


def run(out: Path, *words: str) -> Finished:
    """What `marginbench run` does, without its report."""
    configs = expand(Composer("run"), [*SMALL, *words, f"out={out}"]).configs()
    return run_cells([cell for config in configs for cell in cells_of(config)], configs[0], "run", "run")


def starts(folder: Path) -> Counter[str]:
    lines = [line for log in folder.glob("jobs/chunks/*.log") for line in log.read_text().splitlines()]
    return Counter(entry["start"] for line in lines if "start" in (entry := json.loads(line)))


@pytest.fixture(scope="module")
def mixed(tmp_path_factory) -> Finished:
    """Two problems side by side, each with a solver that works and one that waits, one with a killer of workers."""
    both, killer = "coordinate_descent,neighbours.Waiter", "neighbours.WorkerKiller"
    cells = f"zip(solver={both},{both},{killer}; problem.C=1e-5,1e-5,2e-5,2e-5,2e-5)"
    return run(tmp_path_factory.mktemp("mixed"), cells, "formulation=dual_qp", "launcher.jobs=2")


def of(finished: Finished, solver: str):
    return [record for record in finished.records if record.solver.endswith(solver)]


def test_what_runs_side_by_side_is_what_runs_alone(mixed, tmp_path):
    alone = run(tmp_path, "solver=coordinate_descent", "formulation=dual_qp", PRICES)
    columns = [name for name in COLUMNS if not any(part in name for part in TIMES)]
    rows = [sorted([[getattr(r, c) for c in columns] for r in of(one, "descent")], key=str) for one in (alone, mixed)]
    assert len(rows[0]) == 2
    assert rows[0] == rows[1]


def test_records_say_where_they_were_made_and_beside_how_many(mixed):
    assert len(mixed.records) == 5
    for record in of(mixed, "descent"):
        assert record.machine["jobs"] == (1 if record.machine.get("again") else 2)
        assert record.machine["node"] == os.uname().nodename
        assert record.machine["launcher"] == "local"
        assert record.machine["processor"]
        assert record.machine["threads"]


def test_all_cells_of_a_problem_run_on_one_worker(mixed):
    chunks = [json.loads(path.read_text())["cells"] for path in mixed.folder.glob("jobs/chunks/*.json")]
    assert sorted(sorted({one["cell"]["problem"]["C"] for one in chunk}) for chunk in chunks) == [[1e-5], [2e-5]]


def test_a_cell_that_kills_its_worker_is_started_three_times_and_its_row_says_so(mixed):
    killers, counts = of(mixed, "WorkerKiller"), starts(mixed.folder)
    assert len(killers) == 1
    assert {(r.status, r.message) for r in killers} == {("crashed", "its worker died 3 times while it ran")}
    assert {counts[r.hash] for r in killers} == {3}
    assert {counts[r.hash] for r in mixed.records if r not in killers} == {1}


def test_times_that_neighbours_spoilt_are_taken_again_alone(mixed):
    waiters = of(mixed, "Waiter")
    assert {record.status for record in waiters} == {"solved"}
    for record in waiters:
        assert record.machine["jobs"] == 1
        assert record.machine["again"] is True
        assert "disturbed" not in record.machine
    assert any("were disturbed by their neighbours and run again alone" in note for note in mixed.notes)


def test_a_worker_with_nothing_to_do_does_nothing(mixed, capsys):
    before = starts(mixed.folder)
    assert main(["work", str(mixed.folder), "0"]) == 0
    assert "chunk 0: 0 cells" in capsys.readouterr().out
    assert starts(mixed.folder) == before


def test_a_worker_with_other_versions_refuses_in_one_line(mixed, capsys):
    path = mixed.folder / "jobs/chunks/0.json"
    before = path.read_text()
    chunk = json.loads(before)
    chunk["versions"][0]["numpy"] = "1.0"
    chunk["cells"][0]["key"] = chunk["cells"][0]["key"][:-8] + "00000000"
    path.write_text(json.dumps(chunk))
    try:
        assert main(["work", str(mixed.folder), "0"]) == 2
    finally:
        path.write_text(before)
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "not what the driver planned with: numpy 1.0 then, " in error


@pytest.mark.parametrize("words", [[], ["nowhere"], ["nowhere", "0"], ["nowhere", "x"]])
def test_work_without_a_chunk_is_one_line(capsys, words):
    assert main(["work", *words]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.long
def test_exclusive_cells_do_not_overlap(tmp_path, monkeypatch):
    monkeypatch.setenv("WAITER_LOG", str(tmp_path / "waits"))
    words = ("solver=neighbours.Waiter", "problem.C=1e-5,2e-5,3e-5", "launcher.jobs=2", "launcher.exclusive=true")
    run(tmp_path, *words)
    waits = sorted(tuple(map(float, line.split())) for line in (tmp_path / "waits").read_text().splitlines())
    assert len(waits) >= 3  # warming up waits, too
    assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(waits))


def test_disturbance_is_wall_over_cpu_of_cells_whose_time_matters():
    assert disturbance(solved(solve_seconds=1.0, cpu_seconds=0.5)) == 2.0
    assert disturbance(solved(solve_seconds=1.0, cpu_seconds=0.95)) is None
    assert disturbance(solved(solve_seconds=0.03, cpu_seconds=0.001)) is None
    assert disturbance(solved(solve_seconds=1.0, cpu_seconds=0.5, status="failed")) is None
    assert math.isfinite(disturbance(solved(solve_seconds=1.0, cpu_seconds=0.0)))
