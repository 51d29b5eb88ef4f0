"""A job is any function of ours in a process of its own: it answers, or the result says why not."""

import ast
import os
from pathlib import Path

import numpy as np
import pytest

from marginbench.harness.records.codec import Damaged
from marginbench.harness.running.isolation import Isolation
from marginbench.harness.running.job import Job, Limits, framed, unframed
from marginbench.harness.running.mapped_data import spill

LIMITS = Limits(seconds=2.0, memory_mb=300.0)


@pytest.fixture(scope="module")
def isolation():
    with Isolation() as isolation:
        yield isolation


def job(function: str, **more) -> Job:
    return Job(f"jobs.{function}", ("hello",), LIMITS, module="jobs", warm_up="jobs.warm_up", **more)


def test_a_job_answers_from_a_process_that_was_warmed_once(isolation):
    first, second = (isolation.do(job("echo", kind="a")) for _ in range(2))
    assert (first.status, first.raw) == ("", b"hello")
    assert first.text["warmed"] == second.text["warmed"] == ["hello"]
    assert len({first.text["pid"], second.text["pid"], os.getpid()}) == 3
    assert isolation.do(job("echo", kind="b")).text["warmed"] == ["hello", "hello"]


def test_a_job_is_given_data_before_its_arguments(isolation, tmp_path):
    data = spill(np.eye(3), np.array([1.0, -1.0, 1.0]), "abc", tmp_path)
    assert isolation.do(Job("jobs.sizes", ("hello",), LIMITS, data)).text == {
        "shape": [3, 3],
        "labels": [-1.0, 1.0],
        "word": "hello",
    }


@pytest.mark.parametrize(
    ("function", "status", "message"),
    [
        ("crash", "crashed", "ended by SIGSEGV"),
        ("hang", "timeout", "ended by the limit of 2 s"),
        ("nothing", "failed", "its answer cannot be read"),
        ("refuse", "failed", "ValueError: hello"),
        ("no_such_function", "failed", "no_such_function"),
    ],
)
def test_a_job_without_an_answer_says_why_and_the_next_one_runs(function, status, message, isolation):
    result = isolation.do(job(function))
    assert (result.status, result.text) == (status, {})
    assert message in result.message
    assert result.report["process_seconds"] < LIMITS.seconds + 1.0
    assert isolation.do(job("echo")).raw == b"hello"


def test_an_answer_is_read_as_it_was_framed_and_in_no_other_form():
    answer = framed({"a": [1.5, None]}, b"\x00\x01")
    assert unframed(answer) == ({"a": [1.5, None]}, b"\x00\x01")
    for damaged in (b"", answer[:-1], answer + b"x", answer[:20], framed({})[:16] + b"[]"):
        with pytest.raises(Damaged):
            unframed(damaged)


def test_nobody_else_starts_processes():
    """Isolation and its fork server; the doctor tries the limits out; the rehearsal tries foreign imports; git is asked
    for the state of a folder; launchers start workers; a large report has a process of its own."""
    harness = Path(__file__).resolve().parents[2] / "harness"
    found = set()
    for path in harness.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            named = ast.unparse(node) if isinstance(node, ast.Attribute) else ""
            imported = [a.name for a in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            if named == "os.fork" or {"subprocess", "multiprocessing"} & set(imported):
                found.add(path.name)
    timed = {"isolation.py", "fork_server.py", "supervisor.py"}
    launchers = {"local.py", "slurm.py", "dask.py"}
    assert found == timed | launchers | {"doctor.py", "rehearsal.py", "environment.py", "report_process.py"}
