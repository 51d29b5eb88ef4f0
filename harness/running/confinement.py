"""Inside the process of one job: limits on, run, answer, end.

The answer goes through a pipe of its own, so that a solver may print what it likes. The harness reads it as data;
nothing in it is ever executed.
"""

import ctypes
import errno
import faulthandler
import math
import os
import random
import resource
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np

from marginbench.harness.running.features import opened
from marginbench.harness.running.job import Job, framed, resolved
from marginbench.harness.running.mapped_data import open_data

LINUX = sys.platform == "linux"
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36

MEMORY_LIMIT = "RLIMIT_AS" if LINUX else ""
"""The means by which memory is limited; none on systems that do not say how much a process has mapped."""


def process_control(option: int, value: int) -> None:
    """prctl(2), where there is one."""
    if LINUX:
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def confined(job: Job, descriptors: Sequence[int], answer: int, output: int, parent: int) -> NoReturn:
    """Run the job in this process, a fresh fork, and end it."""
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
        reply = _run(job, descriptors)
        resource.setrlimit(resource.RLIMIT_AS, unlimited)
    except BaseException as error:
        resource.setrlimit(resource.RLIMIT_AS, unlimited)
        reply = _failure(error)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue  # the solver closed it
    view = memoryview(reply)
    while view:
        view = view[os.write(answer, view) :]
    os._exit(0)


def _run(job: Job, descriptors: Sequence[int]) -> bytes:
    if job.cores:
        os.sched_setaffinity(0, job.cores[:1])  # where the judge is, and where a team of threads has its first
        os.sched_setaffinity(0, job.cores)
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_CPU, math.ceil(job.threads * job.limits.seconds) + 1)
    random.seed(job.seed)
    np.random.seed(job.seed % 2**32)  # noqa: NPY002 - solvers that draw from the global state begin from a known one
    data = () if job.data is None else open_data(job.data, job.resident)
    opened(job.features, job.resident)
    limit_memory(job.limits.memory_mb)
    return resolved(job.function)(*data, *job.arguments, *descriptors)


def limit_memory(mb: float) -> None:
    """Let this process map `mb` more than it has."""
    if MEMORY_LIMIT:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        _lower(resource.RLIMIT_AS, pages * resource.getpagesize() + int(mb * 2**20))


def _lower(limit: int, value: int) -> None:
    """The soft limit alone: the process may lift it again to tell what happened."""
    _, hard = resource.getrlimit(limit)
    resource.setrlimit(limit, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


def _failure(error: BaseException) -> bytes:
    """The answer of a job that raised: the last line for the record, all of it for the log."""
    kind = type(error).__name__
    lines = [line for line in str(error).splitlines() if line.strip()] or [""]
    short = isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
    message = f"{kind}: {lines[-1].strip()}" if lines[-1] else kind
    status = "memory" if short or "bad_alloc" in str(error) else "failed"
    trace = traceback.format_exc()[-(2**16) :]
    return framed({"failure": {"status": status, "message": message[:500], "traceback": trace}})
