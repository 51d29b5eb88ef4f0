"""The solver's side of a cell: the program is built here, and the solver works on it.

All that the judge hears of it is an `Opening` and the `Step`s; see `judging.py` for the other side.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np
import scipy.sparse as sp

from marginbench.harness.cell.measure import Budget, Step, climb, steps
from marginbench.harness.cell.spec import (
    Cell,
    chosen_kind,
    instantiate,
    judged_problem,
    library_versions,
    misfit,
    missing,
)
from marginbench.harness.matrices import as_double, is_single
from marginbench.harness.model.adapters import Ladder
from marginbench.harness.model.formulation import Formulation
from marginbench.harness.model.kernel_dual import KernelDual
from marginbench.harness.model.needs import Need
from marginbench.harness.model.problem import Array, InputError, Matrix, Point, Problem
from marginbench.harness.model.programs import Program
from marginbench.harness.model.solver import Solver, Start
from marginbench.harness.model.start import start_at

HEAD = 32
"""Rows of each class that a solver may see before the clock runs; never more than a quarter of the data."""


@dataclass(frozen=True)
class Opening:
    """What the solver's side says before the clock runs. status: `skipped` or `not_installed` where it ends there."""

    status: str = ""
    message: str = ""
    kind: str = ""
    """The type of program, one of those that the formulation gives."""
    build_seconds: float = 0.0
    restarts: bool = False
    baseline: bool = False
    peer: bool = False
    bounded: bool = False
    """Whether theory promises something of its iterates: see `Attempt.bounds`."""
    bounds_dual: bool = False
    """Whether it does so of D* - D, not of P - P*."""
    licence: str = ""
    versions: dict[str, str] = field(default_factory=dict)


class Attempt:
    """`optimum`: for a formulation that depends on it (a slack budget), and for no other. `start`: for a warm cell, the
    solver's own answer at the C before."""

    program: Program

    def __init__(
        self,
        cell: Cell,
        X: Matrix,
        y: Array,
        optimum: Point | None = None,
        features: Matrix | None = None,
        start: Point | None = None,
    ) -> None:
        self.cell, self.start = cell, start
        self.formulation: Formulation = instantiate(cell.formulation)
        self.solver: Solver = instantiate(cell.solver)
        self.problem = judged_problem(self.formulation, X, y, cell.problem).with_features(features)
        if self.solver.rows_of_kernel:
            self.problem.within(cell.memory_mb)
        if optimum is not None:
            self.formulation = self.formulation.at(optimum, self.problem)

    @property
    def ladder(self) -> bool:
        """Only a ladder is believed to restart: its rungs can be climbed in processes of their own."""
        return isinstance(self.solver, Ladder)

    def open(self, wall: Callable[[], float] = time.perf_counter) -> Opening:
        """Build the program, unless something speaks against it."""
        if reason := misfit(self.formulation, self.solver, self.problem):
            return Opening("skipped", reason)
        if self.cell.start == "warm" and (reason := self._no_start()):
            return Opening("skipped", reason)
        if sentence := missing(self.solver):
            return Opening("not_installed", sentence)
        kind = chosen_kind(self.formulation, self.solver, self.problem)
        by_rows = self.problem.by_rows and issubclass(kind, KernelDual)
        if not by_rows and (reason := self._beyond(self.formulation.needs(self.problem, kind))):
            return Opening("skipped", reason)
        if self.problem.kernel is not None:
            small = head(self.problem)
            _ = small.gram @ np.ones(small.n)  # compiled before the clock runs
        start = wall()
        try:
            self.program = self.formulation.program(self._given(self.problem), kind)
        except InputError as error:
            return Opening("skipped", str(error))
        if reason := self._beyond(self.solver.needs(self.program)):
            return Opening("skipped", reason)
        if self.cell.threads > 1:
            self.program = replace(self.program, threads=self.cell.threads)
        return Opening(
            kind=kind.__name__,
            build_seconds=wall() - start,
            restarts=self.ladder,
            baseline=bool(self.solver.baseline),
            peer=bool(self.solver.requires),
            bounded=type(self.solver).bound is not Solver.bound,
            bounds_dual=bool(self.solver.bounds_dual),
            licence=str(self.solver.licence),
            versions=library_versions(self.solver),
        )

    def _no_start(self) -> str | None:
        """Why the solver cannot begin from its answer at the C before."""
        if not self.solver.takes_start():
            return f"{self.cell.solver_name} takes no start: cold only"
        if self.problem.hard:
            return "a hard margin has no C, and so no path"
        return None if self.start is not None else f"no answer at C = {self.cell.past[-2]:g} to begin from"

    def _given(self, problem: Problem) -> Problem:
        """The problem as the solver takes it: float32 entries are for those that say so."""
        return problem if self.solver.single or not is_single(problem.X) else problem.with_(X=as_double(problem.X))

    def _beyond(self, need: Need | None) -> str | None:
        return None if need is None else need.beyond(self.cell.memory_mb)

    def warm_up(self) -> None:
        """What is paid once per process: importing, compiling. On a head of the data, and before the clock runs.

        What goes wrong here goes wrong in the solve too, whose message it becomes.
        """
        with suppress(Exception):
            problem = self._given(head(self.problem))
            formulation = self.formulation.at(problem.point(np.zeros(problem.n)), problem)
            program = formulation.program(problem, chosen_kind(formulation, self.solver, problem))
            if self.solver.refuses(program) is None:
                self.solver.needs(program)  # part of building it, and compiled too: Newton's reads some rows
                self.solver.warm_up(program)
                if self.cell.start == "warm":
                    start = start_at(problem, problem.point(np.zeros(problem.n)))
                    for _ in islice(self.solver.iterates_from(program, start), 2):
                        pass

    def bounds(self, infos: Sequence[Mapping[str, Any]]) -> list[float | None]:
        """What theory promises of P - P* at iterates with these `info`: asked for when all answers are given."""
        bound = self.solver.bound(self.program)
        return [] if bound is None else [bound(info) for info in infos]

    def steps(
        self,
        rung: int | None = None,
        wall: Callable[[], float] = time.perf_counter,
        cpu: Callable[[], float] = time.process_time,
    ) -> Iterator[Step]:
        budget = Budget(**self.cell.budget)
        if rung is None and isinstance(self.solver, Ladder):
            return climb(self.solver, self.program, budget, wall, cpu)
        return steps(self.solver, self.program, budget, rung, wall, cpu, self._begin if self.start else None)

    def _begin(self) -> Start:
        """Where a warm solver begins: O(n + d), and on the clock."""
        assert self.start is not None
        return start_at(self.problem, self.start)


def head(problem: Problem) -> Problem:
    """A few rows of both classes, read-only as all data are: to compiled kernels that is a type of its own."""
    most = max(1, min(HEAD, problem.n // 8))
    some = np.sort(np.concatenate([np.flatnonzero(problem.y > 0)[:most], np.flatnonzero(problem.y < 0)[:most]]))
    X, y = problem.X[some], problem.y[some]
    for array in (X.data, X.indices, X.indptr, y) if sp.issparse(X) else (X, y):
        array.flags.writeable = False
    weight = None if problem.weight is None else problem.weight[some]
    few = problem.with_(X=X, y=y, weight=weight)
    return few.within(0.0) if problem.by_rows else few
