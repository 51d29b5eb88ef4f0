r"""The processes behind `marginbench.harness.running.isolation`: fork from a warm interpreter, guard, clean up behind.

    harness --- root --- parent of solver A --- job         each a fork of the one before
                    \--- parent of solver B --- job

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
from typing import NoReturn

from marginbench.harness.records.codec import dumps
from marginbench.harness.running.cell_job import rehearse
from marginbench.harness.running.confinement import LINUX, PR_SET_CHILD_SUBREAPER, PR_SET_PDEATHSIG, process_control
from marginbench.harness.running.job import Job, resolved
from marginbench.harness.running.mapped_data import open_data
from marginbench.harness.running.supervisor import LONGEST_ANSWER, end_children, guard

# -- root ---------------------------------------------------------------------------------------------------------


def root(channel: int) -> None:
    """For each socket received, a parent on it; until the harness closes the channel or is gone."""
    harness_pid, parents = os.getppid(), set[int]()
    process_control(PR_SET_CHILD_SUBREAPER, 1)
    rehearse()
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


# -- parent -------------------------------------------------------------------------------------------------------


def parent(harness: socket.socket) -> NoReturn:
    """Do jobs until the harness closes the socket."""
    process_control(PR_SET_PDEATHSIG, signal.SIGKILL)
    process_control(PR_SET_CHILD_SUBREAPER, 1)
    with contextlib.suppress(ConnectionError):
        while request := receive(harness, 1):
            warm, job = pickle.loads(request[0])
            send(harness, *(_warm(job) if warm else guard(harness, job)))
    os._exit(0)


def send(to: socket.socket, *parts: bytes) -> None:
    to.sendall(struct.pack(f"<{len(parts)}Q", *map(len, parts)) + b"".join(parts))


def receive(source: socket.socket, count: int) -> list[bytes] | None:
    """The `count` parts that `send` sent; None when the other side is gone or talks without end."""
    header = _exactly(source, 8 * count)
    if header is None:
        return None
    sizes = struct.unpack(f"<{count}Q", header)
    if sum(sizes) > 2 * LONGEST_ANSWER:
        return None
    parts = [part for size in sizes if (part := _exactly(source, size)) is not None]
    return parts if len(parts) == count else None


def _exactly(source: socket.socket, size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        part = source.recv(min(size - len(data), 2**20))
        if not part:
            return None
        data += part
    return bytes(data)


def _warm(job: Job) -> tuple[bytes]:
    """Warm up for a job; answers how many threads there are then."""
    with contextlib.suppress(Exception):  # it will show in the job, whose message it becomes
        data = () if job.data is None else open_data(job.data)
        resolved(job.warm_up)(*data, *job.arguments)
    gc.collect()
    gc.freeze()
    return (dumps(len(os.listdir("/proc/self/task")) if LINUX else 1).encode(),)
