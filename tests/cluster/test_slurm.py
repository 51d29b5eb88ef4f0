"""On a real Slurm of two nodes: what runs there is what runs here, and nothing is lost with a node or a driver."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from slurm_cluster import SlurmCluster
from timeless import timeless_rows

from marginbench.harness.records.store import Store

FORTY = [
    "dataset.n=60",
    "dataset.d=4",
    "method=coordinate_descent,sdca,pegasos,projected_gradient,smo",
    "problem.C=0.1,0.5,1,10",
    "problem.bias=none,augmented",
    "budget.seconds=60",
    "budget.iterations=100",
    "reference.budget.seconds=200",
    "limits.memory_mb=2000",  # enough to compile the kernels of the reference, where nothing is compiled yet
]
"""40 cells of 8 problems that end by their number of steps, so that no clock decides."""

SLOW = [
    "dataset.n=200",
    "method=pegasos,sdca",
    "problem.C=1,2,3,4",
    "budget.gap=1e-300",
    "budget.seconds=1.5",
    "budget.iterations=1000000000",
    "limits.memory_mb=500",
    "reference=none",
]
"""8 cells of 4 problems, each 1.5 seconds long."""

LONG = [*SLOW, "budget.seconds=4", "launcher=slurm", "launcher.at_once=1"]
"""The same one after another, so that there is time to look."""

HELPERS = str(Path(__file__).parents[1] / "helpers")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with SlurmCluster(tmp_path_factory.mktemp("slurm")) as started:
        os.environ |= started.environment
        yield started
        del os.environ["SLURM_CONF"]


def command(*words: str) -> list[str]:
    """marginbench, with the solvers of the tests' helpers on its import path."""
    start = f"import sys; sys.path.append({HELPERS!r}); from marginbench.__main__ import main; sys.exit(main())"
    return [sys.executable, "-c", start, *words]


def said(*words: str, code: int = 0) -> str:
    done = subprocess.run(command(*words), capture_output=True, text=True)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def table(run: Path) -> list[dict[str, str]]:
    return timeless_rows(run / "table.csv")


def starts(run: Path) -> Counter[str]:
    lines = [line for log in run.glob("jobs/chunks/*.log") for line in log.read_text().splitlines()]
    return Counter(entry["start"] for line in lines if "start" in (entry := json.loads(line)))


def only_run(out: Path) -> Path:
    (run,) = (path.parent for path in out.glob("*/*/run.json"))
    return run


def stored(out: Path) -> int:
    return len(list(out.glob("*/*/cells/*.json")))


def until(happened, seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.1)


def job_of(cluster: SlurmCluster, array: dict) -> str:
    return cluster.said("squeue", "--noheader", "--format=%A", f"--name={array['name']}").split()[0]


def two_drivers(cluster: SlurmCluster, run: Path, words: list[str]) -> None:
    """Two of them beside each other, to their end. The last task waits for both, however slow this machine is."""
    (array,) = json.loads((run / "jobs/slurm.json").read_text())["arrays"]
    held = f"{job_of(cluster, array)}_2"
    cluster.said("scontrol", "hold", held)
    both = [subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for one in both:
        assert any(f"goes on with {run}" in line for line in one.stderr)
    cluster.said("scontrol", "release", held)
    outputs = [one.communicate(timeout=240)[1] for one in both]
    assert [one.returncode for one in both] == [0, 0], outputs


def test_forty_cells_are_the_same_here_side_by_side_on_slurm_and_through_dask(cluster, tmp_path):
    ways = {"one": [], "two": ["launcher.jobs=2"], "slurm": ["launcher=slurm"], "dask": ["launcher=dask"]}
    tables = {}
    said("run", *FORTY, f"out={tmp_path / 'compiling'}")  # a process that compiles may round the last digit otherwise
    for name, words in ways.items():
        said("run", *FORTY, *words, f"out={tmp_path / name}")
        tables[name] = table(only_run(tmp_path / name))
        nodes = {record.machine["node"] for record in Store(only_run(tmp_path / name)).records()}
        assert nodes == ({"n1", "n2"} if name == "slurm" else {os.uname().nodename})
    assert len(tables["one"]) == 40
    for name in ("two", "slurm", "dask"):
        assert tables[name] == tables["one"], name
    arrays = json.loads((only_run(tmp_path / "slurm") / "jobs/slurm.json").read_text())["arrays"]
    assert [len(array["chunks"]) for array in arrays] == [5, 3]  # MaxArraySize is 6


def test_a_killed_node_costs_nothing_but_the_cell_that_ran_there(cluster, tmp_path):
    driver = subprocess.Popen(
        command("run", *SLOW, "launcher=slurm", f"out={tmp_path}"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        until(lambda: any(r.machine["node"] == "n2" for run in tmp_path.glob("*/*") for r in Store(run).records()))
        cluster.kill_node("n2")
        done = {path.name for path in tmp_path.glob("*/*/cells/*.json")}
        output, _ = driver.communicate(timeout=180)
    finally:
        driver.kill()
        cluster.start_node("n2")
    assert driver.returncode == 0, output
    run = only_run(tmp_path)
    assert len(table(run)) == 8
    again = {key for key, count in starts(run).items() if count > 1}
    assert len(again) <= 1
    assert not {f"{key}.json" for key in again} & done
    assert set(starts(run).values()) <= {1, 2}


def test_after_the_death_of_its_driver_two_others_wait_for_the_same_jobs(cluster, tmp_path):
    words = command("run", *LONG, f"out={tmp_path}")
    driver = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: stored(tmp_path) >= 2)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    assert stored(tmp_path) < 8
    run = only_run(tmp_path)
    two_drivers(cluster, run, words)
    assert only_run(tmp_path) == run
    assert len(table(run)) == 8
    assert set(starts(run).values()) == {1}


def test_of_two_drivers_that_find_a_chunk_lost_one_submits_it_again(cluster, tmp_path):
    words = ["run", *LONG, "budget.seconds=1.5", f"out={tmp_path}"]
    said(*words, "launcher.wait=false")
    run = only_run(tmp_path)
    (array,) = json.loads((run / "jobs/slurm.json").read_text())["arrays"]
    cluster.said("scancel", f"{job_of(cluster, array)}_3")
    two_drivers(cluster, run, command(*words))
    arrays = json.loads((only_run(tmp_path) / "jobs/slurm.json").read_text())["arrays"]
    assert sorted(chunk for each in arrays for chunk in each["chunks"]) == [0, 1, 2, 3, 3]
    assert set(starts(run).values()) == {1}


def test_submit_leave_look_and_collect(cluster, tmp_path):
    submitted = said("run", *LONG, "launcher.wait=false", "launcher.chunks=2", f"out={tmp_path}")
    run = only_run(tmp_path)
    assert f"marginbench collect {run}" in submitted
    assert re.search(r"8 cells: 0 done, [01] running, [78] waiting, 0 lost", said("status", str(run)))
    until(lambda: stored(tmp_path) >= 1)
    early = said("status", str(run))
    assert "Slurm tasks RUNNING" in early
    assert "not complete" in said("collect", str(run), code=1)
    until(lambda: stored(tmp_path) == 8)
    assert "8 cells: 8 done, 0 running, 0 waiting, 0 lost" in said("status", str(run))
    assert said("collect", str(run)).splitlines()[-1].startswith("report: ")
    assert len(table(run)) == 8


def test_what_slurm_refuses_is_said_in_its_own_words(cluster, tmp_path):
    answer = said("run", "launcher=slurm", "launcher.partition=nowhere", f"out={tmp_path}", code=2)
    assert answer.count("\n") == 1
    assert "sbatch" in answer
    assert "partition" in answer


def test_a_task_asks_for_what_its_cells_may_need_and_for_what_the_user_adds(cluster, tmp_path):
    options = "launcher.options={comment: hello, nice: 7, begin: now+1hour}"
    words = ["run", *SLOW, "limits.seconds=60", "launcher=slurm", "launcher.wait=false", options, f"out={tmp_path}"]
    said(*words)
    run = only_run(tmp_path)
    (array,) = json.loads((run / "jobs/slurm.json").read_text())["arrays"]
    jobs = cluster.said("squeue", "--noheader", "--format=%A", f"--name={array['name']}").split()
    shown = cluster.said("scontrol", "show", "job", jobs[0])
    for asked in ("Requeue=1", "Partition=main", "Comment=hello", "Nice=7", "MinMemoryNode=2000M", "NumCPUs=1"):
        assert asked in shown
    minutes = (2 * 60 * 1.2 + 300) // 60 + 1  # a chunk has two cells
    assert f"TimeLimit=00:{minutes:02.0f}:00" in shown
    assert "8 cells: 0 done, 0 running, 8 waiting, 0 lost" in said("status", str(run))
    cluster.said("scancel", f"--name={array['name']}")
    until(lambda: "0 waiting, 8 lost" in said("status", str(run)))
    assert "no cell is done yet" in said("collect", str(run), code=2)


def test_a_cell_that_kills_its_worker_is_started_three_times_and_comes_last(cluster, tmp_path):
    cells = "zip(solver=neighbours.WorkerKiller,coordinate_descent,sdca; formulation=dual_qp,dual_qp,dual_qp)"
    words = ["dataset.n=40", "problem.bias=none", "reference=none", "limits.memory_mb=500", "launcher=slurm"]
    said("run", cells, *words, f"out={tmp_path}", code=1)
    run = only_run(tmp_path)
    messages = {record.solver: record.message for record in Store(run).records()}
    assert messages["neighbours.WorkerKiller"] == "its worker died 3 times while it ran"
    counts = starts(run)
    killer = next(record.hash for record in Store(run).records() if record.status == "crashed")
    assert counts.pop(killer) == 3
    assert set(counts.values()) == {1}
    assert len(counts) == 2
    order = [
        entry["start"]
        for line in (run / "jobs/chunks/0.log").read_text().splitlines()
        if "start" in (entry := json.loads(line))
    ]
    assert order[-2:] == [killer, killer]


def test_nodes_with_other_versions_refuse_and_the_rows_say_which(cluster, tmp_path):
    """`setup` is run by each task: here it shows the worker another numpy than the driver has."""
    (tmp_path / "numpy-1.0.dist-info").mkdir()
    (tmp_path / "numpy-1.0.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: numpy\nVersion: 1.0\n")
    words = ["dataset.n=40", "limits.memory_mb=500", "reference=none", "launcher=slurm", f"out={tmp_path / 'out'}"]
    said("run", "method=sdca", *words, f"launcher.setup='export PYTHONPATH={tmp_path}'", code=1)
    run = only_run(tmp_path / "out")
    (record,) = Store(run).records()
    assert record.status == "crashed"
    assert re.search(r"n[12]: not what the driver planned with: numpy \S+ then, 1\.0 now", record.message)
    assert record.message in said("status", str(run))
    said("run", "method=sdca", *words)  # such a row is not served again
    assert Counter(row["status"] for row in table(max(tmp_path.glob("out/*/*/table.csv")).parent)) == {"solved": 1}
