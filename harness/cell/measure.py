"""The clock around a solver, and which of its iterates are handed over.

`steps` runs in the solver's process and keeps the clock; `trace` (`tracing.py`) runs where the answers are judged. The
clock runs from the call of `iterates` to its end, and stands still while an iterate is looked at. Which iterates are
handed over depends on their numbers only: every one up to 20, then each 5 % further, and where the solver asks for it.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from marginbench.harness.matrices import times, transposed_times
from marginbench.harness.model.adapters import Ladder
from marginbench.harness.model.problem import Problem
from marginbench.harness.model.programs import Program
from marginbench.harness.model.solver import Iterate, Solver, Start
from marginbench.harness.pages import on_disk
from marginbench.harness.records.codec import plain

LONGEST_WORDS = 4096
"""Characters of what a library says that are kept."""

LONG = 0.05
"""Seconds of passes after which three repetitions are enough."""

SOME_ROWS = 64
"""Rows of a kernel that are timed where all of them would take seconds."""


@dataclass(frozen=True)
class Budget:
    """When the harness stops a solver, and from which gap on a claim of convergence is wrong."""

    seconds: float = 10.0
    gap: float = 1e-6
    iterations: int = 1_000_000
    wrong_gap: float = 1e-2


def schedule() -> Iterator[int]:
    """1, 2, ..., 20, then each time 5 % further."""
    k = 0
    while True:
        k = max(k + 1, int(1.05 * k))
        yield k


@dataclass(frozen=True)
class Step:
    """An iterate that is to be looked at, and the time until then. Plain data, but for the arrays.

    iterate: None where the solver ended and its last iterate was looked at before, or where it refused the program.
    """

    iteration: int
    seconds: float
    cpu_seconds: float
    iterate: Iterate | None
    ended: bool = False
    refused: str = ""


def steps(
    solver: Solver,
    program: Program,
    budget: Budget,
    rung: int | None = None,
    wall: Callable[[], float] = time.perf_counter,
    cpu: Callable[[], float] = time.process_time,
    start: Callable[[], Start] | None = None,
) -> Iterator[Step]:
    """What `solver` does with `program`, as far as it is to be looked at; until it ends, or is out of budget.

    Of a ladder, `rung` is the one to climb: a single solve. No tighter one follows one that did not converge.
    `start` makes what a warm one begins from, while the clock runs.
    """
    stops = schedule()
    due, seconds, cpu_seconds = next(stops), 0.0, 0.0
    iteration, evaluated = 0, 0
    iterate: Iterate | None = None
    wall_start, cpu_start = wall(), cpu()
    refused = solver.refuses(program)
    if refused is not None:
        yield Step(0, wall() - wall_start, cpu() - cpu_start, None, ended=True, refused=str(refused))
        return
    if rung is not None:
        assert isinstance(solver, Ladder)
        iterate = plainly(solver.climbed(program, rung))
        last = rung + 1 == len(solver.rungs()) or iterate.claim != "converged"
        yield Step(rung + 1, wall() - wall_start, cpu() - cpu_start, iterate, ended=last)
        return
    iterator = solver.iterates_from(program, start() if start else None)
    while True:
        following = next(iterator, None)
        if following is not None:
            iteration += 1
            late = seconds + wall() - wall_start > budget.seconds or iteration >= budget.iterations
            if iteration >= due or late or following.look or following.claim != "":
                following = plainly(following)
        seconds, cpu_seconds = seconds + wall() - wall_start, cpu_seconds + cpu() - cpu_start
        if following is None:
            yield Step(iteration, seconds, cpu_seconds, iterate if evaluated < iteration else None, ended=True)
            return
        iterate = following
        spent = seconds > budget.seconds or iteration >= budget.iterations
        if iteration >= due or iterate.claim or iterate.look or spent:
            evaluated = iteration
            while due <= iteration:
                due = next(stops)
            yield Step(iteration, seconds, cpu_seconds, iterate)
        if spent:
            return
        wall_start, cpu_start = wall(), cpu()


def climb(
    solver: Ladder,
    program: Program,
    budget: Budget,
    wall: Callable[[], float] = time.perf_counter,
    cpu: Callable[[], float] = time.process_time,
) -> Iterator[Step]:
    """The rungs of a ladder in this process, each with a clock of its own."""
    for rung in range(len(solver.rungs())):
        for step in steps(solver, program, budget, rung, wall, cpu):
            yield step
            if step.ended:
                return


def plainly(iterate: Iterate) -> Iterate:
    """The iterate as plain arrays, text and data, made while the clock runs: they may be lazy. Each is read once."""
    x, dual, given = iterate.x, iterate.dual, iterate.info
    claim: Any = str(iterate.claim)
    info = {str(key): plain(value) for key, value in given.items()} if given else {}
    return Iterate(_array(x), _array(dual), claim, str(iterate.said)[:LONGEST_WORDS], info, bool(iterate.look))


def _array(value: Any) -> Any:
    return value if value is None or type(value) is np.ndarray else np.array(value)


def _pass_by_rows(problem: Problem, wall: Callable[[], float]) -> float:
    """Where G is computed row by row, twice the time of n rows, from that of a few."""
    few = min(problem.n, SOME_ROWS)
    start = wall()
    _ = problem.gram @ (1.0 * (np.arange(problem.n) < few))
    return 2.0 * problem.n / few * (wall() - start)


def pass_seconds(problem: Problem, wall: Callable[[], float] = time.perf_counter, least: float = 0.005) -> float:
    """The time of one X w and one X'v on these data in this process: the unit of the column `passes`. With a kernel G
    is in the place of X.

    The median over as many repetitions as fit into `least` seconds, five at least, three where five take longer than
    `LONG`; of data that stay on disk, one.
    """
    if problem.by_rows:
        return _pass_by_rows(problem, wall)
    X = problem.scored
    w, v = np.ones(problem.size), np.ones(problem.n)
    enough = 1 if on_disk(X) else 5
    seconds: list[float] = []
    begin = now = wall()
    while len(seconds) < enough - 2 * (now - begin > LONG and enough > 1) or (
        now - begin < least and len(seconds) < 1000
    ):
        start = wall()
        times(X, w)
        transposed_times(X, v)
        now = wall()
        seconds.append(now - start)
    return float(np.median(seconds))
