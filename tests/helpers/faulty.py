"""A solver for tests only. It knows the answer, alpha = upper, of problems whose rows are short, and spoils it."""

import contextlib
import ctypes
import os
import random
import signal
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit

from marginbench.harness.model.adapters import Ladder
from marginbench.harness.model.programs import BoxDual, Program
from marginbench.harness.model.solver import Iterate, Solver

LATE = 0.6
"""Seconds after which the mode `late` has its answer."""


@dataclass(frozen=True)
class Faulty(Solver):
    """mode: `right`, or one of DEEDS, done before the right answer is given, or of ANSWERS, given in its place."""

    mode: str = "right"

    accepts = (BoxDual,)

    def warm_up(self, program: Program) -> None:
        spin(False)
        if self.mode in WARM_UPS:
            WARM_UPS[self.mode]()

    def iterates(self, program: Program) -> Iterator[Iterate]:
        assert isinstance(program, BoxDual)
        if self.mode == "stop_without_iterate":
            return
        if self.mode in DEEDS:
            DEEDS[self.mode](program)
        alpha = program.upper.copy()
        yield Iterate(ANSWERS[self.mode](alpha) if self.mode in ANSWERS else alpha, claim="converged")


@njit
def spin(forever):
    """A loop that holds the interpreter: no signal handler written in Python gets a turn."""
    k = 0
    while forever:
        k = (k * 1103515245 + 12345) % 2147483648
    return k


def segfault() -> None:
    ctypes.string_at(0)


def hang() -> None:
    while True:
        time.sleep(1.0)


def ignore_sigterm() -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGXCPU):
        signal.signal(number, signal.SIG_IGN)
    hang()


def leave_a_child() -> None:
    """A grandchild of the cell in a session of its own, whose parent is gone."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            hang()
        os._exit(0)


def fork_and_hang() -> None:
    leave_a_child()
    os.fork()
    hang()


def allocate() -> None:
    hoard = []
    while True:
        hoard.append(np.empty(2**22))


def print_a_megabyte() -> None:
    print("x" * 2**20)
    os.write(2, b"y" * 2**20)


def change_random_state() -> None:
    random.seed(99)
    np.random.seed(99)  # noqa: NPY002
    np.seterr(all="raise")


def change_data(program: BoxDual) -> None:
    program.X[0, 0] = 1e9


def change_data_in_c(program: BoxDual) -> None:
    ctypes.memset(program.X.ctypes.data, 0, program.X.nbytes)


def forge_an_answer() -> None:
    """Write an answer of the right form and the wrong content wherever one can be written."""
    for descriptor in range(3, 64):
        with contextlib.suppress(OSError):
            os.write(descriptor, struct.pack("<2Q", 8, 0) + b'{"b": 1}')


def quit_python() -> None:
    sys.exit(7)


DEEDS: dict[str, Callable[[BoxDual], object]] = {
    "raise": lambda program: program.no_such_thing,
    "segfault": lambda program: segfault(),
    "abort": lambda program: os.abort(),
    "exit": lambda program: os._exit(3),
    "exit_as_if_well": lambda program: os._exit(0),
    "sys_exit": lambda program: quit_python(),
    "hang_python": lambda program: hang(),
    "hang_kernel": lambda program: spin(True),
    "ignore_sigterm": lambda program: ignore_sigterm(),
    "fork_and_hang": lambda program: fork_and_hang(),
    "leave_a_child": lambda program: leave_a_child(),
    "allocate": lambda program: allocate(),
    "megabyte_stdout": lambda program: print_a_megabyte(),
    "change_random_state": lambda program: change_random_state(),
    "change_data": change_data,
    "change_data_in_c": change_data_in_c,
    "late": lambda program: time.sleep(LATE),
    "forge_an_answer": lambda program: forge_an_answer(),
    "close_everything": lambda program: os.closerange(0, 1000),
    "kill_parent": lambda program: os.kill(os.getppid(), signal.SIGKILL) or hang(),
}


def read_only(alpha: np.ndarray) -> np.ndarray:
    alpha.flags.writeable = False
    return alpha


ANSWERS: dict[str, Callable[[np.ndarray], object]] = {
    "nan": lambda alpha: np.full_like(alpha, np.nan),
    "inf": lambda alpha: np.full_like(alpha, np.inf),
    "none": lambda alpha: None,
    "wrong_shape": lambda alpha: alpha[:-1],
    "text": lambda alpha: "converged",
    "complex": lambda alpha: alpha + 1j,
    "integer": lambda alpha: alpha.astype(int),
    "read_only": read_only,
    "lie_zeros": np.zeros_like,
    "alpha_outside": lambda alpha: 2.0 * alpha,
}


def start_a_thread() -> None:
    threading.Thread(target=hang, daemon=True).start()


WARM_UPS: dict[str, Callable[[], object]] = {
    "warm_up_crashes": segfault,
    "warm_up_hangs": hang,
    "warm_up_starts_a_thread": start_a_thread,
}


WARMED_IN: list[int] = []


@dataclass(frozen=True)
class Warmed(Solver):
    """Right, and tells in which of the processes above it, or in its own, it was warmed up. seconds: what that takes;
    late: what it takes in the process that solves, where nobody has measured it before."""

    seconds: float = 0.0
    late: float = 0.0

    accepts = (BoxDual,)

    def warm_up(self, program: Program) -> None:
        below = bool(WARMED_IN) and os.getpid() != WARMED_IN[0]
        end = time.process_time() + (self.late if below else self.seconds)
        while time.process_time() < end:
            pass
        WARMED_IN.append(os.getpid())

    def iterates(self, program: Program) -> Iterator[Iterate]:
        assert isinstance(program, BoxDual)
        own = sum(pid == os.getpid() for pid in WARMED_IN)
        yield Iterate(program.upper, claim="converged", info={"above": len(WARMED_IN) - own, "here": own})


@dataclass(frozen=True)
class Stuck(Ladder):
    """Its first rung is half right and its second never ends."""

    tolerances: Sequence[float] = (1e-2, 1e-4)

    accepts = (BoxDual,)

    def warm_up(self, program: Program) -> None:
        spin(False)

    def solve(self, program: Program, tolerance: float) -> Iterate:
        assert isinstance(program, BoxDual)
        spin(tolerance < 1e-2)
        return Iterate(0.5 * program.upper, claim="converged")
