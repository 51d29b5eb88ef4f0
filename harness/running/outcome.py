"""What became of a cell, from the result of its job.

The answer comes from a process in which a solver ran: it is read as data, every size and type is checked, and what does
not fit is a failure of the cell.
"""

from typing import Any

import numpy as np

from marginbench.harness.cell.run import Outcome, blank_record
from marginbench.harness.cell.spec import instantiate, judged_problem
from marginbench.harness.model.problem import Point
from marginbench.harness.records.codec import Damaged, record_from_plain
from marginbench.harness.records.record import Record
from marginbench.harness.running.cell_job import ARRAYS, Order
from marginbench.harness.running.confinement import MEMORY_LIMIT
from marginbench.harness.running.job import Result, unframed
from marginbench.harness.running.mapped_data import open_data


def outcome_of(order: Order, result: Result, cpu: int | None) -> Outcome:
    """The record of a cell, whole or with what its finished rungs have shown, or empty; and its point."""
    if result.status:
        outcome = _so_far(order) or blank(order)
        outcome.record.status, outcome.record.message = result.status, result.message
    else:
        try:
            outcome = _decoded(result.text, result.raw)
        except (ValueError, TypeError, LookupError) as error:
            outcome = blank(order, "failed", f"its answer cannot be read: {error}")
    if result.report:
        record, report = outcome.record, result.report
        record.peak_mb = report["peak_mb"]
        named = ("signal", "exit_code", "process_seconds", "process_cpu_seconds", "minor_faults", "major_faults")
        record.machine |= {"cpu": cpu, "memory_limit": MEMORY_LIMIT, **{key: report[key] for key in named}}
    return outcome


def _so_far(order: Order) -> Outcome | None:
    """What the finished rungs of a ladder have shown, where its process was ended in a later one."""
    if order.so_far is None or not order.so_far.exists():
        return None
    try:
        return _decoded(*unframed(order.so_far.read_bytes()))
    except (OSError, ValueError, TypeError, LookupError):
        return None


def blank(order: Order, status: str = "", message: str = "") -> Outcome:
    """A full row for a cell that has no result."""
    cell = order.cell
    try:
        problem = judged_problem(instantiate(cell.formulation), *open_data(order.data), cell.problem)
        record = blank_record(cell, problem, order.digest)
    except Exception:  # whatever is wrong with these, the cell has failed of it too: the message says it
        record = Record(dataset=cell.dataset_name, formulation=cell.formulation_name, solver=cell.solver_name)
    record.status, record.message = status, message
    return Outcome(record)


def _decoded(text: dict[str, Any], raw: bytes) -> Outcome:
    """The inverse of `encode_answer`."""
    if len(raw) % 8:
        raise Damaged("not of the agreed form")
    return Outcome(record_from_plain(text["record"]), _point(text, np.frombuffer(raw, dtype="<f8")))


def _point(text: dict[str, Any], values: np.ndarray) -> Point | None:
    sizes, b = text["sizes"], text["b"]
    if b is None:
        return None
    names = [name for name in ARRAYS if name in sizes]
    counts = [sizes[name] for name in names]
    if type(b) is not float or names[0] != "w" or len(names) != len(sizes):
        raise Damaged("a point that is none")
    if not all(type(count) is int and count >= 0 for count in counts) or sum(counts) != values.size:
        raise Damaged("arrays that do not fit their sizes")
    arrays = np.split(values, np.cumsum(counts)[:-1])
    return Point(b=b, **{name: array.copy() for name, array in zip(names, arrays, strict=True)})
