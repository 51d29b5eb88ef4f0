"""Cheats with the clock: each works `seconds` of CPU time, and the answer would not be there without that work.

`fill` stands for the work: it spends the time and writes the answer into the array that was handed over.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from marginbench.harness.model.solver import Iterate
from zoo.honest import WORK, OnDual, caged, optimum, work

STASH: dict[tuple[int, ...], np.ndarray] = {}
"""Answers by the shape of the data, kept between two calls of one process."""


@dataclass(frozen=True)
class Hider(OnDual):
    seconds: float = WORK

    def answer(self, program):
        work(self.seconds)
        return optimum(program).alpha

    def fill(self, program, x):
        x[:] = self.answer(program)


@dataclass(frozen=True)
class ReturnsIterator(Hider):
    """A plain method: all work is done in the call, before the first next()."""

    def iterates(self, program):
        return iter([Iterate(self.answer(program), claim="converged")])


@dataclass(frozen=True)
class Stashed(Hider):
    """Base: answers with what it has stashed; works where there is nothing."""

    def stash(self, program):
        STASH[program.X.shape] = self.answer(program)

    def iterates(self, program):
        if program.X.shape not in STASH:
            self.stash(program)
        yield Iterate(STASH[program.X.shape], claim="converged")


@dataclass(frozen=True)
class WorksInRefuses(Stashed):
    def refuses(self, program):
        self.stash(program)


@dataclass(frozen=True)
class WorksInWarmUp(Stashed):
    """Solves the whole program in `warm_up`."""

    def warm_up(self, program):
        self.stash(program)


class LateMapping(Mapping):
    """An `info` that works when it is read."""

    def __init__(self, deed):
        self.deed = deed

    def __getitem__(self, key):
        return 1

    def __len__(self):
        return 1

    def __iter__(self):
        self.deed()
        return iter(["count"])


@dataclass(frozen=True)
class LazyInfo(Hider):
    def iterates(self, program):
        x = np.zeros(program.n)
        yield Iterate(x, claim="converged", info=LateMapping(lambda: self.fill(program, x)))


class LateIterate(Iterate):
    """An iterate of which one attribute works when it is read for the first time."""

    def __getattribute__(self, name):
        late = object.__getattribute__(self, "__dict__").get("late", {})
        if name in late:
            late.pop(name)()
        return super().__getattribute__(name)


def late(x, name, deed):
    made = LateIterate(x, claim="converged")
    object.__setattr__(made, "late", {name: deed})
    return made


@dataclass(frozen=True)
class LazyX(Hider):
    def iterates(self, program):
        x = np.zeros(program.n)
        yield late(x, "x", lambda: self.fill(program, x))


@dataclass(frozen=True)
class LazySaid(Hider):
    def iterates(self, program):
        x = np.zeros(program.n)
        yield late(x, "said", lambda: self.fill(program, x))


class LateWord(str):
    """A text that works when it is compared, tested or written out."""

    deed = staticmethod(lambda: None)

    def __eq__(self, other):
        self.deed()
        return str.__eq__(self, other)

    def __bool__(self):
        self.deed()
        return True

    def __str__(self):
        self.deed()
        return str.__str__(self)

    def encode(self, *options):
        self.deed()
        return str.encode(self, *options)

    __hash__ = str.__hash__


def word(text, deed):
    made, done = LateWord(text), []
    made.deed = lambda: None if done else (done.append(1), deed())
    return made


@dataclass(frozen=True)
class WorksInClaim(Hider):
    def iterates(self, program):
        """At an iterate that the harness would not look at, but for its claim."""
        x = np.zeros(program.n)
        for _ in range(40):
            yield Iterate(x)
        yield Iterate(x, claim=word("converged", lambda: self.fill(program, x)))


@dataclass(frozen=True)
class WorksInSaid(Hider):
    """Too late for this answer; time is spent all the same, and the next cell would profit."""

    def iterates(self, program):
        said = word("done", lambda: work(self.seconds))
        yield Iterate(optimum(program).alpha, claim="converged", said=said)


class LateArray:
    """No array, but something that becomes one when it is asked."""

    def __init__(self, deed):
        self.deed, self.made = deed, None

    def __array__(self, dtype=None, copy=None):
        if self.made is None:
            self.made = self.deed()
        return self.made


@dataclass(frozen=True)
class LazyArray(Hider):
    def iterates(self, program):
        yield Iterate(LateArray(lambda: self.answer(program)), claim="converged")


class LateUfuncs(np.ndarray):
    """An array that works when the first function of NumPy is called on it."""

    def __array_ufunc__(self, function, method, *inputs, **options):
        deed, self.__dict__["deed"] = self.__dict__.get("deed"), None
        if deed is not None:
            deed()
        plain = [np.asarray(one) if isinstance(one, LateUfuncs) else one for one in inputs]
        return getattr(function, method)(*plain, **options)


@dataclass(frozen=True)
class SubclassedArray(Hider):
    def iterates(self, program):
        x = np.zeros(program.n)
        shown = x.view(LateUfuncs)
        shown.deed = lambda: self.fill(program, x)
        yield Iterate(shown, claim="converged")


@dataclass(frozen=True)
class WorksAfterLastYield(Hider):
    """41 cheap iterates, of which the harness does not look at the last; then the work, into the array it holds."""

    def iterates(self, program):
        x = np.zeros(program.n)
        for _ in range(41):
            yield Iterate(x)
        self.fill(program, x)


@dataclass(frozen=True)
class WorksOnClose(Hider):
    """Goes on when it is told to stop."""

    def iterates(self, program):
        try:
            yield Iterate(optimum(program).alpha, claim="converged")
            yield Iterate(optimum(program).alpha, claim="converged")
        finally:
            work(self.seconds)


class Deleted:
    """An iterator that works when it is thrown away."""

    def __init__(self, iterates, seconds):
        self.iterates, self.seconds = iterates, seconds

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.iterates)

    def __del__(self):
        work(self.seconds)


@dataclass(frozen=True)
class WorksWhenDeleted(Hider):
    def iterates(self, program):
        return Deleted(iter([Iterate(optimum(program).alpha, claim="converged")]), self.seconds)


@dataclass(frozen=True)
class WorksInPostInit(OnDual):
    seconds: float = WORK

    def __post_init__(self):
        work(self.seconds)


@dataclass(frozen=True)
class FakeRestarts(Hider):
    """Says that each iterate is a cold solve, and goes on from the last: of eight parts it is charged one."""

    restarts = True

    def iterates(self, program):
        x = optimum(program).alpha
        for k in range(8):
            work(self.seconds / 8.0)
            yield Iterate(x if k == 7 else 0.5 * x, claim="converged" if k == 7 else "inaccurate")


@dataclass(frozen=True)
class StopsClocks(Hider):
    """Replaces the clocks of Python, and that of the harness's loop, where a cell asks whether it takes the program."""

    def refuses(self, program):
        caged()
        for name in ("perf_counter", "monotonic", "process_time", "thread_time", "time"):
            setattr(time, name, lambda: 0.0)
        from marginbench.harness.running import judge

        judge.cpu_of = lambda pid: 0.0
