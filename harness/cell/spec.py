"""What a cell is made of: its configuration, and the data set, problem, formulation and solver that it names."""

import hashlib
import importlib
import importlib.metadata
import importlib.util
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from marginbench.harness.cell.weights import weights_of
from marginbench.harness.model.formulation import Formulation
from marginbench.harness.model.kernel import OPTIONS, kernel_of
from marginbench.harness.model.kernel_dual import KernelDual
from marginbench.harness.model.problem import InputError, Matrix, Problem, problem_key
from marginbench.harness.model.programs import Program
from marginbench.harness.model.solver import Solver
from marginbench.harness.old_names import current_name
from marginbench.harness.requirements import missing_library

Config = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """A resolved configuration. `dataset`, `formulation` and `solver` are `_target_` with arguments.

    `preprocess`: what is done to the data set after it is made; empty: nothing.
    """

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
    threads: int = 1
    """That its solver may use; its process has as many cores."""
    preprocess: Config = field(default_factory=dict)
    path: list[float] = field(default_factory=list)
    """The values of C that are solved one after another, of which `problem.C` is one; empty: there is no path."""
    start: str = "cold"
    """warm: its solver begins from its own answer at the value of C before this one on the path."""

    @property
    def memory_mb(self) -> float:
        """What its process may use; inf where nothing is said."""
        return float(self.limits.get("memory_mb", math.inf))

    @property
    def position(self) -> int:
        """Of C on the path, from 0."""
        return self.path.index(self.problem["C"]) if self.path else 0

    @property
    def past(self) -> list[float]:
        """The part of the path that its start depends on, up to its own C; empty for a cold start."""
        return self.path[: self.position + 1] if self.start == "warm" else []

    def before(self) -> "Cell":
        """The cell whose answer a warm one begins from. The first of a path is cold. Repetitions share their start."""
        k = self.position - 1
        start = "warm" if k > 0 else "cold"
        return replace(self, problem={**self.problem, "C": self.path[k]}, start=start, repeat=0)


def instantiate(config: Config) -> Any:
    """Import what `_target_` names and call it with the other entries."""
    config = dict(config)
    module, _, name = current_name(str(config.pop("_target_"))).rpartition(".")
    target = getattr(importlib.import_module(module), name)
    try:
        return target(**config)
    except TypeError as error:
        raise InputError(f"{module}.{name}: {error}") from None


def without_defaults(problem: Config) -> Config:
    """`problem.*` without a linear kernel and without parameters of kernels that are not given: a linear problem is
    asked for, stored and compared as if there were no kernels."""
    return {
        key: value
        for key, value in problem.items()
        if not (key == "kernel" and value == "linear") and not (key in OPTIONS and value is None)
    }


def make_problem(X: Matrix, y: np.ndarray, config: Config) -> Problem:
    """The canonical problem that `problem.*` describes. Rows of weight 0 are left out of it."""
    config = dict(config)
    given = {key: config.pop(key, None) for key in OPTIONS}
    kernel = kernel_of(config.pop("kernel", "linear"), given, X.shape[1])
    weight, left_out = weights_of(config.pop("weight", None), y), ""
    if weight is not None and not weight.all():
        kept = weight > 0.0
        left_out = hashlib.sha256(np.packbits(kept).tobytes()).hexdigest()[:16]
        X, y, weight = X[kept], y[kept], weight[kept]
        for array in (X.data, X.indices, X.indptr, y) if sp.issparse(X) else (X, y):
            array.flags.writeable = False  # as all data are: to compiled kernels that is a type of its own
    problem = Problem(X, y, weight=weight, kernel=kernel, left_out=left_out, **config)
    if problem.hard and problem.kernel is not None:
        raise InputError(f"problem.C=inf with problem.kernel={problem.kernel.name}: needs a finite C, such as 1e6")
    return problem


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
    reason, kinds = formulation.refuses(problem), formulation.kinds(problem)
    if reason is None and problem.kernel is not None and not kinds:
        needs = "a linear kernel" if problem.hard else f"w, which a {problem.kernel.name} kernel gives no coordinates"
        reason = f"the formulation needs {needs}; use dual_qp"
    if reason is None and not any(issubclass(kind, solver.accepts) for kind in kinds):
        gives = " or ".join(kind.__name__ for kind in kinds)
        hidden = KernelDual if problem.kernel is None else None
        takes = " or ".join(kind.__name__ for kind in solver.accepts if kind is not hidden)
        reason = f"the formulation gives {gives}; the solver takes {takes}"
    return reason


def chosen_kind(formulation: Formulation, solver: Solver, problem: Problem | None = None) -> type[Program]:
    """The program both know; the solver's order of preference decides. Without a problem, of a linear one."""
    kinds = formulation.gives if problem is None else formulation.kinds(problem)
    return next(kind for wanted in solver.accepts for kind in kinds if issubclass(kind, wanted))


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
