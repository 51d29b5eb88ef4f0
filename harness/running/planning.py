"""From cells that were asked for to cells that can be run: checked, with the problem that judges each and its key."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from marginbench.harness.cell.judging import sentence
from marginbench.harness.cell.spec import Cell, Config, instantiate, judged_problem
from marginbench.harness.model.formulation import Formulation
from marginbench.harness.model.problem import InputError, Problem, problem_key
from marginbench.harness.model.solver import Solver
from marginbench.harness.old_names import current_name
from marginbench.harness.records.codec import dumps
from marginbench.harness.records.record import Record
from marginbench.harness.records.store import ANSWERED, ASKED, asked_key, cell_key
from marginbench.harness.rehearsal import Mishap, rehearsed
from marginbench.harness.running.fingerprint import code_of, versions_of
from marginbench.harness.running.job import Limits
from marginbench.harness.running.loading import data_key
from marginbench.harness.running.mapped_data import Data

LARGEST_SEED = 2**63
"""A table's whole numbers have 64 bits."""


@dataclass(frozen=True)
class Planned:
    """A cell that passed all checks, the problem that judges it, and the names of its record and of its first run.

    Where its data or its solver could not even be made, `failure` is its record.
    """

    cell: Cell
    data: Data
    judged: Problem
    problem: str
    key: str
    first: str
    code: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    peer: bool = False
    """Whether its solver wraps a library."""
    failure: Record | None = None

    @property
    def targets(self) -> list[str]:
        return [current_name(str(part.get("_target_", ""))) for part in (self.cell.solver, self.cell.formulation)]


def plan(cells: Sequence[Cell], loaded: Mapping[str, Data | Mishap]) -> list[Planned]:
    """Every cell with its key, in order. Raises InputError for what cannot be."""
    planned = []
    for cell in cells:
        check_numbers("budget.", cell.budget)
        check_numbers("limits.", cell.limits)
        check_seed(cell.seed)
        data, solver = loaded[data_key(cell)], made_solver(cell)
        if isinstance(data, Mishap):
            planned.append(_hopeless(cell, data))
            continue
        if isinstance(solver, Mishap):
            planned.append(_hopeless(cell, solver))
            continue
        formulation: Formulation = instantiate(cell.formulation)
        judged = judged_problem(formulation, data.X, data.y, cell.problem)
        name = problem_key(judged, data.digest)
        one = Planned(cell, data, judged, name, "", "")
        one = replace(one, code=code_of(one.targets), versions=versions_of(solver), peer=bool(solver.requires))
        settings = (name, cell.formulation, cell.solver, cell.budget, cell.limits, cell.seed)
        key, first = (cell_key(asked_key(*settings, repeat), one.code, one.versions) for repeat in (cell.repeat, 0))
        planned.append(replace(one, key=key, first=first))
    return planned


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
        status=why.status,
        message=sentence(why.message),
        method=cell.method,
        cell=dict(cell.__dict__),
    )
    asked = dumps([cell.dataset, cell.problem])
    record.problem = hashlib.sha256(asked.encode()).hexdigest()[:20]
    record.hash = hashlib.sha256(dumps(record.cell).encode()).hexdigest()[: ASKED + ANSWERED]
    return Planned(cell, None, None, record.problem, record.hash, record.hash, failure=record)  # type: ignore[arg-type]


def check_numbers(group: str, config: Config) -> None:
    """Every budget and limit is a number above 0."""
    for name, value in config.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            raise InputError(f"{group}{name}={value}: needs a number above 0")


def check_seed(seed: Any) -> None:
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < LARGEST_SEED:
        raise InputError(f"seed={seed}: needs a whole number from 0 to 2^63 - 1")
