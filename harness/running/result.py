"""What became of a job, from the report of the process that watched it and from its own answer."""

import errno
import os
import signal
from pathlib import Path
from typing import Any

from marginbench.datasets.mapped import bytes_in
from marginbench.harness.records.codec import Damaged, loads
from marginbench.harness.running.job import Job, Result, unframed


def result_of(job: Job, said: bytes, answer: bytes, output: bytes) -> tuple[Result, bytes]:
    """The result, and what belongs into the log: its output and its traceback. `said`: the report of its parent."""
    report = loads(said)
    code = report["exit_code"]
    report |= {"signal": _signal(code) if code < 0 else "", "exit_code": max(code, 0)}
    trace = ""
    if not report["answered"]:
        status, message = cause(job, report | {"exit_code": code}, output)
        result = Result(status=status, message=message, report=report)
    else:
        try:
            text, raw = unframed(answer)
            if failure := text.get("failure"):
                status = "memory" if failure["status"] == "memory" else "failed"
                result = Result(status=status, message=str(failure["message"]), report=report)
                trace = str(failure["traceback"])
            else:
                result = Result(text, raw, report=report)
        except (Damaged, TypeError, LookupError) as error:
            result = Result(status="failed", message=f"its answer cannot be read: {error}", report=report)
    more = f"\n[{report['unkept']} bytes more]\n" if report["unkept"] else ""
    return result, output + (more + trace).encode()


def cause(job: Job, report: dict[str, Any], output: bytes) -> tuple[str, str]:
    """(status, message) of a process that ended without an answer."""
    code, limits = report["exit_code"], job.limits
    if report["late"] or code == -signal.SIGXCPU:
        return "timeout", f"ended by the limit of {limits.seconds:g} s"
    if code >= 0:
        return "failed", f"the process ended with exit code {code} and without an answer"
    # Libraries that do not check what they allocate crash at the limit: by how far they came, it was that.
    own = report["peak_mb"] - report["base_mb"] - size_mb(job.data)
    if not job.resident:  # how much of the data counted is not known
        own = report["own_mb"] - report["base_mb"]
    words = (b"bad_alloc", b"MemoryError", os.strerror(errno.ENOMEM).encode())
    if report["out_of_memory"] or own > 0.8 * limits.memory_mb or any(word in output for word in words):
        return "memory", f"ended by {_signal(code)} at {report['peak_mb']:.0f} MB; the limit is {limits.memory_mb:g} MB"
    return "crashed", f"ended by {_signal(code)}"


def lost(job: Job, hangs: bool) -> Result:
    """Its parent process does not answer, or not in the agreed form, which a job must try hard to bring about."""
    if hangs:
        message = f"ended by the limit of {job.limits.seconds:g} s, with its parent process"
        return Result(status="timeout", message=message)
    return Result(status="crashed", message="the solver killed its parent process")


def size_mb(data: Path | None) -> float:
    return 0.0 if data is None else bytes_in(data) / 2**20


def _signal(code: int) -> str:
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
