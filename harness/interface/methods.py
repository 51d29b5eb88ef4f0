"""A method as a Python user names one: by name, as a pair, as a solver's class or instance, or by a file.

"pegasos"                              a method of conf/method, or a solver of conf/solver
("tikhonov", "subgradient")            a formulation and a solver
Pegasos(batch=4), Pegasos              a solver, with a formulation that it takes
"mine.py:Mine", "package.module.Mine"  a solver of your own
"""

import json
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np

from marginbench.harness.cell.spec import Config, answers, chosen_kind, instantiate, misfit
from marginbench.harness.interface.engine import Pair, composer, routes
from marginbench.harness.model.formulation import Formulation
from marginbench.harness.model.problem import InputError, Problem
from marginbench.harness.model.solver import Solver
from marginbench.harness.solver_spec import check_options, is_class, options

SolverName: TypeAlias = str | Solver | type[Solver]
Method: TypeAlias = SolverName | tuple[str, SolverName]


def pair_of(method: Method, problem: Problem, seed: int, isolated: bool = True) -> Pair:
    """The formulation and solver that `method` means for this problem."""
    if isinstance(method, tuple):
        if len(method) != 2:
            raise InputError(f"method={method!r}: needs two entries, (formulation, solver)")
        name, config = solver_config(method[1], seed, isolated)
        return Pair(method[0], formulation_config(method[0]), name, config)
    if isinstance(method, str) and method in composer().names("method"):
        config = composer().config([f"method={method}", f"seed={seed}"])
        choices = config["choices"]
        return Pair(choices["formulation"], config["formulation"], choices["solver"], config["solver"], method)
    name, config = solver_config(method, seed, isolated)
    formulation = natural_formulation(name, instantiate(config), problem)
    return Pair(formulation, formulation_config(formulation), name, config)


def formulation_config(name: str) -> Config:
    known = composer().names("formulation")
    if name not in known:
        raise InputError(f"there is no formulation {name!r}; possible are {', '.join(known)}")
    return dict(composer().config([f"formulation={name}"])["formulation"])


def solver_config(solver: SolverName, seed: int, isolated: bool = True) -> tuple[str, Config]:
    """(name, `_target_` with fields)."""
    if isinstance(solver, str):
        if solver in composer().names("solver") or is_class(solver):
            config = composer().config([f"solver={solver}", f"seed={seed}"])
            return config["choices"]["solver"], dict(config["solver"])
        raise InputError(
            f"there is no method {solver!r}; possible are {', '.join(composer().names('method'))}, the name of a "
            "solver, (formulation, solver), and FILE.py:Class"
        )
    made = solver if isinstance(solver, type) else type(solver)
    if not issubclass(made, Solver):
        raise InputError(f"method={solver!r}: needs a name, a pair, or a class that is a marginbench.Solver")
    check_options(made.__name__, made)
    fields = [field.name for field in options(made)]
    if isinstance(solver, type):
        given: Config = {"seed": seed} if "seed" in fields else {}
    else:
        given = {name: getattr(solver, name) for name in fields}
    return made.__name__, {"_target_": _importable(made, isolated), **_plain(made.__name__, given)}


def _importable(made: type, isolated: bool) -> str:
    if "." in made.__qualname__:
        raise InputError(f"{made.__qualname__}: defined inside a function or class; needs the top level of a module")
    if made.__module__ == "__main__" and isolated:
        raise InputError(
            f"{made.__name__} is defined in this notebook or script, which the process of a cell cannot import: write "
            f"it to a file and name it, as in 'mine.py:{made.__name__}'; solve(..., isolated=False) takes it as it is"
        )
    return f"{made.__module__}.{made.__name__}"


def _plain(name: str, fields: Config) -> Config:
    try:
        return dict(json.loads(json.dumps(fields)))
    except TypeError as error:
        raise InputError(f"{name}: its fields must be numbers, text and lists of these: {error}") from None


def natural_formulation(name: str, solver: Solver, problem: Problem) -> str:
    """The first formulation that writes this very problem as a program which the solver takes."""
    small = _few_rows(problem)
    for formulation in routes(solver):
        if _fits(instantiate(formulation_config(formulation)), solver, small):
            return formulation
    takes = " or ".join(kind.__name__ for kind in solver.accepts)
    raise InputError(f"{name}: no formulation writes this problem as {takes} for it; name one: (formulation, solver)")


def _fits(formulation: Formulation, solver: Solver, problem: Problem) -> bool:
    if misfit(formulation, solver, problem) or not answers(formulation, problem):
        return False
    with suppress(InputError):
        return solver.refuses(formulation.program(problem, chosen_kind(formulation, solver, problem))) is None
    return False


def _few_rows(problem: Problem) -> Problem:
    """Enough to see what a solver refuses."""
    rows: Iterable[Any] = (np.flatnonzero(problem.y == sign)[:4] for sign in (-1.0, 1.0))
    some = np.sort(np.concatenate(list(rows)))
    weight = None if problem.weight is None else problem.weight[some]
    return problem.with_(X=problem.X[some], y=problem.y[some], weight=weight)
