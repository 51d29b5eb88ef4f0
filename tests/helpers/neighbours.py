"""Solvers for tests of workers: one kills the worker it runs under, one waits, and says when."""

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from marginbench.harness.model.programs import BoxDual, Program
from marginbench.harness.model.solver import Iterate, Solver


@dataclass(frozen=True)
class WorkerKiller(Solver):
    accepts = (BoxDual,)

    def iterates(self, program: Program) -> Iterator[Iterate]:
        assert isinstance(program, BoxDual)
        pid = os.getpid()
        while pid > 1 and not _is_worker(pid):
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(pid, signal.SIGKILL)
        time.sleep(60.0)
        yield Iterate(program.upper.copy())


def _is_worker(pid: int) -> bool:
    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return b"marginbench" in words and b"work" in words


@dataclass(frozen=True)
class Waiter(Solver):
    """Takes so many seconds and no CPU. Its answer, alpha = upper, is right where C is tiny.

    Where WAITER_LOG names a file, it gets a line with begin and end.
    """

    seconds: float = 0.2

    accepts = (BoxDual,)

    def iterates(self, program: Program) -> Iterator[Iterate]:
        assert isinstance(program, BoxDual)
        begin = time.monotonic()
        time.sleep(self.seconds)
        if log := os.environ.get("WAITER_LOG"):
            with open(log, "a") as file:
                file.write(f"{begin} {time.monotonic()}\n")
        yield Iterate(program.upper.copy())
