r"""The processes behind `marginbench.harness.running.isolation`: fork from a warm interpreter, guard, clean up behind.

    harness --- root --- family of solver A --- cell        each a fork of the one before
                    \--- family of solver B --- cell

root    a fresh interpreter with the harness imported and its kernels compiled. It runs nothing foreign, so that it
        outlives every accident, and forks families.
family  has imported one solver's module and called its `warm_up`. It forks a cell, waits with an eye on the clock,
        ends what is left of it, and reports.
cell    runs under its limits and answers through a pipe (`marginbench.harness.running.confinement`).

Nobody outlives the harness: root and families leave when their socket closes and end all their descendants; a cell
dies with its family. A session of its own hides no descendant: as an orphan it comes to the nearest subreaper. Only
what the harness itself says is pickled; what comes back is JSON and raw bytes.
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

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_info

from marginbench.harness.cell.certificate import certify
from marginbench.harness.cell.measure import pass_seconds
from marginbench.harness.cell.spec import chosen_kind, instantiate, judged_problem, library_versions, missing
from marginbench.harness.model.problem import Matrix, Problem
from marginbench.harness.records.codec import dumps
from marginbench.harness.rowops import passes
from marginbench.harness.rowops.rows import rows_of
from marginbench.harness.running.confinement import (
    LINUX,
    PR_SET_CHILD_SUBREAPER,
    PR_SET_PDEATHSIG,
    Order,
    process_control,
)
from marginbench.harness.running.mapped_data import open_data
from marginbench.harness.running.supervisor import LARGEST, end_children, guard

# -- root ---------------------------------------------------------------------------------------------------------


def root(channel: int) -> None:
    """For each socket received, a family on it; until the harness closes the channel or is gone."""
    parent, families = os.getppid(), set[int]()
    process_control(PR_SET_CHILD_SUBREAPER, 1)
    _rehearse()
    with socket.socket(fileno=channel) as harness:
        while os.getppid() == parent:
            families -= end_children(spare=families)
            if not select.select([harness], [], [], 1.0)[0]:
                continue
            byte, descriptors, _, _ = socket.recv_fds(harness, 1, 1)
            if not byte:
                break
            pid = os.fork()
            if pid == 0:
                try:
                    harness.close()
                    family(socket.socket(fileno=descriptors[0]))
                finally:
                    os._exit(1)
            os.close(descriptors[0])
            families.add(pid)
            harness.sendall(struct.pack("<q", pid))
    deadline = time.monotonic() + 1.0
    while families and time.monotonic() < deadline:
        families -= end_children(spare=families)
        time.sleep(0.01)
    end_children()


def _rehearse() -> None:
    """Call what every cell calls, once, on data of both layouts, so that forks find it imported and compiled."""
    y = np.array([1.0, -1.0])
    for X in (np.eye(2), sp.csr_array(np.eye(2))):
        problem = Problem(_read_only(X), y)
        certify(problem, problem.point(np.zeros(2)))
        pass_seconds(problem, least=0.0)
        passes.margins(rows_of(problem.X), y, np.zeros(2), 0.0, np.zeros(2))
    threadpool_info()
    gc.freeze()


def _read_only(X: Matrix) -> Matrix:
    """Mapped data are read-only, which is another type to compiled kernels: what warms them must be so too."""
    for array in (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,):
        array.flags.writeable = False
    return X


# -- family -------------------------------------------------------------------------------------------------------


def family(harness: socket.socket) -> NoReturn:
    """Answer orders until the harness closes the socket."""
    process_control(PR_SET_PDEATHSIG, signal.SIGKILL)
    process_control(PR_SET_CHILD_SUBREAPER, 1)
    with contextlib.suppress(ConnectionError):
        while request := receive(harness, 1):
            warm, order = pickle.loads(request[0])
            send(harness, *(_warm(order) if warm else guard(harness, order)))
    os._exit(0)


def send(to: socket.socket, *parts: bytes) -> None:
    to.sendall(struct.pack(f"<{len(parts)}Q", *map(len, parts)) + b"".join(parts))


def receive(source: socket.socket, count: int) -> list[bytes] | None:
    """The `count` parts that `send` sent; None when the other side is gone or talks without end."""
    header = _exactly(source, 8 * count)
    if header is None:
        return None
    sizes = struct.unpack(f"<{count}Q", header)
    if sum(sizes) > 2 * LARGEST:
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


def _warm(order: Order) -> tuple[bytes]:
    """What a solver pays once (importing, compiling), on eight rows of the data; how many threads there are then."""
    cell = order.cell
    with contextlib.suppress(Exception):  # it will show in the cell, whose message it becomes
        X, y = open_data(order.data)
        some = np.sort(np.concatenate([np.flatnonzero(y > 0)[:4], np.flatnonzero(y < 0)[:4]]))
        formulation, solver = instantiate(cell.formulation), instantiate(cell.solver)
        problem = judged_problem(formulation, _read_only(X[some]), _read_only(y[some]), cell.problem)
        formulation = formulation.at(problem.point(np.zeros(problem.n)), problem)
        if missing(solver) is None:
            library_versions(solver)
            solver.warm_up(formulation.program(problem, chosen_kind(formulation, solver)))
    gc.collect()
    gc.freeze()
    return (dumps(len(os.listdir("/proc/self/task")) if LINUX else 1).encode(),)
