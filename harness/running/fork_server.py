r"""The processes behind `marginbench.harness.running.isolation`: fork from a warm interpreter, guard, clean up behind.

    harness --- root --- parent of solver A --- job         each a fork of the one before
                    \--- parent of solver B --- job
                    \--- parent of judges   --- job, into which no solver was ever loaded

root    a fresh interpreter with the harness imported and its kernels compiled. It runs nothing foreign, so that it
        outlives every accident, and forks parents.
parent  has imported one solver's module and warmed it up. It forks a job, waits for it until its time is over, ends
        what is left of it, and reports.
job     runs under its limits and answers through a pipe (`marginbench.harness.running.confinement`).

Nobody outlives the harness: root and parents leave when their socket closes and end all their descendants; a job dies
with its parent. A session of its own hides no descendant: as an orphan it comes to the nearest subreaper. Only what the
harness itself says is pickled; what comes back is JSON and raw bytes.
"""

import contextlib
import gc
import os
import pickle
import select
import signal
import socket
import struct
import time
from collections.abc import Sequence
from typing import NoReturn

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_info

from marginbench.harness.cell.certificate import certify
from marginbench.harness.cell.exact_objectives import evaluate_exactly
from marginbench.harness.cell.measure import pass_seconds
from marginbench.harness.model.problem import Matrix, Problem
from marginbench.harness.records.codec import dumps
from marginbench.harness.rowops import margins, rows_of
from marginbench.harness.rowops.parallel import libraries
from marginbench.harness.running import data_process, judge, solver_process  # noqa: F401 - forks find them imported
from marginbench.harness.running.confinement import LINUX, PR_SET_CHILD_SUBREAPER, PR_SET_PDEATHSIG, process_control
from marginbench.harness.running.exchange import exactly
from marginbench.harness.running.job import Job, resolved
from marginbench.harness.running.mapped_data import open_data
from marginbench.harness.running.supervisor import LONGEST_ANSWER, end_children, guard

# -- root ---------------------------------------------------------------------------------------------------------


def root(channel: int) -> None:
    """For each socket received, a parent on it; until the harness closes the channel or is gone."""
    harness_pid, parents = os.getppid(), set[int]()
    process_control(PR_SET_CHILD_SUBREAPER, 1)
    _rehearse()
    gc.freeze()
    with socket.socket(fileno=channel) as harness:
        while os.getppid() == harness_pid:
            parents -= end_children(spare=parents)
            if not select.select([harness], [], [], 1.0)[0]:
                continue
            byte, descriptors, _, _ = socket.recv_fds(harness, 1, 1)
            if not byte:
                break
            pid = os.fork()
            if pid == 0:
                try:
                    harness.close()
                    parent(socket.socket(fileno=descriptors[0]))
                finally:
                    os._exit(1)
            os.close(descriptors[0])
            parents.add(pid)
            harness.sendall(struct.pack("<q", pid))
    deadline = time.monotonic() + 1.0
    while parents and time.monotonic() < deadline:
        parents -= end_children(spare=parents)
        time.sleep(0.01)
    end_children()


def _rehearse() -> None:
    """Call what every cell calls, once, on data of both layouts, so that forks find it imported and compiled."""
    y = np.array([1.0, -1.0])
    for X in (np.eye(2), sp.csr_array(np.eye(2))):
        problem = Problem(_read_only(X), y)
        certify(problem, problem.point(np.zeros(2)))
        evaluate_exactly(problem, np.zeros(2), 0.0, np.zeros(2))
        pass_seconds(problem, least=0.0)
        margins(rows_of(problem.X), y, np.zeros(2), 0.0, np.zeros(2))
    threadpool_info()
    libraries()


def _read_only(X: Matrix) -> Matrix:
    """Mapped data are read-only, which is another type to compiled kernels."""
    for array in (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,):
        array.flags.writeable = False
    return X


# -- parent -------------------------------------------------------------------------------------------------------


def parent(harness: socket.socket) -> NoReturn:
    """Do jobs until the harness closes the socket."""
    process_control(PR_SET_PDEATHSIG, signal.SIGKILL)
    process_control(PR_SET_CHILD_SUBREAPER, 1)
    with contextlib.suppress(ConnectionError):
        while request := receive_request(harness):
            (warm, job), descriptors = request
            send(harness, *(_warm(job) if warm else guard(harness, job, descriptors)))
    os._exit(0)


def send_request(to: socket.socket, warm: bool, job: Job, descriptors: Sequence[int]) -> None:
    data = pickle.dumps((warm, job))
    socket.send_fds(to, [struct.pack("<Q", len(data))], list(descriptors))
    to.sendall(data)


def receive_request(source: socket.socket) -> tuple[tuple[bool, Job], list[int]] | None:
    """What `send_request` sent; None when the harness is gone."""
    header, descriptors, _, _ = socket.recv_fds(source, 8, 3)
    data = exactly(source, struct.unpack("<Q", header)[0]) if len(header) == 8 else None
    return None if data is None else (pickle.loads(data), list(descriptors))


def send(to: socket.socket, *parts: bytes) -> None:
    to.sendall(struct.pack(f"<{len(parts)}Q", *map(len, parts)) + b"".join(parts))


def receive(source: socket.socket, count: int) -> list[bytes] | None:
    """The `count` parts that `send` sent; None when the other side is gone or talks without end."""
    header = exactly(source, 8 * count)
    if header is None:
        return None
    sizes = struct.unpack(f"<{count}Q", header)
    if sum(sizes) > 2 * LONGEST_ANSWER:
        return None
    parts = [part for size in sizes if (part := exactly(source, size)) is not None]
    return parts if len(parts) == count else None


def _warm(job: Job) -> tuple[bytes]:
    """Warm up for a job; answers how many threads there are then."""
    with contextlib.suppress(Exception):  # it will show in the job, whose message it becomes
        data = () if job.data is None else open_data(job.data, job.resident)
        resolved(job.warm_up)(*data, *job.arguments)
    gc.collect()
    gc.freeze()
    return (dumps(len(os.listdir("/proc/self/task")) if LINUX else 1).encode(),)
