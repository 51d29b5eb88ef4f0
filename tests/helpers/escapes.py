"""Solvers for tests only, whose answers are right or wrong and whose time is in unusual places."""

import ctypes
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from numba import njit

from marginbench.harness.model.adapters import Ladder
from marginbench.harness.model.programs import BoxDual, Program
from marginbench.harness.model.solver import Iterate, Solver

WORK = 0.3
"""Seconds of work that each of these hides."""

DONE: list[float] = []


def work(now=time.process_time) -> None:
    end = now() + WORK
    while now() < end:
        pass


@dataclass(frozen=True)
class Doubled(Solver):
    """Changes the problem that it is given, and solves that."""

    accepts = (BoxDual,)

    def iterates(self, program: Program) -> Iterator[Iterate]:
        assert isinstance(program, BoxDual)
        program.upper.flags.writeable = True
        program.upper[:] *= 2.0
        yield Iterate(program.upper.copy(), claim="converged")


@dataclass(frozen=True)
class Hidden(Solver):
    """where: `patched clock`, `call`, `after`."""

    where: str = "call"

    accepts = (BoxDual,)

    def warm_up(self, program: Program) -> None:
        pass

    def iterates(self, program: Program):
        assert isinstance(program, BoxDual)
        if self.where == "patched clock":
            stop_clocks()
        if self.where == "after":
            return self._working_after(program)
        work()
        return iter([Iterate(program.upper.copy(), claim="converged")])

    def _working_after(self, program: BoxDual) -> Iterator[Iterate]:
        yield Iterate(0.5 * program.upper)
        work()


def stop_clocks() -> None:
    """Whatever reads a clock in this process from now on reads 0."""
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_code.co_name != "steps":
        frame = frame.f_back
    for name in ("perf_counter", "process_time", "monotonic"):
        setattr(time, name, lambda: 0.0)
    frame.f_locals["wall"] = frame.f_locals["cpu"] = lambda: 0.0
    ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(0))


@njit
def kernel(x):
    return x + 1.0


@dataclass(frozen=True)
class Compiling(Solver):
    """The example of the README: a kernel, and no warm-up of its own."""

    accepts = (BoxDual,)

    def iterates(self, program: Program) -> Iterator[Iterate]:
        assert isinstance(program, BoxDual)
        before = len(kernel.signatures)
        kernel(program.y)
        yield Iterate(program.upper.copy(), info={"compiled": len(kernel.signatures) - before}, claim="converged")


@dataclass(frozen=True)
class Remembering(Ladder):
    """A ladder that would like to go on from its last rung."""

    tolerances: Sequence[float] = (1e-2, 1e-4, 1e-6)

    accepts = (BoxDual,)

    def warm_up(self, program: Program) -> None:
        pass

    def solve(self, program: Program, tolerance: float) -> Iterate:
        assert isinstance(program, BoxDual)
        DONE.append(tolerance)
        share = 1.0 if tolerance < 1e-5 else 0.5
        return Iterate(share * program.upper, claim="converged", info={"done": len(DONE)})


@dataclass(frozen=True)
class Claims(Solver):
    """Right up to a factor, with a claim of its own."""

    claim: str = "converged"
    factor: float = 1.0
    info: int = 0

    accepts = (BoxDual,)

    def iterates(self, program: Program) -> Iterator[Iterate]:
        assert isinstance(program, BoxDual)
        claim: object = self.claim
        yield Iterate(self.factor * program.upper, claim=claim, info={"x": "x" * self.info})  # type: ignore[arg-type]


def modules(_: str) -> bytes:
    """A job: the modules that its process has loaded."""
    from marginbench.harness.running.job import framed

    return framed({"modules": sorted(sys.modules)})
