"""A cell as two jobs: in one process the solver works, in another one its answers are judged."""

from dataclasses import dataclass, replace
from pathlib import Path

from marginbench.harness.cell.spec import Cell, instantiate
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.model.formulation import Formulation
from marginbench.harness.records.codec import dumps
from marginbench.harness.running.job import Job, Limits

JUDGE_SECONDS = 120.0
"""For the judge to come to its verdict after the solver's time is over."""

JUDGE_MB = 2.0**40
"""The judge's memory is not limited: the limit is the solver's."""


@dataclass(frozen=True)
class Order:
    """A cell to run, and on what: `data` is a folder of `spill`."""

    cell: Cell
    data: Path
    digest: str
    known: Bounds | None
    limits: Limits

    def solver_job(self, rung: int = 0) -> Job:
        """The solver's side; of a ladder, one rung. It is told nothing of what is known of the optimum."""
        cell = self.cell
        return Job(
            function="marginbench.harness.running.solver_process.attempted",
            arguments=(self._without_answers(), rung),
            limits=self.limits,
            data=self.data,
            seed=cell.seed,
            module=str(cell.solver.get("_target_", "")),
            warm_up="marginbench.harness.running.solver_process.warm_up",
            kind=self.kind,
        )

    def judge_job(self) -> Job:
        """The judge's side. Neither its process nor the one it is forked from has imported foreign code."""
        return Job(
            function="marginbench.harness.running.judge.judged",
            arguments=(self,),
            limits=Limits(self.limits.seconds + JUDGE_SECONDS, JUDGE_MB),
            data=self.data,
        )

    def _without_answers(self) -> "Order":
        """Of the optimum, the solver's side gets what its formulation is made from, and for most that is nothing."""
        needed = type(instantiate(self.cell.formulation)).at is not Formulation.at
        known = Bounds(point=self.known.point) if needed and self.known is not None else None
        return replace(self, known=known)

    @property
    def kind(self) -> str:
        """What warming depends on: all of the cell that can lead into other code, and the layout of the data."""
        cell = self.cell
        solver = {key: value for key, value in cell.solver.items() if key != "seed"}
        problem = {**cell.problem, "C": float(cell.problem.get("C", 1.0)) == float("inf")}
        return dumps([solver, cell.formulation, problem, (self.data / "X.npy").exists()])
