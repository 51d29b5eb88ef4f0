"""What became of a cell: the judge's answer, and how the process of the solver ended.

Both are read as data: every size and type is checked, and what does not fit is a failure of the cell.
"""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from marginbench.harness.cell.judging import Outcome, blank_record, sentence
from marginbench.harness.cell.spec import instantiate, judged_problem
from marginbench.harness.model.problem import Point
from marginbench.harness.records.codec import Damaged, record_from_plain, record_to_plain
from marginbench.harness.records.record import Record
from marginbench.harness.running.cell_job import Order
from marginbench.harness.running.confinement import MEMORY_LIMIT
from marginbench.harness.running.job import Result, framed
from marginbench.harness.running.mapped_data import open_data

ARRAYS = ("w", "alpha", "xi")

ACCOUNT = (
    *("charged_cpu_seconds", "solver_seconds"),
    *("certificates", "certificate_seconds", "earned_certificate_seconds"),
)
"""Of what the judge says, the times that a record keeps: `solver_seconds` are all on the clock, credited or not;
`earned_certificate_seconds` are those of certificates beyond the first ten and the last of a cell (`cell/looks.py`)."""

TOLERATED, SHARE = 0.05, 0.1
"""CPU seconds of each process, and the share of what was charged, that need no explanation."""


def encode_answer(outcome: Outcome, about: dict[str, Any], points: int | None) -> bytes:
    """What the judge tells the harness: the record and an account as text.

    The arrays of the point go as raw float64 into the file `points`, where it is wanted.
    """
    text: dict[str, Any] = {"record": record_to_plain(outcome.record), "about": about, "b": None, "sizes": {}}
    if outcome.point is not None and points is not None:
        text["b"] = float(outcome.point.b)
        with os.fdopen(os.dup(points), "wb") as file:
            for name in ARRAYS:
                if (array := getattr(outcome.point, name)) is not None:
                    array = np.ascontiguousarray(array, dtype="<f8")
                    text["sizes"][name] = array.size
                    file.write(array.data)
    return framed(text)


def outcome_of(order: Order, solver: Sequence[Result], judge: Result, cores: Sequence[int], points: int) -> Outcome:
    """`solver`: the results of its processes, of a ladder one for each rung that was begun. `points`: the file that the
    judge wrote the point to."""
    last = solver[-1]
    try:
        if judge.status:  # it did not get so far: what is wrong with the cell is so in both processes
            outcome, about = blank(order, last.status or judge.status, last.message or judge.message), {}
        else:
            outcome, about = _decoded(judge.text, points), judge.text["about"]
    except (ValueError, TypeError, LookupError) as error:
        outcome, about = blank(order, "failed", f"the judge's answer cannot be read: {error}"), {}
    record, ended = outcome.record, bool(about.get("ended", False))
    if about and not ended:
        record.status = last.status or "failed"
        record.message = sentence(last.message or "the process ended without an answer")
    record.machine |= {"cpus": list(cores), "memory_limit": MEMORY_LIMIT}
    if last.report:
        _add_usage(record, [result.report for result in solver if result.report], ended)
    if about:
        record.machine |= {
            "threads": about["threads"],
            "judge_cpu_seconds": judge.report["process_cpu_seconds"],
            "judge_peak_mb": judge.report["peak_mb"],
            "judge_own_mb": judge.report["own_mb"],
            **{name: about[name] for name in ACCOUNT},
        }
        if ended and record.solve_seconds is not None and last.report:
            _account(record, about, len(solver))
    return outcome


def _add_usage(record: Record, reports: list[dict[str, Any]], ended: bool) -> None:
    record.peak_mb = max(report["peak_mb"] for report in reports)
    record.machine["own_mb"] = max(report["own_mb"] for report in reports)
    for name in ("process_seconds", "process_cpu_seconds", "minor_faults", "major_faults"):
        record.machine[name] = sum(report[name] for report in reports)
    record.machine |= {
        "signal": "" if ended else reports[-1]["signal"],
        "exit_code": 0 if ended else reports[-1]["exit_code"],
    }


def _account(record: Record, about: dict[str, float], processes: int) -> None:
    """CPU time of the solver's processes that was neither charged nor is explained by starting and building."""
    total, start, charged = (
        record.machine["process_cpu_seconds"],
        about["before_cpu_seconds"],
        about["charged_cpu_seconds"],
    )
    explained = processes * (TOLERATED + 2.0 * about["setup_cpu_seconds"] + (record.build_seconds or 0.0))
    hidden = max(0.0, start - explained) + max(0.0, total - start - charged - about["beside_cpu_seconds"])
    record.unaccounted_seconds = hidden
    if hidden > processes * TOLERATED + SHARE * charged:
        words = f"{hidden:.2g} s of CPU of its processes are not accounted for ({charged:.2g} s were charged)"
        record.message = "; ".join(part for part in (record.message, words) if part)


def blank(order: Order, status: str = "", message: str = "") -> Outcome:
    """A full row for a cell that has no result."""
    cell = order.cell
    try:
        problem = judged_problem(instantiate(cell.formulation), *open_data(order.data, touched=False), cell.problem)
        record = blank_record(cell, problem, order.digest)
    except Exception:  # whatever is wrong with these, the cell has failed of it too: the message says it
        record = Record(dataset=cell.dataset_name, formulation=cell.formulation_name, solver=cell.solver_name)
    record.status, record.message = status, sentence(message)
    return Outcome(record)


def _decoded(text: dict[str, Any], points: int) -> Outcome:
    """The inverse of `encode_answer`."""
    return Outcome(record_from_plain(text["record"]), _point(text, points))


def _point(text: dict[str, Any], points: int) -> Point | None:
    sizes, b = text["sizes"], text["b"]
    if b is None:
        return None
    names = [name for name in ARRAYS if name in sizes]
    counts = [sizes[name] for name in names]
    if type(b) is not float or names[0] != "w" or len(names) != len(sizes):
        raise Damaged("a point that is none")
    if not all(type(count) is int and count >= 0 for count in counts) or 8 * sum(counts) != os.fstat(points).st_size:
        raise Damaged("arrays that do not fit their sizes")
    with os.fdopen(os.dup(points), "rb") as file:
        file.seek(0)
        return Point(b=b, **{name: np.fromfile(file, "<f8", sizes[name]) for name in names})
