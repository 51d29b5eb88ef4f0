"""Through a Dask cluster of two workers: the same cells, and nothing lost when one of the workers is killed."""

import importlib.util
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from dask_workers import dask_cluster, until

from marginbench.harness.cli import main
from marginbench.harness.records.store import Store

pytestmark = pytest.mark.skipif(importlib.util.find_spec("distributed") is None, reason="needs distributed")

HELPERS = str(Path(__file__).parents[1] / "helpers")
SLOW = [
    *("dataset.n=40", "dataset.d=3", "limits.memory_mb=500", "reference=none", "problem.bias=none"),
    *("solver=neighbours.Waiter", "solver.seconds=1.0", "problem.C=1e-5,2e-5,3e-5,4e-5,5e-5,6e-5"),
]


@pytest.fixture
def cluster(tmp_path):
    with dask_cluster(tmp_path) as started:
        yield started


@pytest.mark.long
def test_a_killed_worker_costs_nothing_but_the_cell_that_ran_there(cluster, tmp_path):
    address, workers = cluster
    out = tmp_path / "out"
    start = f"import sys; sys.path.append({HELPERS!r}); from marginbench.__main__ import main; sys.exit(main())"
    words = ["run", *SLOW, "launcher=dask", f"launcher.address={address}", f"out={out}"]
    driver = subprocess.Popen([sys.executable, "-c", start, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    until(lambda: len(list(out.glob("*/*/cells/*.json"))) >= 2 or driver.poll() is not None)
    workers[0].kill()
    done = {path.stem for path in out.glob("*/*/cells/*.json")}
    said, _ = driver.communicate(timeout=180)
    assert driver.returncode == 0, said
    (run,) = (path.parent for path in out.glob("*/*/run.json"))
    assert len(Store(run).records()) == 6
    lines = [line for log in run.glob("jobs/chunks/*.log") for line in log.read_text().splitlines()]
    starts = Counter(entry["start"] for line in lines if "start" in (entry := json.loads(line)))
    assert sum(starts.values()) <= 7
    assert all(starts[key] == 1 for key in done)


def test_a_scheduler_that_does_not_answer_is_one_line(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("marginbench.harness.running.launchers.dask.CONNECT_SECONDS", 1)
    words = ["run", *SLOW[:5], "launcher=dask", "launcher.address=tcp://127.0.0.1:9", f"out={tmp_path}"]
    assert main(words) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "launcher.address=tcp://127.0.0.1:9: no Dask scheduler answers" in error
