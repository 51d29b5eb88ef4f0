"""What a cell is made of: its configuration, and the data set, problem, formulation and solver that it names."""

import importlib
import importlib.metadata
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from marginbench.harness.model.formulation import Formulation
from marginbench.harness.model.problem import InputError, Matrix, Problem, problem_key
from marginbench.harness.model.programs import Program
from marginbench.harness.model.solver import Solver
from marginbench.harness.old_names import current_name
from marginbench.harness.requirements import missing_library

Config = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """A resolved configuration. `dataset`, `formulation` and `solver` are `_target_` with arguments."""

    dataset: Config
    problem: Config
    formulation: Config
    solver: Config
    dataset_name: str
    formulation_name: str
    solver_name: str
    method: str = ""
    budget: Config = field(default_factory=dict)
    limits: Config = field(default_factory=dict)
    seed: int = 0
    repeat: int = 0


def instantiate(config: Config) -> Any:
    """Import what `_target_` names and call it with the other entries."""
    config = dict(config)
    module, _, name = current_name(str(config.pop("_target_"))).rpartition(".")
    target = getattr(importlib.import_module(module), name)
    try:
        return target(**config)
    except TypeError as error:
        raise InputError(f"{module}.{name}: {error}") from None


def make_problem(X: Matrix, y: np.ndarray, config: Config) -> Problem:
    """The canonical problem that `problem.*` describes. weight: null, or `balanced` (n / (2 n_class))."""
    config = dict(config)
    weight = config.pop("weight", None)
    if weight == "balanced":
        share = np.where(y > 0, (y > 0).mean(), (y < 0).mean())
        weight = 1.0 / (2.0 * share)
    elif weight is not None:
        raise InputError(f"problem.weight={weight}: possible are null and balanced")
    return Problem(X, y, weight=weight, **config)


def judged_problem(formulation: Formulation, X: Matrix, y: np.ndarray, config: Config) -> Problem:
    """The problem that an answer of `formulation` to `problem.*` is compared with: the same, or the hard margin."""
    return formulation.judged(make_problem(X, y, config))


def answers(formulation: Formulation, problem: Problem) -> bool:
    """Whether an answer of `formulation` is compared with this very problem, and not with the hard margin."""
    return problem_key(formulation.judged(problem), "") == problem_key(problem, "")


def missing(solver: Solver) -> str | None:
    """The sentence for a solver whose library is not installed; None when all are."""
    return missing_library(solver.requires)


def misfit(formulation: Formulation, solver: Solver, problem: Problem) -> str | None:
    """Why formulation, solver and problem do not go together, as far as types and problem tell; None when they do."""
    reason = formulation.refuses(problem)
    if reason is None and not any(issubclass(kind, solver.accepts) for kind in formulation.gives):
        gives = " or ".join(kind.__name__ for kind in formulation.gives)
        takes = " or ".join(kind.__name__ for kind in solver.accepts)
        reason = f"the formulation gives {gives}; the solver takes {takes}"
    return reason


def chosen_kind(formulation: Formulation, solver: Solver) -> type[Program]:
    """The program both know; the solver's order of preference decides."""
    return next(kind for wanted in solver.accepts for kind in formulation.gives if issubclass(kind, wanted))


def routes_of(solver: Solver, formulations: Mapping[str, Formulation]) -> list[list[str]]:
    """The formulations that are natural for a solver, by name: for each route those that take turns on it."""
    routes: dict[str, list[str]] = {}
    turns = ((formulation.route, name) for name, formulation in formulations.items() if formulation.route is not None)
    for route, name in sorted(turns, key=lambda turn: turn[0].turn):
        fits = any(issubclass(kind, solver.accepts) for kind in formulations[name].gives)
        if fits and chosen_kind(formulations[name], solver) in route.kinds:
            routes.setdefault(route.name, []).append(name)
    return list(routes.values())


def library_versions(solver: Solver) -> dict[str, str]:
    """The installed libraries that a solver wraps."""
    return {name: _version(name) for name in solver.requires if importlib.util.find_spec(name) is not None}


@cache
def _version(module: str) -> str:
    names = importlib.metadata.packages_distributions().get(module, [module])
    return importlib.metadata.version(names[0])
