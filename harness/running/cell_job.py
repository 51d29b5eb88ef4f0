"""A cell as a job: what is run in its process, what its solver is warmed up with, and its answer as bytes."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_info

from marginbench.harness.cell.certificate import certify
from marginbench.harness.cell.measure import pass_seconds
from marginbench.harness.cell.objectives import evaluate_exactly
from marginbench.harness.cell.run import Outcome, run_cell
from marginbench.harness.cell.spec import Cell, chosen_kind, instantiate, judged_problem, library_versions, missing
from marginbench.harness.files import write_atomically
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.model.problem import Array, Matrix, Problem
from marginbench.harness.records.codec import dumps, record_to_plain
from marginbench.harness.rowops import passes
from marginbench.harness.rowops.rows import rows_of
from marginbench.harness.running.job import Job, Limits, framed

ARRAYS = ("w", "alpha", "xi")


@dataclass(frozen=True)
class Order:
    """A cell to run, and on what: `data` is a folder of `spill`."""

    cell: Cell
    data: Path
    digest: str
    known: Bounds | None
    limits: Limits
    so_far: Path | None = None
    """Where a ladder leaves what its finished rungs have shown, for the case that the next one does not end."""

    def job(self) -> Job:
        cell = self.cell
        return Job(
            function=f"{__name__}.run_order",
            arguments=(self,),
            limits=self.limits,
            data=self.data,
            seed=cell.seed,
            module=str(cell.solver.get("_target_", "")).rpartition(".")[0],
            warm_up=f"{__name__}.warm_up",
            kind=self._kind(),
        )

    def _kind(self) -> str:
        """What warming depends on: all of the cell that can lead into other code, and the layout of the data."""
        cell = self.cell
        solver = {key: value for key, value in cell.solver.items() if key != "seed"}
        problem = {**cell.problem, "C": float(cell.problem.get("C", 1.0)) == float("inf")}
        return dumps([solver, cell.formulation, problem, (self.data / "X.npy").exists()])


# -- in the process of the cell -----------------------------------------------------------------------------------


def run_order(X: Matrix, y: Array, order: Order) -> bytes:
    outcome = run_cell(order.cell, X, y, order.digest, order.known, after_rung=partial(_leave, order.so_far))
    outcome.record.machine["threads"] = library_threads()
    return encode_answer(outcome)


def library_threads() -> dict[str, int]:
    """Numerical libraries that are loaded, and how many threads each of them uses."""
    return {Path(library["filepath"]).name: library["num_threads"] for library in threadpool_info()}


def _leave(path: Path | None, outcome: Outcome) -> None:
    if path is not None:
        write_atomically(path, encode_answer(outcome), synced=False)  # the process may be ended at any moment


def encode_answer(outcome: Outcome) -> bytes:
    """The record as text; the arrays of the point as raw float64."""
    text: dict[str, Any] = {"record": record_to_plain(outcome.record), "b": None, "sizes": {}}
    raw = b""
    if outcome.point is not None:
        text["b"] = float(outcome.point.b)
        for name in ARRAYS:
            if (array := getattr(outcome.point, name)) is not None:
                array = np.ascontiguousarray(array, dtype="<f8")
                text["sizes"][name] = array.size
                raw += array.tobytes()
    return framed(text, raw)


# -- in the processes that cells are forked from ------------------------------------------------------------------


def warm_up(X: Matrix, y: Array, order: Order) -> None:
    """What a solver pays once (importing, compiling), on eight rows of the data."""
    cell = order.cell
    some = np.sort(np.concatenate([np.flatnonzero(y > 0)[:4], np.flatnonzero(y < 0)[:4]]))
    formulation, solver = instantiate(cell.formulation), instantiate(cell.solver)
    problem = judged_problem(formulation, _read_only(X[some]), _read_only(y[some]), cell.problem)
    formulation = formulation.at(problem.point(np.zeros(problem.n)), problem)
    if missing(solver) is None:
        library_versions(solver)
        solver.warm_up(formulation.program(problem, chosen_kind(formulation, solver)))


def rehearse() -> None:
    """Call what every cell calls, once, on data of both layouts, so that forks find it imported and compiled."""
    y = np.array([1.0, -1.0])
    for X in (np.eye(2), sp.csr_array(np.eye(2))):
        problem = Problem(_read_only(X), y)
        certify(problem, problem.point(np.zeros(2)))
        evaluate_exactly(problem, np.zeros(2), 0.0, np.zeros(2))
        pass_seconds(problem, least=0.0)
        passes.margins(rows_of(problem.X), y, np.zeros(2), 0.0, np.zeros(2))
    threadpool_info()


def _read_only(X: Matrix) -> Matrix:
    """Mapped data are read-only, which is another type to compiled kernels: what warms them must be so too."""
    for array in (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,):
        array.flags.writeable = False
    return X
