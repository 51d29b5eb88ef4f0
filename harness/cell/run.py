"""One cell in one process: a solver on a formulation of a problem, run, certified, judged.

The command line runs both sides in processes of their own (`harness/running`). This is for notebooks and tests, where
the solver is trusted not to reach into the judge.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Any

from marginbench.harness.cell.attempt import Attempt
from marginbench.harness.cell.judging import Judging, Outcome
from marginbench.harness.cell.measure import Step
from marginbench.harness.cell.spec import Cell
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.model.problem import Array, Matrix, Point


def run_cell(
    cell: Cell,
    X: Matrix,
    y: Array,
    digest: str,
    known: Bounds | None = None,
    wall: Callable[[], float] = time.perf_counter,
    start: Point | None = None,
) -> Outcome:
    """Exceptions of the solver pass through: who calls decides what they mean. `start`: of a warm cell."""
    attempt = Attempt(cell, X, y, known.point if known else None, start=start)
    judging = Judging(cell, X, y, digest, known, wall)
    opening = attempt.open(wall)
    if opening.status:
        return judging.outcome(opening, iter(()))
    attempt.warm_up()
    taken: Any = attempt.steps(wall=wall)
    infos: list[Mapping[str, Any]] = []
    with closing(taken):
        outcome = judging.outcome(opening, _noted(taken, infos))
    if opening.bounded:
        judging.add_bounds(attempt.bounds(infos))
    return outcome


def _noted(taken: Iterator[Step], infos: list[Mapping[str, Any]]) -> Iterator[Step]:
    """The same steps; what each iterate tells is added to `infos`."""
    for step in taken:
        if step.iterate is not None:
            infos.append(step.iterate.info)
        yield step
