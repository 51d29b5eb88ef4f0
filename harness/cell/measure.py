"""The clock around a solver, the schedule of certificates and the stopping rule.

`steps` runs in the solver's process and keeps the clock; `trace` runs where the answers are judged. The clock runs
from the call of `iterates` to its end, and stands still while an iterate is looked at. Which iterates are looked at
depends on their numbers only (every one up to 20, then each 5 % further, and where the solver asks for it), so that
what is measured depends on nothing but the configuration.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from marginbench.harness.cell.certificate import Certificate
from marginbench.harness.model.adapters import Ladder
from marginbench.harness.model.problem import Array, Point, Problem
from marginbench.harness.model.programs import Program
from marginbench.harness.model.solver import Iterate, Solver
from marginbench.harness.records.codec import plain

LONGEST_WORDS = 4096
"""Characters of what a library says that are kept."""


@dataclass(frozen=True)
class Budget:
    """When the harness stops a solver, and from which gap on a claim of convergence is wrong."""

    seconds: float = 10.0
    gap: float = 1e-6
    iterations: int = 1_000_000
    wrong_gap: float = 1e-2


@dataclass(frozen=True)
class Evaluation:
    """What is found out about an iterate. mu: the proof of infeasibility it proposes for a hard margin, if any."""

    certificate: Certificate
    point: Point
    own_residual: float | None = None
    post_seconds: float = 0.0
    mu: Array | None = None


@dataclass(frozen=True)
class Snapshot:
    """An iterate that was evaluated, and when."""

    iteration: int
    seconds: float
    cpu_seconds: float
    claim: str
    said: str
    info: dict[str, Any]
    evaluation: Evaluation

    @property
    def certificate(self) -> Certificate:
        return self.evaluation.certificate

    def curve_entry(self) -> dict[str, Any]:
        c = self.certificate
        return {
            "iteration": self.iteration,
            "seconds": self.seconds,
            "primal": c.primal,
            "dual": c.dual,
            "gap": c.gap,
            "own_residual": self.evaluation.own_residual,
        }


@dataclass
class Trace:
    """All snapshots of a run and why it ended: `gap`, `seconds`, `iterations`, `solver`, or `process`: it died."""

    snapshots: list[Snapshot] = field(default_factory=list)
    ended_by: str = ""
    refused: str = ""
    """Why the solver does not take the program."""

    def answer(self, restarts: bool) -> Snapshot:
        """The iterate that counts: the last one; of independent restarts, the one with the smallest gap."""
        if not restarts:
            return self.snapshots[-1]
        return min(self.snapshots, key=lambda s: np.inf if s.certificate.gap is None else s.certificate.gap)


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
) -> Iterator[Step]:
    """What `solver` does with `program`, as far as it is to be looked at; until it ends, or is out of budget.

    Of a ladder, `rung` is the one to climb: a single solve. No tighter one follows one that did not converge.
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
    iterator = solver.iterates(program)
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


def trace(
    taken: Iterator[Step],
    evaluate: Callable[[Iterate], Evaluation],
    budget: Budget,
    done: Callable[[Certificate], bool],
    result: "Trace | None" = None,
) -> Trace:
    """Look at the steps that a solver takes, until `done`, out of budget, or it ends by itself.

    `result` is filled step by step: what was seen stays there, should the next one never come.
    """
    result = Trace() if result is None else result
    for step in taken:
        if step.refused:
            result.refused = step.refused
            return result
        iterate = step.iterate
        if iterate is not None:
            claim = iterate.claim or ("converged" if step.ended else "")
            result.snapshots.append(
                Snapshot(
                    step.iteration,
                    step.seconds,
                    step.cpu_seconds,
                    claim,
                    iterate.said,
                    dict(iterate.info),
                    evaluate(iterate),
                )
            )
            if done(result.snapshots[-1].certificate):
                result.ended_by = "gap"
                return result
        if step.ended:
            result.ended_by = "solver"
            if result.snapshots and iterate is None:  # what it did after its last iterate is charged too
                last = result.snapshots[-1]
                result.snapshots[-1] = replace(
                    last, claim=last.claim or "converged", seconds=step.seconds, cpu_seconds=step.cpu_seconds
                )
            return result
        if step.seconds > budget.seconds or step.iteration >= budget.iterations:
            result.ended_by = "seconds" if step.seconds > budget.seconds else "iterations"
            return result
    result.ended_by = "process"
    return result


def pass_seconds(problem: Problem, wall: Callable[[], float] = time.perf_counter, least: float = 0.005) -> float:
    """The time of one X w and one X'v on these data in this process: the unit of the column `passes`.

    The median over as many repetitions as fit into `least` seconds, five at least.
    """
    w, v = np.ones(problem.d), np.ones(problem.n)
    transposed = problem.X.T
    times: list[float] = []
    begin = now = wall()
    while len(times) < 5 or (now - begin < least and len(times) < 1000):
        start = wall()
        problem.X @ w
        transposed @ v
        now = wall()
        times.append(now - start)
    return float(np.median(times))
