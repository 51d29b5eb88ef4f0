"""Sloppy: stops early and says it is done, leaks state, throws what is no error, talks too much."""

import random
import sys
import threading
import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from marginbench.harness.model.solver import Iterate
from zoo.honest import OnRisk, caged, optimum, work


@dataclass(frozen=True)
class LooseTolerance(OnRisk):
    """Claims convergence at a relative gap of about 5e-3: below `wrong_gap`, far above what was asked."""

    def answer(self, program):
        return super().answer(program) * 1.02


@dataclass(frozen=True)
class StopsEarly(OnRisk):
    """One step, and done."""

    def answer(self, program):
        return program.X.T @ program.y / program.n / program.lam


@dataclass(frozen=True)
class HalfPrecision(OnRisk):
    """Float16 inside, float64 outside: a gap of about 1e-4 called convergence."""

    def answer(self, program):
        return np.float64(np.float16(super().answer(program) * (1 + 4e-3)))


@dataclass(frozen=True)
class Averages(OnRisk):
    """Ends with the mean of all it went through, though its last point is better."""

    def iterates(self, program):
        w = self.answer(program)
        yield Iterate(0.5 * w)
        yield Iterate(0.999 * w)
        yield Iterate(0.7495 * w, claim="converged")


@dataclass(frozen=True)
class NoProgress(OnRisk):
    """Yields where it began, for ever."""

    def iterates(self, program):
        while True:
            yield Iterate(np.zeros(program.d))


@dataclass(frozen=True)
class GlobalDice(OnRisk):
    """Draws from the global random state: the way there is another one each time."""

    def iterates(self, program):
        w = self.answer(program)
        yield Iterate(w + np.random.normal(size=program.d))  # noqa: NPY002
        yield Iterate(w, claim="converged")


@dataclass(frozen=True)
class SetsGlobalSeed(OnRisk):
    def answer(self, program):
        random.seed(0)
        np.random.seed(0)  # noqa: NPY002
        return super().answer(program)


@dataclass(frozen=True)
class StaleState(OnRisk):
    """Starts where an earlier problem of the same size ended, and believes that it is there."""

    answers: ClassVar[dict[tuple[int, ...], np.ndarray]] = {}

    def answer(self, program):
        return self.answers.setdefault((*program.X.shape, program.intercept), super().answer(program))


@dataclass(frozen=True)
class LeavesThread(OnRisk):
    """A thread of its pool is never joined."""

    def answer(self, program):
        threading.Thread(target=time.sleep, args=(5.0,), daemon=True).start()
        return super().answer(program)


@dataclass(frozen=True)
class Sleeps(OnRisk):
    """Waits for something else: time is wall clock too."""

    seconds: float = 0.15

    def answer(self, program):
        time.sleep(self.seconds)
        return super().answer(program)


@dataclass(frozen=True)
class SlowFirstStep(OnRisk):
    """What it compiles or allocates in the first step is honest work of the first step."""

    seconds: float = 0.15

    def answer(self, program):
        work(self.seconds)
        return super().answer(program)


@dataclass(frozen=True)
class HugeInfo(OnRisk):
    """A column for each of a hundred thousand counts."""

    def iterates(self, program):
        info = {f"count {k}": float(k) for k in range(100_000)}
        yield Iterate(self.answer(program), claim="converged", info=info)


@dataclass(frozen=True)
class HugeMessage(OnRisk):
    """Fails with five megabytes of words."""

    def iterates(self, program):
        yield Iterate(np.zeros(program.d), claim="failed", said="no " * 1_700_000)


@dataclass(frozen=True)
class Escapes(OnRisk):
    """Words with line ends and codes that repaint a terminal."""

    def iterates(self, program):
        print("\x1b[2J\x1b]0;mine\x07", flush=True)
        yield Iterate(np.zeros(program.d), claim="failed", said="bad\n\x1b[31mred\x1b[0m\r| row | of | a | table |\x00")


@dataclass(frozen=True)
class PrintsMegabytes(OnRisk):
    def answer(self, program):
        for _ in range(200):
            sys.stdout.write("x" * 100_000)
        return super().answer(program)


@dataclass(frozen=True)
class Raises(OnRisk):
    """An exception that is no Exception: what ends a program must not end the harness."""

    kind: type[BaseException] = ValueError

    def iterates(self, program):
        caged()
        raise self.kind("from the solver")
        yield


@dataclass(frozen=True)
class RaisesInterrupt(Raises):
    kind: type[BaseException] = KeyboardInterrupt


@dataclass(frozen=True)
class RaisesExit(Raises):
    kind: type[BaseException] = SystemExit


@dataclass(frozen=True)
class RaisesGeneratorExit(Raises):
    kind: type[BaseException] = GeneratorExit


@dataclass(frozen=True)
class RaisesStop(Raises):
    """StopIteration inside a generator becomes a RuntimeError."""

    kind: type[BaseException] = StopIteration


@dataclass(frozen=True)
class Recursion(OnRisk):
    def answer(self, program):
        return self.answer(program)


@dataclass(frozen=True)
class FailsAfterTheAnswer(OnRisk):
    """Yields half of the answer without a word and then breaks."""

    def iterates(self, program):
        yield Iterate(0.5 * optimum(program).w)
        raise OSError("no licence")
