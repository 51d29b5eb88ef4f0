"""A team of threads for one problem: passes over the rows in parts, a part for each thread.

    with Team(program.threads) as team:
        team.margins(program.rows, y, w, 0.0, m)

Same bits     A part is a run of rows that depends on the number of rows and of parts alone, and sums over parts are
              added in their order: the same number of threads gives the same bits. One part is the pass of one thread.
When          A pass is done in parts where it takes `WORTH` or more. Below, waking a thread costs more than it saves.
Threads       are Python's, in kernels compiled with `nogil=True`. They start with the first pass that is worth it and
              end with the team: a process that is forked from must have one thread.
Who is free   Copies and margins, where no sum goes over rows, are cut into pieces that are taken by whoever is free: to
              write to new memory takes several times as long as to old, and one thread may have all that is new.
Libraries     BLAS keeps to one thread while there are others of ours: a part that calls it has one core.
Cores         Where the process is confined to as many cores as there are threads, each thread stays on its own: small
              data, which one thread does alone, would pay for moving between them.
In kernels    `meet(barrier, part)` waits until all threads of a pass have come so far, at a tenth of the cost of waking
              one: for kernels that make many passes (`solvers/newton/passes.py`).
"""

import ctypes
import itertools
import os
import queue
import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Self

import numpy as np
from llvmlite.binding import address_of_symbol
from numba import njit, types
from threadpoolctl import ThreadpoolController

from marginbench.harness.rowops.passes import (
    Room,
    combine_some,
    copy_rows,
    frozen,
    gather,
    margins_of_some,
    offsets,
    scatter,
    space_for,
)
from marginbench.harness.rowops.rows import CSR, Dense

WORTH = 500_000
"""Nanoseconds, about, from which on a pass is done in parts: waking a thread takes 50,000 to 100,000."""
ENTRY, NONZERO, ROW, NUMBER = 0.35, 1.0, 5.0, 4.0
"""Nanoseconds of a pass, about: for an entry of dense rows, a non-zero, a row, and a number copied from anywhere, which
is seldom in the cache."""

PIECES = 8
"""For each thread, of what is taken by whoever is free."""

BARRIERS = address_of_symbol("pthread_barrier_wait") is not None
"""Whether the system has barriers. Where it has not (macOS), a team does everything in one part."""

LINE = 8
"""Numbers of 8 bytes in a line of the cache; the memory of a pthread_barrier_t is no longer."""
GLANCES = 400
"""How often a thread looks for the others before it sleeps: about 0.25 ms, longer than what the first does alone
between two passes where d is in the tens. To wake a core that sleeps takes 0.05 ms."""

if BARRIERS:
    _wait = types.ExternalFunction("pthread_barrier_wait", types.int32(types.uintp))
    _yield = types.ExternalFunction("sched_yield", types.int32())

    @njit(cache=True, fastmath=False, nogil=True)
    def meet(barrier, part):
        """Wait for the other threads; with an empty barrier there are none. Who needs the core gets it meanwhile."""
        if barrier.size:
            barrier[LINE * (part + 1)] += 1
            for _ in range(GLANCES):
                behind = False
                for other in range(LINE, barrier.size, LINE):
                    behind = behind or barrier[other] < barrier[LINE * (part + 1)]
                if not behind:
                    break
                _yield()
            _wait(barrier.ctypes.data)
else:

    @njit(cache=True, fastmath=False, nogil=True)
    def meet(barrier, part):
        """There are no other threads to wait for."""


def new_barrier(parts: int) -> np.ndarray:
    """For so many threads: the system's own, and how often each has been there."""
    barrier = np.zeros(LINE * (parts + 1) if parts > 1 else 0, np.int64)
    if parts > 1:
        ctypes.CDLL(None).pthread_barrier_init(ctypes.c_void_p(barrier.ctypes.data), None, parts)
    return barrier


@njit(cache=True, fastmath=False, nogil=True)
def part_of(n, parts, part):
    """(start, end) of a part of n rows."""
    return n * part // parts, n * (part + 1) // parts


def pass_cost(rows: Dense | CSR) -> float:
    """Nanoseconds that a pass over all rows takes, about: by counts alone, so that parts are the same in every run."""
    if isinstance(rows, Dense):
        return ENTRY * rows.X.size + ROW * len(rows.X)
    return NONZERO * rows.data.size + ROW * (rows.indptr.size - 1)


@cache
def libraries() -> ThreadpoolController:
    """Those of linear algebra. They are looked for once: it takes a millisecond."""
    return ThreadpoolController().select(user_api="blas")


class Quiet:
    """Holds the libraries to one thread from the first team that asks for it to the last that ends: teams of several
    threads of the caller may overlap, and none of them is the one to know what was before."""

    def __init__(self) -> None:
        self._lock, self._teams = threading.Lock(), 0
        self._limits: Any = None

    def begin(self) -> None:
        with self._lock:
            if self._teams == 0:
                self._limits = libraries().limit(limits=1)
            self._teams += 1

    def end(self) -> None:
        with self._lock:
            self._teams -= 1
            if self._teams == 0:
                self._limits.restore_original_limits()


QUIET = Quiet()


class Team:
    """threads: how many, the caller's own among them."""

    def __init__(self, threads: int = 1) -> None:
        self.threads = threads if BARRIERS else 1
        self._members: list[Member] = []
        self._cores: list[int] = []
        self._quiet = False

    def __enter__(self) -> Self:
        if self.threads > 1 and hasattr(os, "sched_getaffinity"):
            allowed = sorted(os.sched_getaffinity(0), reverse=True)
            if len(allowed) == self.threads:
                self._cores = allowed
                os.sched_setaffinity(0, allowed[:1])
        return self

    def __exit__(self, *_: object) -> None:
        for member in self._members:
            member.end()
        self._members.clear()
        if self._quiet:
            QUIET.end()
            self._quiet = False
        if self._cores:
            os.sched_setaffinity(0, self._cores)
            self._cores = []

    def parts(self, cost: float, passes: int = 1) -> int:
        """In how many parts a pass of so many nanoseconds is done. passes: made one after another in a kernel, between
        which threads wait for each other and do not sleep."""
        return self.threads if passes * cost >= WORTH else 1

    def each(self, parts: int, do: Callable[[int], Any]) -> list[Any]:
        """[do(0), do(1), ...], all at the same time; do(0) in the caller's thread."""
        if parts == 1:
            return [do(0)]
        if not self._quiet:
            QUIET.begin()
            self._quiet = True
        while len(self._members) < parts - 1:
            self._members.append(Member(self._cores[len(self._members) + 1 :][:1]))
        for part, member in enumerate(self._members[: parts - 1], start=1):
            member.give(do, part)
        try:
            first = do(0)
        finally:
            others = [member.take() for member in self._members[: parts - 1]]
        for failure, _ in others:
            if failure is not None:
                raise failure
        return [first, *(result for _, result in others)]

    def over(self, n: int, parts: int, do: Callable[[int, int], Any]) -> list[Any]:
        """do(start, end) for each part of n rows; what they return, in order."""
        return self.each(parts, lambda part: do(*part_of(n, parts, part)))

    def spread(self, n: int, cost: float, do: Callable[[int, int], None]) -> None:
        """do(start, end) for pieces of n rows that together are all of them. cost: of all, in nanoseconds."""
        parts = self.parts(cost)
        pieces, turns = PIECES * parts if parts > 1 else 1, itertools.count()

        def in_turn(_: int) -> None:
            while (piece := next(turns)) < pieces:
                do(*part_of(n, pieces, piece))

        self.each(parts, in_turn)

    def margins(self, rows, y, w, b, m) -> None:
        """m_i = y_i (x_i . w + b)"""
        self.spread(m.size, pass_cost(rows), lambda start, end: margins_of_some(rows, y, w, b, m, start, end))

    def combine(self, rows, y, alpha, w) -> float:
        """w += sum_i alpha_i y_i x_i; returns sum_i alpha_i y_i."""
        parts = self.parts(pass_cost(rows))
        sums = [w, *(np.zeros(w.size) for _ in range(parts - 1))]
        n = alpha.size
        totals = self.each(parts, lambda k: combine_some(rows, y, alpha, sums[k], *part_of(n, parts, k)))
        for more in sums[1:]:
            w += more
        return sum(totals)

    def take(self, rows, index, room: Room | None = None):
        """The rows of `index`, copied to lie side by side."""
        out = space_for(rows, index, room or Room(), self._offsets)
        self.spread(index.size, pass_cost(out), lambda start, end: copy_rows(rows, index, out, start, end))
        return frozen(out)

    def _offsets(self, indptr, index, out) -> int:
        """`offsets`, each part from 0 on, then all from where the part before ends."""
        parts, out[0], size = self.parts(NUMBER * index.size), 0, 0
        found = self.over(index.size, parts, lambda start, end: offsets(indptr, index[start:end], out[start + 1 :]))
        for part, more in enumerate(found):
            start, end = part_of(index.size, parts, part)
            if size:
                out[start + 1 : end + 1] += size
            size += more
        return size

    def gather(self, values, index):
        """values[index]"""
        out = np.empty(index.size, values.dtype)
        self.spread(
            index.size, NUMBER * index.size, lambda start, end: gather(values, index[start:end], out[start:end])
        )
        return out

    def scatter(self, values, index, out) -> None:
        """out[index] = values; no index occurs twice."""
        self.spread(
            index.size, NUMBER * index.size, lambda start, end: scatter(values[start:end], index[start:end], out)
        )

    def copy(self, values):
        """values.copy(). Most of its time is the system's, which hands out the pages that are written to."""
        out = np.empty_like(values)
        self.spread(values.size, NUMBER * values.size, lambda start, end: np.copyto(out[start:end], values[start:end]))
        return out


ALONE = Team()
"""Of the caller's thread alone."""


class Member:
    """A thread that does what it is given. cores: to stay on; none: on those of its creator."""

    def __init__(self, cores: Sequence[int] = ()) -> None:
        self._given: queue.SimpleQueue = queue.SimpleQueue()
        self._done: queue.SimpleQueue = queue.SimpleQueue()
        self._cores = cores
        self._thread = threading.Thread(target=self._work, name="marginbench-team", daemon=True)
        self._thread.start()

    def give(self, do: Callable[[int], Any], part: int) -> None:
        self._given.put((do, part))

    def take(self) -> tuple[BaseException | None, Any]:
        return self._done.get()

    def end(self) -> None:
        self._given.put(None)
        self._thread.join()

    def _work(self) -> None:
        if self._cores:
            os.sched_setaffinity(0, self._cores)
        while (given := self._given.get()) is not None:
            do, part = given
            try:
                self._done.put((None, do(part)))
            except BaseException as error:
                self._done.put((error, None))
            del do, given  # they hold the arrays of a pass, which is over
