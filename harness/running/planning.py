"""From cells that were asked for to cells that can be run: checked, with the problem that judges each and its key."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from marginbench.datasets.mapped import in_single
from marginbench.harness.cell.judging import sentence
from marginbench.harness.cell.spec import Cell, Config, instantiate, judged_problem
from marginbench.harness.model.problem import InputError, Problem, problem_key
from marginbench.harness.model.solver import Solver
from marginbench.harness.old_names import current_name
from marginbench.harness.records.codec import dumps
from marginbench.harness.records.record import Record
from marginbench.harness.records.store import ANSWERED, ASKED, asked_key, cell_key
from marginbench.harness.rehearsal import Mishap, rehearsed
from marginbench.harness.rowops.parallel import BARRIERS
from marginbench.harness.running.cores import usable
from marginbench.harness.running.fingerprint import code_of, versions_of
from marginbench.harness.running.job import Limits
from marginbench.harness.running.loading import data_key
from marginbench.harness.running.mapped_data import Data

LARGEST_SEED = 2**63
"""A table's whole numbers have 64 bits."""


@dataclass(frozen=True)
class Planned:
    """A cell that passed all checks, the name of the problem that judges it, and those of its record and first run.

    Where its data or its solver could not even be made, `failure` is its record.
    """

    cell: Cell
    data: Data
    problem: str
    key: str
    first: str
    code: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    peer: bool = False
    """Whether its solver wraps a library."""
    before: str = ""
    """Of a warm cell, the key of the one whose answer it begins from."""
    failure: Record | None = None

    @property
    def judged(self) -> Problem:
        """The problem that judges it, made anew from the files: what an earlier mapping shows may be gone."""
        return judged_problem(instantiate(self.cell.formulation), self.data.X, self.data.y, self.cell.problem)

    @property
    def family(self) -> str:
        """Cells of one family run on one worker: those of a problem; of a path, those of all its problems."""
        asked = self.cell.problem
        return dumps([self.data.digest, {**asked, "C": None}]) if self.cell.path else self.problem

    @property
    def targets(self) -> list[str]:
        return [current_name(str(part.get("_target_", ""))) for part in (self.cell.solver, self.cell.formulation)]


def plan(cells: Sequence[Cell], loaded: Mapping[str, Data | Mishap]) -> list[Planned]:
    """Every cell with its key, in order. Raises InputError for what cannot be."""
    planned = []
    codes: dict[tuple[str, ...], dict[str, str]] = {}  # cells with the same code share what names it
    for cell in cells:
        check_numbers("budget.", cell.budget)
        check_numbers("limits.", cell.limits)
        check_seed(cell.seed)
        check_threads(cell.threads)
        data, solver = loaded[data_key(cell)], made_solver(cell)
        if isinstance(data, Mishap):
            planned.append(_hopeless(cell, data))
            continue
        if isinstance(solver, Mishap):
            planned.append(_hopeless(cell, solver))
            continue
        one = Planned(cell, data, "", "", "")
        name = problem_key(one.judged, data.digest)
        targets = tuple(one.targets)
        if targets not in codes:
            codes[targets] = code_of(targets)
        one = replace(one, problem=name, code=codes[targets], versions=versions_of(solver), peer=bool(solver.requires))
        key, first = (_key(one, replace(cell, repeat=repeat)) for repeat in (cell.repeat, 0))
        before = _key(one, cell.before()) if cell.start == "warm" else ""
        planned.append(replace(one, key=key, first=first, before=before))
    return planned


def _key(one: Planned, cell: Cell) -> str:
    """The name of the record of `cell`: of that of `one`, or of one that differs in C, start and repeat only."""
    name, data = one.problem, one.data
    if cell.problem != one.cell.problem:
        judged = one.judged
        name = name if judged.hard else problem_key(judged.with_(C=cell.problem["C"]), data.digest)
    beside = f"+{data.held_out.digest}" if data.held_out else ""  # an answer of old may not know these rows
    beside += "+float32" if in_single(data.path) else ""  # the same problem, solved from other numbers in memory
    settings = (cell.formulation, cell.solver, cell.budget, cell.limits, cell.seed, cell.repeat, cell.threads)
    return cell_key(asked_key(name + beside, *settings, cell.past), one.code, one.versions)


def made_solver(cell: Cell) -> Solver | Mishap:
    """The solver of a cell. One from outside the package is made in another process first."""
    limits = Limits(**cell.limits)
    mishap = rehearsed(cell.solver, limits.seconds, limits.memory_mb)
    if mishap is not None:
        return mishap
    try:
        return instantiate(cell.solver)
    except (ValueError, TypeError) as error:
        raise InputError(f"solver={cell.solver_name}: {error}") from None
    except Exception as error:  # whatever a user's class raises
        return Mishap("failed", f"{type(error).__name__}: {error}")


def _hopeless(cell: Cell, why: Mishap) -> Planned:
    """A cell that cannot be run, with its row. Such a row is never found again: the next run tries anew."""
    record = row_without(cell, why)
    return Planned(cell, None, record.problem, record.hash, record.hash, failure=record)  # type: ignore[arg-type]


def row_without(cell: Cell, why: Mishap) -> Record:
    """The row of a cell that cannot be run."""
    about = cell.problem
    record = Record(
        dataset=cell.dataset_name,
        C=float(about.get("C", 1.0)),
        bias=str(about.get("bias", "")),
        loss=str(about.get("loss", "hinge")),
        formulation=cell.formulation_name,
        solver=cell.solver_name,
        seed=cell.seed,
        repeat=cell.repeat,
        threads=cell.threads,
        start=cell.start,
        path=cell.path,
        position=cell.position,
        status=why.status,
        message=sentence(why.message),
        method=cell.method,
        cell=dict(cell.__dict__),
    )
    asked = dumps([cell.dataset, cell.problem])
    record.problem = hashlib.sha256(asked.encode()).hexdigest()[:20]
    record.hash = hashlib.sha256(dumps(record.cell).encode()).hexdigest()[: ASKED + ANSWERED]
    return record


def check_numbers(group: str, config: Config) -> None:
    """Every budget and limit is a number above 0."""
    for name, value in config.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            raise InputError(f"{group}{name}={value}: needs a number above 0")


def check_seed(seed: Any) -> None:
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < LARGEST_SEED:
        raise InputError(f"seed={seed}: needs a whole number from 0 to 2^63 - 1")


def check_threads(threads: int) -> None:
    """A thread more than there are cores would be timed while it waits for its turn."""
    cores = len(usable()) or os.cpu_count() or 1
    if threads > cores:
        raise InputError(f"threads={threads}: there are {cores} cores for this process; possible are 1 to {cores}")
    if threads > 1 and not BARRIERS:
        raise InputError(f"threads={threads}: this system has no barriers (pthread_barrier_wait); possible is 1")
