"""One cell in one process: a solver on a formulation of a problem, run, certified, judged.

The command line runs both sides in processes of their own (`harness/running`). This is for notebooks and tests, where
the solver is trusted not to reach into the judge.
"""

import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

from marginbench.harness.cell.attempt import Attempt
from marginbench.harness.cell.judging import Judging, Outcome
from marginbench.harness.cell.spec import Cell
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.model.problem import Array, Matrix


def run_cell(
    cell: Cell,
    X: Matrix,
    y: Array,
    digest: str,
    known: Bounds | None = None,
    wall: Callable[[], float] = time.perf_counter,
) -> Outcome:
    """Exceptions of the solver pass through: who calls decides what they mean."""
    attempt = Attempt(cell, X, y, known.point if known else None)
    judging = Judging(cell, X, y, digest, known, wall)
    opening = attempt.open(wall)
    if opening.status:
        return judging.outcome(opening, iter(()))
    attempt.warm_up()
    taken: Any = attempt.steps(wall=wall)
    with closing(taken):
        outcome = judging.outcome(opening, taken)
    if opening.bounded:
        judging.add_bounds(attempt.bounds([snapshot.info for snapshot in judging.result.snapshots]))
    return outcome
