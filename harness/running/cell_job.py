"""A cell as two jobs: in one process the solver works, in another one its answers are judged."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

from marginbench.datasets.mapped import bytes_in, in_single
from marginbench.harness.cell.spec import Cell, instantiate
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.model.formulation import Formulation
from marginbench.harness.model.problem import Point
from marginbench.harness.records.codec import dumps
from marginbench.harness.running.job import Job, Limits

JUDGE_SECONDS = 120.0
"""For the judge to come to its verdict after the solver's time is over."""

JUDGE_MB = 2.0**40
"""The judge's memory is not limited: the limit is the solver's."""


@dataclass(frozen=True)
class Order:
    """A cell to run, and on what: `data` is a folder of `spill`, `features` one of `features.py`.

    point: whether the answer's point is wanted, beside its record.
    held_out: a folder of `spill` with rows that the judge alone sees.
    start: for a warm cell, what the same solver answered at the C before. The judge does not hear of it.
    """

    cell: Cell
    data: Path
    digest: str
    known: Bounds | None
    limits: Limits
    features: Path | None = None
    point: bool = True
    held_out: Path | None = None
    start: Point | None = None

    def solver_job(self, rung: int = 0) -> Job:
        """The solver's side; of a ladder, one rung. It is told nothing of what is known of the optimum."""
        cell, point = self.cell, self._optimum()
        return Job(
            function="marginbench.harness.running.solver_process.attempted",
            arguments=(replace(self, known=Bounds(point=point) if point else None, held_out=None), rung),
            limits=self.limits,
            data=self.data,
            features=self.features,
            resident=self.fits,
            seed=cell.seed,
            module=str(cell.solver.get("_target_", "")),
            warm_up="marginbench.harness.running.solver_process.warm_up",
            kind=self.kind,
            threads=cell.threads,
        )

    def judge_job(self) -> Job:
        """The judge's side. Neither its process nor the one it is forked from has imported foreign code."""
        known = self.known and replace(self.known, point=self._optimum())
        return Job(
            function="marginbench.harness.running.judge.judged",
            arguments=(replace(self, known=known, start=None),),
            limits=Limits(self.limits.seconds + JUDGE_SECONDS, JUDGE_MB),
            data=self.data,
            features=self.features,
            resident=self.fits,
        )

    @property
    def fits(self) -> bool:
        """Whether the data are smaller than the solver's limit, and than half of the machine's memory."""
        most = min(self.limits.memory_mb * 2**20, 0.5 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        return bytes_in(self.features or self.data) <= most

    def _optimum(self) -> Point | None:
        """What a formulation is made from that depends on the optimum; for most, nothing."""
        needed = type(instantiate(self.cell.formulation)).at is not Formulation.at
        return self.known.point if needed and self.known is not None else None

    @property
    def kind(self) -> str:
        """What warming depends on: all of the cell that can lead into other code, and the layout of the data."""
        cell = self.cell
        solver = {key: value for key, value in cell.solver.items() if key != "seed"}
        problem = {**cell.problem, "C": float(cell.problem.get("C", 1.0)) == float("inf")}
        kinds = (self.data / "X.npy").exists(), in_single(self.data)
        return dumps([solver, cell.formulation, problem, *kinds, cell.start])
