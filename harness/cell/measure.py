"""The loop around a solver: the clock, the schedule of certificates and the stopping rule.

The clock runs only inside `next()`. Certificates are computed between two steps, on a schedule by iteration number
(every one up to 20, then each 5 % further, and where the solver asks for it), so that what is measured depends on
nothing but the configuration.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from marginbench.harness.cell.certificate import Certificate
from marginbench.harness.model.problem import Array, Point, Problem
from marginbench.harness.model.programs import Program
from marginbench.harness.model.solver import Iterate, Solver


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

    def curve_entry(self, bound: float | None = None) -> dict[str, Any]:
        """bound: what theory promises of P - P* at this iterate."""
        c = self.certificate
        entry = {
            "iteration": self.iteration,
            "seconds": self.seconds,
            "primal": c.primal,
            "dual": c.dual,
            "gap": c.gap,
            "own_residual": self.evaluation.own_residual,
        }
        return entry if bound is None else entry | {"bound": bound}


@dataclass
class Trace:
    """All snapshots of a run and why it ended: `gap`, `seconds`, `iterations` or `solver`."""

    snapshots: list[Snapshot] = field(default_factory=list)
    ended_by: str = ""

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


def trace(
    solver: Solver,
    program: Program,
    evaluate: Callable[[Iterate], Evaluation],
    budget: Budget,
    done: Callable[[Certificate], bool],
    wall: Callable[[], float] = time.perf_counter,
    cpu: Callable[[], float] = time.process_time,
    after_rung: Callable[[Trace], None] = lambda _: None,
) -> Trace:
    """Run `solver` on `program` until `done`, out of budget, or it ends by itself.

    `evaluate` certifies an iterate; neither it nor anything else outside `next()` is on the clock. A solver that
    restarts is charged its last rung only, and `after_rung` is called with the trace so far: the next may never end.
    """
    result, stops = Trace(), schedule()
    due, seconds, cpu_seconds = next(stops), 0.0, 0.0
    iterator = solver.iterates(program)
    iterate: Iterate | None = None
    iteration, evaluated = 0, 0

    def keep(claim: str) -> Snapshot:
        assert iterate is not None
        snapshot = Snapshot(iteration, seconds, cpu_seconds, claim, iterate.said, dict(iterate.info), evaluate(iterate))
        result.snapshots.append(snapshot)
        return snapshot

    while True:
        wall_start, cpu_start = wall(), cpu()
        following = next(iterator, None)
        wall_step, cpu_step = wall() - wall_start, cpu() - cpu_start
        if following is None:
            result.ended_by = "solver"
            if iterate is not None and evaluated < iteration:
                keep(iterate.claim or "converged")
            elif result.snapshots and not result.snapshots[-1].claim:
                result.snapshots[-1] = replace(result.snapshots[-1], claim="converged")
            return result
        iterate, iteration = following, iteration + 1
        seconds = wall_step if solver.restarts else seconds + wall_step
        cpu_seconds = cpu_step if solver.restarts else cpu_seconds + cpu_step
        spent = seconds > budget.seconds or iteration >= budget.iterations
        if iteration >= due or solver.restarts or iterate.claim or iterate.look or spent:
            evaluated = iteration
            while due <= iteration:
                due = next(stops)
            snapshot = keep(iterate.claim)
            if done(snapshot.certificate):
                result.ended_by = "gap"
                return result
        if spent:
            result.ended_by = "seconds" if seconds > budget.seconds else "iterations"
            return result
        if solver.restarts:
            after_rung(result)


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
