"""What became of a cell, from the report of the process that watched it and from its own answer.

The answer comes from a process in which a solver ran: it is read as data, every size and type is checked, and what
does not fit is refused with an exception of a kind that `Isolation.run` takes for a failure of the cell.
"""

import errno
import os
import signal
import struct
from typing import Any

import numpy as np

from marginbench.harness.cell.run import Outcome, blank_record
from marginbench.harness.cell.spec import instantiate, judged_problem
from marginbench.harness.model.problem import Point
from marginbench.harness.records.codec import Damaged, loads, record_from_plain
from marginbench.harness.records.record import Record
from marginbench.harness.running.confinement import ARRAYS, MEMORY_LIMIT, Order
from marginbench.harness.running.mapped_data import open_data


def judge(order: Order, report: dict[str, Any], answer: bytes, output: bytes) -> tuple[Outcome, str]:
    """The outcome, and what belongs into the log beside the solver's own output."""
    trouble = ""
    if report["answered"]:
        text, arrays = _parts(answer)
        if "record" in text:
            outcome = Outcome(record_from_plain(text["record"]), _point(text, arrays))
        else:
            status = "memory" if text["status"] == "memory" else "failed"
            outcome = blank(order, status, str(text["message"]))
            trouble = str(text["traceback"])
    else:
        status, message = _cause(order, report, output)
        outcome = _so_far(order) or blank(order, status, message)
        outcome.record.status, outcome.record.message = status, message
    if report["unkept"]:
        trouble = f"\n[{report['unkept']} bytes more]\n{trouble}"
    record = outcome.record
    record.peak_mb = report["peak_mb"]
    code = report["exit_code"]
    record.machine |= {
        "cpu": order.cpu,
        "memory_limit": MEMORY_LIMIT,
        "signal": _signal(code) if code < 0 else "",
        "exit_code": max(code, 0),
        **{key: report[key] for key in ("process_seconds", "process_cpu_seconds", "minor_faults", "major_faults")},
    }
    return outcome, trouble


def _so_far(order: Order) -> Outcome | None:
    """What the finished rungs of a ladder have shown, where its process was ended in a later one."""
    try:
        text, arrays = _parts((order.so_far or order.data / "none").read_bytes())
        return Outcome(record_from_plain(text["record"]), _point(text, arrays))
    except OSError:
        return None


def _cause(order: Order, report: dict[str, Any], output: bytes) -> tuple[str, str]:
    """(status, message) of a process that ended without an answer."""
    code, limits = report["exit_code"], order.limits
    if report["late"] or code == -signal.SIGXCPU:
        return "timeout", f"ended by the limit of {limits.seconds:g} s"
    if code >= 0:
        return "failed", f"the process ended with exit code {code} and without an answer"
    # Libraries that do not check what they allocate crash at the limit: by how far they came, it was that.
    own = report["peak_mb"] - report["base_mb"] - sum(file.stat().st_size for file in order.data.iterdir()) / 2**20
    words = (b"bad_alloc", b"MemoryError", os.strerror(errno.ENOMEM).encode())
    if report["out_of_memory"] or own > 0.8 * limits.memory_mb or any(word in output for word in words):
        return "memory", f"ended by {_signal(code)} at {report['peak_mb']:.0f} MB; the limit is {limits.memory_mb:g} MB"
    return "crashed", f"ended by {_signal(code)}"


def _signal(code: int) -> str:
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def lost(order: Order, how: str) -> Outcome:
    """The family itself failed, which a cell must try hard to bring about."""
    if how == "hangs":
        return blank(order, "timeout", f"ended by the limit of {order.limits.seconds:g} s, with the process above it")
    return blank(order, "crashed", "took the process above it along")


def blank(order: Order, status: str, message: str) -> Outcome:
    """A full row for a cell that has no result."""
    cell = order.cell
    try:
        problem = judged_problem(instantiate(cell.formulation), *open_data(order.data), cell.problem)
        record = blank_record(cell, problem, order.digest)
    except Exception:  # whatever is wrong with these, the cell has failed of it too: the message says it
        record = Record(dataset=cell.dataset_name, formulation=cell.formulation_name, solver=cell.solver_name)
    record.status, record.message = status, message
    return Outcome(record)


def _parts(answer: bytes) -> tuple[dict[str, Any], np.ndarray]:
    size, rest = struct.unpack("<2Q", answer[:16])
    text = loads(answer[16 : 16 + size])
    if len(answer) != 16 + size + rest or rest % 8 or not isinstance(text, dict):
        raise Damaged("not of the agreed form")
    return text, np.frombuffer(answer[16 + size :], dtype="<f8")


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
