"""Cheats with the clock that let others work: threads and children, while the judge looks."""

import hashlib
import mmap
import os
import threading
from dataclasses import dataclass

import numpy as np

from marginbench.harness.model.solver import Iterate
from zoo.hidden_time import Hider
from zoo.honest import _thread_time, caged, optimum


def everywhere() -> None:
    """Leave the core that the cell was given."""
    os.sched_setaffinity(0, range(os.cpu_count() or 1))


@dataclass(frozen=True)
class WorksInThread(Hider):
    """Hands over the same empty array again and again, and asks for a look, until a thread has the answer."""

    def iterates(self, program):
        found = []

        def labour():
            everywhere()
            end, block = _thread_time() + self.seconds, bytes(2**20)
            while _thread_time() < end:
                hashlib.sha256(block)  # without the lock of the interpreter
            found.append(optimum(program).alpha)

        threading.Thread(target=labour, daemon=True).start()
        while not found:
            yield Iterate(np.zeros(program.n), look=True)
        yield Iterate(found[0], claim="converged")


@dataclass(frozen=True)
class WorksInChild(Hider):
    """The same with a child."""

    def iterates(self, program):
        caged()
        shared = mmap.mmap(-1, 8 * (program.n + 1))
        values = np.frombuffer(shared)
        if os.fork() == 0:
            try:
                self.settle()
                everywhere()
                values[1:] = self.answer(program)
                values[0] = 1.0
            finally:
                os._exit(0)
        while values[0] == 0.0:
            yield Iterate(np.zeros(program.n), look=True)
        yield Iterate(values[1:].copy(), claim="converged")

    def settle(self):
        """In the group of the cell."""


@dataclass(frozen=True)
class WorksInSession(WorksInChild):
    """The child leaves the group: a signal to the group does not reach it."""

    def settle(self):
        os.setsid()


@dataclass(frozen=True)
class ChangesItsAnswer(Hider):
    """A thread writes into the array after it was handed over: each look sees something else."""

    def iterates(self, program):
        x, right = np.zeros(program.n), optimum(program).alpha
        stop = threading.Event()

        def flicker():
            while not stop.wait(0.0001):
                x[:] = right - x

        threading.Thread(target=flicker, daemon=True).start()
        for _ in range(200):
            yield Iterate(x, look=True)
        stop.set()
        x[:] = 0.0
        yield Iterate(x, claim="converged")
