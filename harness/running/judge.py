"""The judge of a cell: a process into which no solver was ever loaded.

It has its own mapping of the data, its own problem, formulation and program. While it looks at an answer, the whole
process group of the solver stands still. It keeps its own clock of the solver, from outside. Where the solver's own
clock tells less, by more than handing over explains, the outside one counts.
"""

import contextlib
import os
import signal
import socket
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from marginbench.datasets.digest import digest
from marginbench.datasets.mapped import digest_of, open_data
from marginbench.harness.cell.attempt import Opening
from marginbench.harness.cell.judging import Judging
from marginbench.harness.cell.measure import Step
from marginbench.harness.model.problem import Array, Matrix, Point, Problem
from marginbench.harness.records.codec import Damaged
from marginbench.harness.running.cell_job import Order
from marginbench.harness.running.confinement import LINUX
from marginbench.harness.running.exchange import BOUNDS, GO, STOP, opening_of, receive_text, step_of, threads_of
from marginbench.harness.running.features import opened
from marginbench.harness.running.outcome import encode_answer

PER_STEP, PER_BYTE, FIXED, SHARE = 5e-4, 4e-9, 2e-3, 0.05
"""Seconds that handing over may take: for each step, for each byte of its arrays, once; and the share of all time."""

TURN, TURN_SHARE = 0.05, 0.2
"""Seconds, and the share of all time, that the judge may have waited for its turn."""

CREDENTIALS = struct.Struct("3i")
"""Process, user and group, as the kernel writes them."""

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Clock:
    """Time of the solver's process, as seen from outside and as it says itself; sums over the steps of one process."""

    outside: float = 0.0
    cpu: float = 0.0
    allowed: float = FIXED
    threads: int = 1
    """That the solver may use: their CPU seconds add up to so many times the wall's."""
    most: tuple[float, float] = (0.0, 0.0)
    """What was charged last."""

    def charged(self, step: Step) -> tuple[float, float]:
        """(wall, CPU) seconds up to this step, never less than up to the one before.

        The judge may have to wait for its turn on a busy machine, in which the solver does not work: that is excused
        up to a point. Work that the solver's own clock has not seen is not.
        """
        found = self._found(step)
        self.most = max(self.most[0], found[0]), max(self.most[1], found[1])
        return self.most

    def _found(self, step: Step) -> tuple[float, float]:
        """By the sums alone. What one step cannot excuse the next one may, so that these can run back."""
        inside, explained = step.seconds, self.allowed + SHARE * self.outside
        worked, waited = (
            self.cpu - self.threads * inside > explained,
            self.outside - inside > explained + TURN + TURN_SHARE * self.outside,
        )
        if worked or waited or not 0.0 <= inside <= self.outside:
            return self.outside, self.cpu
        own = step.cpu_seconds if 0.0 <= step.cpu_seconds <= self.cpu else 0.0
        return inside, max(
            own, min(self.cpu, self.threads * inside)
        )  # a process that is often stopped counts its own CPU too low


class Examined:
    """The solver's process, from the judge's side of the channel; of a ladder, one process after the other."""

    def __init__(self, channel: socket.socket, memory: int, largest: int, threads: int = 1) -> None:
        self.channel, self.memory, self.largest = channel, memory, largest
        self.pid = 0
        self.clock = Clock(threads=threads)
        self.threads: dict[str, int] = {}
        self.before = self.charged = self.beside = 0.0
        """CPU seconds of all its processes: before the first GO, on the clock, and for what is asked beside it."""
        self.worked = 0.0
        """Seconds on the clock, of all its processes."""

    def opening(self) -> Opening | None:
        """What the next process of the cell says first; None when there is none."""
        previous, self.pid = self.pid, 0
        self.pid = self._sender()
        if self.pid and self.pid == previous:
            raise Damaged("a process that is still the one before")
        text = receive_text(self.channel) if self.pid else None
        if text is None:
            return None
        self.clock = Clock(threads=self.clock.threads)
        self.before += cpu_of(self.pid)
        self.threads = threads_of(text.get("threads"))
        return opening_of(text.get("opening"))

    def steps(self, restarts: bool) -> Iterator[Step]:
        """The steps of the solver, of each rung's process in turn."""
        while (step := self._next()) is not None:
            yield step
            if step.ended:
                return
            if restarts:  # the next rung is climbed by a process of its own
                self._say(GO)
                if self.opening() is None:
                    return

    def _next(self) -> Step | None:
        start, cpu_start = time.perf_counter(), cpu_of(self.pid)
        self._say(GO)
        text = receive_text(self.channel)
        worked = time.perf_counter() - start
        self.clock.outside += worked
        self.worked += worked
        self.halt()
        spent = cpu_of(self.pid) - cpu_start
        if text is None:
            return None
        self.clock.cpu += spent
        self.charged += spent
        self.clock.allowed += PER_STEP + PER_BYTE * os.fstat(self.memory).st_size
        step = step_of(text.get("step"), self.memory, self.largest)
        seconds, cpu_seconds = self.clock.charged(step)
        return replace(step, seconds=seconds, cpu_seconds=cpu_seconds)

    def bounds(self) -> list[float | None]:
        """What theory promises of the iterates. All answers are given: who works here gains nothing."""
        cpu_start = cpu_of(self.pid)
        self._say(BOUNDS)
        text = receive_text(self.channel) or {}
        self.halt()
        self.beside += cpu_of(self.pid) - cpu_start
        return [bound if type(bound) is float else None for bound in text.get("bounds", ())]

    def _sender(self) -> int:
        """The process that speaks next, by the word of the kernel (on Linux) or its own; 0 when nobody does."""
        if not LINUX:
            said = self.channel.recv(8, socket.MSG_WAITALL)
            return struct.unpack("<q", said)[0] if len(said) == 8 else 0
        said, ancillary, _, _ = self.channel.recvmsg(8, socket.CMSG_SPACE(CREDENTIALS.size), socket.MSG_WAITALL)
        for level, kind, content in ancillary:
            if len(said) == 8 and (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
                return CREDENTIALS.unpack(content[: CREDENTIALS.size])[0]
        return 0

    def halt(self) -> None:
        """Stop the whole process group, and wait until it stands."""
        if _signal(self.pid, signal.SIGSTOP):
            deadline = time.monotonic() + 1.0
            while _stat(self.pid)[0] not in "TtZX" and time.monotonic() < deadline:
                time.sleep(0.0)

    def _say(self, byte: bytes) -> None:
        """Let it go on, and tell it what is wanted."""
        _signal(self.pid, signal.SIGCONT)
        with contextlib.suppress(OSError):  # it is gone: that shows when it is listened to
            self.channel.sendall(byte)

    def dismiss(self) -> None:
        """It is not needed any more: it may end by itself, and is ended if it does not."""
        self._say(STOP)


def judged(X: Matrix, y: Array, order: Order, channel: int, memory: int, points: int) -> bytes:
    """The outcome of a cell whose solver speaks through `channel`, and an account of its process.

    The point goes into the file `points`, which the solver does not have.

    ended: False where the solver's process died without a word; the process above it tells how.
    """
    start = time.process_time()
    judging = Judging(order.cell, X, y, order.digest, order.known, features=opened(order.features, order.fits))
    setup = time.process_time() - start
    with socket.socket(fileno=channel) as solver:
        largest = 16 * (judging.problem.n + judging.problem.size + 16)
        examined = Examined(solver, memory, largest, order.cell.threads)
        ended = True
        try:
            opening = examined.opening()
            if opening is None:
                ended, outcome = False, judging.refused("failed", "its process ended without a word")
            else:
                outcome = judging.outcome(opening, examined.steps(opening.restarts))
                ended = judging.result.ended_by != "process"
                if opening.bounded and ended:
                    judging.add_bounds(examined.bounds())
        except Damaged as error:
            outcome = judging.so_far()
            outcome.record.status, outcome.record.message = "failed", f"its answer cannot be read: {error}"
        finally:
            examined.dismiss()
    if order.held_out is not None and outcome.point is not None:
        outcome.record.test_accuracy = test_accuracy(judging.problem, outcome.point, order.held_out)
    about: dict[str, Any] = {
        "ended": ended,
        "threads": examined.threads,
        "setup_cpu_seconds": setup,
        "before_cpu_seconds": examined.before,
        "charged_cpu_seconds": examined.charged,
        "beside_cpu_seconds": examined.beside,
        "solver_seconds": examined.worked,
        "certificates": len(judging.result.costs),
        "certificate_seconds": sum(judging.result.costs),
        "earned_certificate_seconds": judging.result.earned,
    }
    return encode_answer(outcome, about, points if order.point else None)


def test_accuracy(problem: Problem, point: Point, held_out: Path) -> float | None:
    """The share of held-out rows on the right side of the point; None where they are not what their name says."""
    try:
        X, y = open_data(held_out, touched=False)
    except (OSError, ValueError):
        return None
    if digest(X, y) != digest_of(held_out.name) or X.shape[1] != problem.d:
        return None
    return float(np.mean(y * (problem.scores_of(X, point.w) + point.b) > 0.0))


def cpu_of(pid: int) -> float:
    """CPU seconds of a process with all its threads and its ended children, read from outside; 0 if it is gone."""
    with contextlib.suppress(OSError, AttributeError, OverflowError):
        own = time.clock_gettime((~pid << 3) | 2)
        stat = _stat(pid)
        return own + (int(stat[13]) + int(stat[14])) / TICKS if len(stat) > 14 else own
    return 0.0


def _signal(pid: int, number: int) -> bool:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if pid:
            os.killpg(pid, number)
            return True
    return False


def _stat(pid: int) -> list[str]:
    """/proc/PID/stat from the state on; ["X"] where there is none."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return ["X"]
