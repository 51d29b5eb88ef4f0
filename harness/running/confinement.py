"""Inside the process of one cell: limits on, run, answer, end.

The answer goes through a pipe of its own, so that a solver may print what it likes: two sizes, a JSON text, and the
arrays of the point as raw float64. The harness reads it as data; nothing in it is ever executed.
"""

import ctypes
import errno
import faulthandler
import math
import os
import random
import resource
import signal
import struct
import sys
import traceback
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from threadpoolctl import threadpool_info

from marginbench.harness.cell.run import Outcome, run_cell
from marginbench.harness.cell.spec import Cell
from marginbench.harness.files import write_atomically
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.records.codec import dumps, record_to_plain
from marginbench.harness.running.mapped_data import open_data

LINUX = sys.platform == "linux"
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36

MEMORY_LIMIT = "RLIMIT_AS" if LINUX else ""
"""The means by which memory is limited; none on systems that do not say how much a process has mapped."""

ARRAYS = ("w", "alpha", "xi")


@dataclass(frozen=True)
class Limits:
    """Of one cell: seconds of wall clock, evaluation included; memory beyond the loaded libraries and the data."""

    seconds: float = 60.0
    memory_mb: float = 4096.0


@dataclass(frozen=True)
class Order:
    """A cell to run, and on what: `data` is a folder of `spill`; `cpu` the core to stay on, if any."""

    cell: Cell
    data: Path
    digest: str
    known: Bounds | None
    limits: Limits
    cpu: int | None
    so_far: Path | None = None
    """Where a ladder leaves what its finished rungs have shown, for the case that the next one does not end."""


def process_control(option: int, value: int) -> None:
    """prctl(2), where there is one."""
    if LINUX:
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def confined(order: Order, answer: int, output: int, parent: int) -> NoReturn:
    """Run the order in this process, a fresh fork, and end it."""
    os.setsid()
    process_control(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before it could be bound to
        os._exit(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    faulthandler.enable(2)
    unlimited = resource.getrlimit(resource.RLIMIT_AS)
    try:
        reply = _run(order)
        resource.setrlimit(resource.RLIMIT_AS, unlimited)
    except BaseException as error:
        resource.setrlimit(resource.RLIMIT_AS, unlimited)
        reply = _excuse(error)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue  # the solver closed it
    view = memoryview(reply)
    while view:
        view = view[os.write(answer, view) :]
    os._exit(0)


def _run(order: Order) -> bytes:
    limits = order.limits
    if order.cpu is not None:
        os.sched_setaffinity(0, {order.cpu})
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_CPU, math.ceil(limits.seconds) + 1)
    random.seed(order.cell.seed)
    np.random.seed(order.cell.seed % 2**32)  # noqa: NPY002 - solvers that draw from the global state begin from a known one
    X, y = open_data(order.data)
    limit_memory(limits.memory_mb)
    outcome = run_cell(order.cell, X, y, order.digest, order.known, tell=partial(_leave, order.so_far))
    threads = {Path(library["filepath"]).name: library["num_threads"] for library in threadpool_info()}
    outcome.record.machine["threads"] = threads
    return encode_answer(outcome)


def _leave(path: Path | None, outcome: Outcome) -> None:
    if path is not None:
        write_atomically(path, encode_answer(outcome), synced=False)  # the process may be ended at any moment


def limit_memory(mb: float) -> None:
    """Let this process map `mb` more than it has."""
    if MEMORY_LIMIT:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        _lower(resource.RLIMIT_AS, pages * resource.getpagesize() + int(mb * 2**20))


def _lower(limit: int, value: int) -> None:
    """The soft limit alone: the process may lift it again to tell what happened."""
    _, hard = resource.getrlimit(limit)
    resource.setrlimit(limit, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


# -- the answer ---------------------------------------------------------------------------------------------------


def encode_answer(outcome: Outcome) -> bytes:
    text: dict[str, Any] = {"record": record_to_plain(outcome.record), "b": None, "sizes": {}}
    raw = b""
    if outcome.point is not None:
        text["b"] = float(outcome.point.b)
        for name in ARRAYS:
            if (array := getattr(outcome.point, name)) is not None:
                array = np.ascontiguousarray(array, dtype="<f8")
                text["sizes"][name] = array.size
                raw += array.tobytes()
    return _framed(text, raw)


def _excuse(error: BaseException) -> bytes:
    """What went wrong: the last line for the record, all of it for the log."""
    kind = type(error).__name__
    lines = [line for line in str(error).splitlines() if line.strip()] or [""]
    short = isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
    message = f"{kind}: {lines[-1].strip()}" if lines[-1] else kind
    status = "memory" if short or "bad_alloc" in str(error) else "failed"
    return _framed({"status": status, "message": message[:500], "traceback": traceback.format_exc()[-(2**16) :]}, b"")


def _framed(text: dict[str, Any], raw: bytes) -> bytes:
    data = dumps(text).encode()
    return struct.pack("<2Q", len(data), len(raw)) + data + raw
