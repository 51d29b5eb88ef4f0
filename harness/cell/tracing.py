"""The judge's side of the clock: iterates that are handed over, looked at as `looks.py` says, and the stopping rule.

Which iterates are looked at depends on what that costs; which accuracy is credited when does not.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from marginbench.harness.cell.certificate import Certificate
from marginbench.harness.cell.looks import FIRST, Looks, bytes_of, copied
from marginbench.harness.cell.measure import Budget, Step
from marginbench.harness.model.problem import Array, Point
from marginbench.harness.model.solver import Iterate
from marginbench.harness.records.codec import Damaged

PRESENT = ("own_dual", "kkt_primal", "kkt_dual", "kkt_stationarity", "kkt_complementarity")
"""Numbers of a certificate that a curve holds where the iterate has them."""

DRAWN_FEATURES = 2
"""Problems with no more features are drawn as they are: their curves hold the hyperplane of each iterate."""


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
    number: int = 0
    """Which of the iterates that were handed over, counted from 0."""

    @property
    def certificate(self) -> Certificate:
        return self.evaluation.certificate

    @property
    def drawn(self) -> bool:
        """Whether there are so few features that its hyperplane is drawn."""
        return 0 < self.evaluation.point.w.size <= DRAWN_FEATURES

    def without_arrays(self) -> "Snapshot":
        point = self.evaluation.point
        kept = Point(point.w, point.b) if self.drawn else Point(np.empty(0))
        return replace(self, evaluation=replace(self.evaluation, point=kept, mu=None))

    def curve_entry(self) -> dict[str, Any]:
        c, point = self.certificate, self.evaluation.point
        present = {name: value for name in PRESENT if (value := getattr(c, name)) is not None}
        hyperplane: dict[str, float] = {}
        if self.drawn:
            hyperplane = {f"w{j + 1}": float(value) for j, value in enumerate(point.w)} | {"b": float(point.b)}
        return {
            "iteration": self.iteration,
            "seconds": self.seconds,
            "cpu_seconds": self.cpu_seconds,
            "primal": c.primal,
            "dual": c.dual,
            "gap": c.gap,
            "own_residual": self.evaluation.own_residual,
            **present,
            **hyperplane,
        }


@dataclass
class Trace:
    """All snapshots of a run and why it ended: `gap`, `seconds`, `iterations`, `solver`, or `process`: it died."""

    snapshots: list[Snapshot] = field(default_factory=list)
    ended_by: str = ""
    refused: str = ""
    """Why the solver does not take the program."""
    restarts: bool = False
    """Whether each iterate is that of an independent solve."""
    costs: list[float] = field(default_factory=list)
    """Seconds of each certificate, in the order in which they were made."""

    @property
    def earned(self) -> float:
        """Seconds of certificates beyond the first few and the last."""
        return sum(self.costs[FIRST:-1])

    @property
    def _place(self) -> int:
        gaps = [np.inf if s.certificate.gap is None else s.certificate.gap for s in self.snapshots]
        return int(np.argmin(gaps)) if self.restarts else len(gaps) - 1

    @property
    def answer(self) -> Snapshot:
        """The iterate that counts: the last one; of independent restarts, the one with the smallest gap."""
        return self.snapshots[self._place]

    def add(self, snapshot: Snapshot) -> None:
        """Only the iterate that counts keeps its arrays: of n = 1e7 rows, a hundred of them would take 8 GB."""
        before = self._place if self.snapshots else None
        self.snapshots.append(snapshot)
        if before is not None:
            passed = before if self._place != before else len(self.snapshots) - 1
            self.snapshots[passed] = self.snapshots[passed].without_arrays()


class Handed(NamedTuple):
    """A step with an iterate. number: which of those that were handed over, counted from 0."""

    number: int
    step: Step
    iterate: Iterate


def trace(
    taken: Iterator[Step],
    evaluate: Callable[[Iterate], Evaluation],
    budget: Budget,
    done: Callable[[Certificate], bool],
    result: "Trace | None" = None,
    check: Callable[[Iterate], None] = lambda iterate: None,
    wall: Callable[[], float] = time.perf_counter,
) -> Trace:
    """Look at the steps that a solver takes (`looks.py`), until `done`, out of budget, or it ends by itself.

    `result` is filled step by step: what was seen stays there, should the next one never come. `check` is called with
    an iterate that is kept for later.
    """
    result = Trace() if result is None else result
    looks = Looks[Handed, Snapshot](
        lambda one: _snapshot(one, evaluate(one.iterate)),
        lambda seen: np.inf if seen.certificate.gap is None else seen.certificate.gap,
        lambda seen: done(seen.certificate),
        wall,
        result.costs,
    )
    number = 0
    try:
        for step in taken:
            if step.refused:
                result.refused = step.refused
                return result
            spent = step.seconds > budget.seconds or step.iteration >= budget.iterations
            last = step.ended or spent or result.restarts
            if step.iterate is not None:
                last = last or bool(step.iterate.claim) or looks.due(step.seconds)
                _hand_over(looks, Handed(number, step, step.iterate), None if last else check)
                number += 1
            if last and _seen(looks, result):
                result.ended_by = "gap"
                return result
            if step.ended:
                result.ended_by = "solver"
                if result.snapshots and step.iterate is None:
                    _charge_ending(result, step)
                return result
            if spent:
                result.ended_by = "seconds" if step.seconds > budget.seconds else "iterations"
                return result
    except Damaged:
        _seen(looks, result)
        raise
    result.ended_by = "gap" if _seen(looks, result) else "process"
    return result


def _charge_ending(result: Trace, step: Step) -> None:
    """What a solver did after its last iterate is charged too."""
    last = result.snapshots[-1]
    result.snapshots[-1] = replace(
        last, claim=last.claim or "converged", seconds=step.seconds, cpu_seconds=step.cpu_seconds
    )


def _hand_over(looks: Looks, one: Handed, check: Callable[[Iterate], None] | None) -> None:
    """To be looked at now, or with `check` later: then it is a copy that is kept."""
    iterate = one.iterate
    if check is not None:
        check(iterate)
        one = one._replace(iterate=replace(iterate, x=copied(iterate.x), dual=copied(iterate.dual)))
    looks.keep(one, bytes_of(iterate.x, iterate.dual))


def _seen(looks: Looks, result: Trace) -> bool:
    """Look at what is kept, as far as needed. Whether the run is done with it."""
    found = looks.settle()
    for snapshot in found:
        result.add(snapshot)
    return bool(found) and looks.done(found[-1])


def _snapshot(one: Handed, evaluation: Evaluation) -> Snapshot:
    step, iterate = one.step, one.iterate
    claim = iterate.claim or ("converged" if step.ended else "")
    return Snapshot(
        step.iteration,
        step.seconds,
        step.cpu_seconds,
        claim,
        iterate.said,
        dict(iterate.info),
        evaluation,
        one.number,
    )
