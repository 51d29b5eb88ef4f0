"""Where the Python interface meets the rest of the harness: configurations, cells, one run, and bounds of an optimum.

No other module of the interface knows how cells are composed, run or referred to.
"""

import math
import time
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cache
from numbers import Real
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from marginbench.datasets.digest import digest
from marginbench.harness.cell.certificate import certify
from marginbench.harness.cell.run import Outcome, run_cell
from marginbench.harness.cell.spec import (
    Cell,
    Config,
    chosen_kind,
    instantiate,
    judged_problem,
    make_problem,
    misfit,
    routes_of,
    without_defaults,
)
from marginbench.harness.compose import Composer
from marginbench.harness.interface.data import Samples, folder_of_data
from marginbench.harness.interface.problem import DEFAULT_BIAS
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.model.formulation import Formulation
from marginbench.harness.model.problem import Bias, InputError, Loss, Problem, problem_key
from marginbench.harness.model.programs import RegularisedRisk
from marginbench.harness.model.solver import Solver
from marginbench.harness.records.record import Record
from marginbench.harness.references import library
from marginbench.harness.running.isolation import Isolation, Limits
from marginbench.harness.running.mapped_data import spill
from marginbench.harness.running.planning import check_numbers, check_threads
from marginbench.harness.running.sweep import Finished, run_cells


@dataclass(frozen=True)
class Pair:
    """A formulation and a solver: their names and their configurations, and the method's name where it has one."""

    formulation_name: str
    formulation: Config
    solver_name: str
    solver: Config
    method: str = ""


@cache
def composer(verb: str = "run") -> Composer:
    return Composer(verb)


@cache
def _defaults(seed: int) -> Config:
    return composer().config([f"seed={_whole('seed', seed, 0)}"])


def defaults(seed: int = 0) -> Config:
    """conf/run.yaml, as the command line has it without options."""
    return deepcopy(_defaults(seed))


def problem_config(
    C: object, bias: Bias | None, loss: Loss, weight: Any, s: float, kernel: str = "linear", **parameters: Any
) -> Config:
    """`problem.*` of the command line. bias None is its default; weights of rows become a list, as in a record."""
    weight = weight.tolist() if isinstance(weight, np.ndarray) else weight
    price = float(C) if isinstance(C, Real) and not isinstance(C, bool) else C
    asked = {"C": price, "bias": bias or DEFAULT_BIAS, "loss": loss, "weight": weight, "s": s, "kernel": kernel}
    return without_defaults({**asked, **parameters})


def options(group: str, given: Mapping[str, float] | float | None, seed: int) -> Config:
    """`budget.*` or `limits.*`: the defaults with what was given; a number alone is seconds."""
    config = dict(defaults(seed)[group])
    given = {} if given is None else {"seconds": given} if not isinstance(given, Mapping) else dict(given)
    for name in given:
        if name not in config:
            raise InputError(f"{group}: there is no {name!r}; possible are {', '.join(config)}")
    config |= given
    check_numbers(f"{group}.", config)
    return config


def cells(
    samples: Samples,
    pairs: Sequence[Pair],
    problem: Config,
    dataset: Config,
    name: str,
    budget: Config,
    limits: Config,
    seed: int,
    repeats: int = 1,
    threads: int = 1,
) -> list[Cell]:
    """One cell for each pair and repeat. What `problem` asks of the data is checked here."""
    make_problem(samples.X, samples.y, problem)
    check_threads(_whole("threads", threads, 1))
    return [
        Cell(
            dataset=dataset,
            problem=problem,
            formulation=pair.formulation,
            solver=pair.solver,
            dataset_name=name,
            formulation_name=pair.formulation_name,
            solver_name=pair.solver_name,
            method=pair.method,
            budget=budget,
            limits=limits,
            seed=seed,
            repeat=repeat,
            threads=int(threads),
        )
        for pair in pairs
        for repeat in range(_whole("repeats", repeats, 1))
    ]


def routes(solver: Solver) -> list[str]:
    """The formulations to try for a solver that was named without one, in this order."""
    names = composer().names("formulation")
    made = {name: instantiate(composer().config([f"formulation={name}"])["formulation"]) for name in names}
    return [name for route in routes_of(solver, made) for name in route]


def _whole(name: str, value: object, least: int) -> int:
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise InputError(f"{name}={value!r}: needs a whole number, {least} or more")
    return int(value)


# -- a sweep -----------------------------------------------------------------------------------------------------


def run_all(cells: Sequence[Cell], samples: Samples, out: Path, fresh: bool, command: str, seed: int) -> Finished:
    """The cells as the command line runs them, on data given in memory. Results go to out/compare."""
    spill(samples.X, samples.y, digest(samples.X, samples.y), folder_of_data())
    return run_cells(cells, {**defaults(seed), "out": str(out), "fresh": fresh}, "compare", command)


def references_of(records: Sequence[Record], folder: Path) -> dict[str, Bounds]:
    """What is known of the optima of these records, for tables and reports."""
    return library.bounds_of({record.problem for record in records}, [folder])


# -- one run -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """A cell that was run: what became of it, the problem that judges it, and what was known of that before."""

    outcome: Outcome
    judged: Problem
    known: Bounds
    judge: Any


def run_one(cell: Cell, samples: Samples, reference: bool, isolated: bool) -> Run:
    """In a process of its own, under the limits of the cell; or in this one, where exceptions pass through.

    reference: find a lower bound first where the pair gives no multipliers, so that there is a gap.
    """
    formulation: Formulation = instantiate(cell.formulation)
    solver: Solver = instantiate(cell.solver)
    judged = judged_problem(formulation, samples.X, samples.y, cell.problem).within(cell.memory_mb)
    known = Bounds()
    if reference and not misfit(formulation, solver, judged) and _needs_bounds(formulation, solver):
        known = bounds_of(judged)
    if not isolated:
        return Run(run_cell(cell, samples.X, samples.y, "", known), judged, known, formulation.judge)
    name = digest(samples.X, samples.y)
    with TemporaryDirectory(prefix="marginbench-") as folder, Isolation() as isolation:
        data = spill(samples.X, samples.y, name, Path(folder))
        outcome = isolation.run(cell, data, name, known, Limits(**cell.limits))
    return Run(outcome, judged, known, formulation.judge)


def _needs_bounds(formulation: Formulation, solver: Solver) -> bool:
    """Whether an answer comes without multipliers, or the formulation is stated by the optimum (a slack budget)."""
    if not any(issubclass(kind, solver.accepts) for kind in formulation.gives):
        return False
    without = issubclass(chosen_kind(formulation, solver), RegularisedRisk) and formulation.judge == "optimum"
    return without or type(formulation).at is not Formulation.at


# -- bounds of the optimum ---------------------------------------------------------------------------------------


def bounds_of(problem: Problem) -> Bounds:
    """What is stored as proven of this problem, or what the pair of conf/reference finds now, in this process.

    D is computed here from the multipliers that the pair found, so that it bounds the optimum whoever found them.
    """
    stored = library.Library().bounds(problem_key(problem, digest(problem.X, problem.y)))
    return stored or _computed(problem, defaults()["reference"])


def _computed(problem: Problem, reference: Config) -> Bounds:
    side, budget = reference["hard" if problem.hard else "soft"], reference["budget"]
    formulation: Formulation = instantiate(side["formulation"])
    solver: Solver = instantiate(side["solver"])
    program = formulation.program(problem, chosen_kind(formulation, solver, problem))
    solver.warm_up(program)
    known, end = Bounds(source="computed"), time.monotonic() + float(budget["seconds"])
    for iterate in solver.iterates(program):
        if iterate.x is None:
            continue
        point = formulation.point(problem, program, iterate)
        found = certify(problem, point)
        if found.dual is not None and found.dual > known.lower:
            upper = math.inf if found.primal is None else found.primal
            known = replace(known, lower=found.dual, upper=upper, point=point)
        if (found.gap is not None and found.gap <= float(budget["gap"])) or time.monotonic() > end:
            break
    return known
