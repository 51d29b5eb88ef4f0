"""The solver's side of a cell, as a job: build, solve, hand over.

A process runs one solver, or one rung of a ladder. It speaks with the judge through a channel (`exchange.py`).
"""

import contextlib
import os
import socket
import struct
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from math import inf
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

from marginbench.harness.cell.attempt import Attempt
from marginbench.harness.cell.measure import Step
from marginbench.harness.cell.spec import library_versions, misfit, missing
from marginbench.harness.model.problem import Array, Matrix
from marginbench.harness.model.solver import Solver
from marginbench.harness.running.cell_job import Order
from marginbench.harness.running.exchange import BOUNDS, GO, send_text, step_text
from marginbench.harness.running.features import opened
from marginbench.harness.running.job import framed
from marginbench.harness.running.supervisor import survives

WARMED: dict[str, float] = {}
"""What the process that this one was forked from has been warmed up for, and the CPU seconds that once more takes."""

AGAIN = 0.02
"""CPU seconds that a warm-up may take to be repeated in every process. A fork has its parent's memory, but meets each
page of code and of the interpreter anew: a solve of 0.35 ms took 0.75 without. It is part of what a process may take
before its clock runs (`outcome.py`)."""


def attempted(X: Matrix, y: Array, order: Order, rung: int, channel: int, memory: int) -> bytes:
    """Solve, and hand over what is to be looked at. The answer says whether the judge wants to see the next rung."""
    with socket.socket(fileno=channel) as judge:
        judge.sendall(struct.pack("<q", os.getpid()))  # with it the kernel tells the judge who speaks
        optimum = order.known.point if order.known else None
        attempt = Attempt(order.cell, X, y, optimum, opened(order.features, order.fits), order.start)
        opening = attempt.open()
        if not opening.status and WARMED.get(order.kind, 0.0) <= AGAIN:
            attempt.warm_up()
        send_text(judge, {"opening": asdict(opening), "threads": library_threads()})
        taken: Iterator[Step] = iter(())
        infos: list[Mapping[str, Any]] = []
        if not opening.status:
            taken = attempt.steps(rung if attempt.ladder else None)
        while (asked := judge.recv(1)) in (GO, BOUNDS):
            if asked == BOUNDS:
                send_text(judge, {"bounds": attempt.bounds(infos)})
                continue
            step = next(taken, None)
            if step is None:
                return framed({"next_rung": attempt.ladder})
            if step.iterate is not None:
                infos.append(step.iterate.info)
            _flush()
            send_text(judge, {"step": step_text(step, memory)})
        return framed({"next_rung": False})


def library_threads() -> dict[str, int]:
    """Numerical libraries that are loaded, and how many threads each of them uses."""
    return {Path(library["filepath"]).name: library["num_threads"] for library in threadpool_info()}


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # the solver closed it
            stream.flush()


# -- in the process that solvers are forked from ------------------------------------------------------------------


def warm_up(X: Matrix, y: Array, order: Order, _: int) -> None:
    """What a solver pays once (importing, compiling), on a few rows of the data; then again, to know what it takes."""
    attempt = Attempt(order.cell, X, y)
    if missing(attempt.solver) is None and misfit(attempt.formulation, attempt.solver, attempt.problem) is None:
        library_versions(attempt.solver)
        WARMED[order.kind] = inf
        if type(attempt.solver).warm_up is not Solver.warm_up or survives(attempt.warm_up, order.limits.seconds):
            attempt.warm_up()
            for _ in range(3):  # the least counts: a busy machine makes one of them long
                start = time.process_time()
                attempt.warm_up()
                WARMED[order.kind] = min(WARMED[order.kind], time.process_time() - start)
                if WARMED[order.kind] <= AGAIN:
                    break
