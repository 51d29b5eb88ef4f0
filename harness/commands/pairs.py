"""`marginbench list compat` and `list pairs`: which solver takes which formulation, bias, loss and kernel, found out by
asking.

The solvers are imported for this, the libraries behind them are not. Each program is written once and shown to all.
"""

import importlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tabulate import tabulate

from marginbench.harness import config_files
from marginbench.harness.cell.spec import chosen_kind, judged_problem, misfit, missing
from marginbench.harness.commands.catalogue import target_of
from marginbench.harness.model.formulation import Formulation
from marginbench.harness.model.kernel import NAMES
from marginbench.harness.model.problem import Problem
from marginbench.harness.model.programs import Program
from marginbench.harness.model.solver import Solver
from marginbench.harness.old_names import current_name

BIASES = ("none", "free", "augmented")
LOSSES = ("hinge", "squared_hinge")
KERNELS = tuple(NAMES)


class Fit(NamedTuple):
    """What goes together, by name."""

    solver: str
    formulation: str
    bias: str
    loss: str
    kernel: str


def target(config: dict[str, Any]) -> Any:
    module, _, name = current_name(str(config["_target_"])).rpartition(".")
    return getattr(importlib.import_module(module), name)


def made(group: str, folders: Sequence[Path]) -> dict[str, Any]:
    """Every choice of a group by its name, with the defaults of its class."""
    return {name: target({"_target_": target_of(text)})() for name, text in config_files.texts(group, folders)}


def compat_table(folders: Sequence[Path]) -> str:
    """Formulation, solver and kernel; for each bias the losses for which they go together."""
    solvers: dict[str, Solver] = made("solver", folders)
    found: dict[tuple[str, str], dict[str, list[tuple[str, str]]]] = {}
    for fit in fits(made("formulation", folders), solvers):
        found.setdefault((fit.formulation, fit.solver), {}).setdefault(fit.kernel, []).append((fit.bias, fit.loss))
    absent = {name: missing(solver) or "" for name, solver in solvers.items()}
    warm = {name: "warm" if solver.takes_start() else "cold" for name, solver in solvers.items()}
    rows = [
        (form, solver, kernels, *(_losses(taken, bias) for bias in BIASES), warm[solver], absent[solver])
        for (form, solver), by_kernel in sorted(found.items())
        for kernels, taken in _alike(by_kernel).items()
    ]
    heads = ("formulation", "solver", "kernel", *(f"bias={bias}" for bias in BIASES), "start", "")
    said = (
        "which loss a formulation and a solver take together, for each kernel and bias; warm: problem.path can begin "
    )
    return f"{said}a solve from the last one\n" + tabulate(rows, headers=heads, tablefmt="plain")


def _losses(taken: Sequence[tuple[str, str]], bias: str) -> str:
    return ", ".join(loss for of, loss in taken if of == bias) or "-"


def _alike(by_kernel: Mapping[str, list[tuple[str, str]]]) -> dict[str, list[tuple[str, str]]]:
    """Kernels for which the same goes together, as one row."""
    rows: dict[str, list[tuple[str, str]]] = {}
    for taken in by_kernel.values():
        rows.setdefault(", ".join(name for name, other in by_kernel.items() if other == taken), taken)
    return rows


def pairs_table(folders: Sequence[Path]) -> str:
    """For each solver and formulation, the biases for which they go together with one loss or another."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for fit in fits(made("formulation", folders), made("solver", folders)):
        found.setdefault((fit.solver, fit.formulation), {})[fit.bias] = None
    rows = [(*pair, " ".join(bias for bias in BIASES if bias in biases)) for pair, biases in sorted(found.items())]
    return "which solver takes which formulation, and with which bias\n" + tabulate(
        rows, headers=("solver", "formulation", "bias"), tablefmt="plain"
    )


def fits(formulations: Mapping[str, Formulation], solvers: Mapping[str, Solver]) -> Iterator[Fit]:
    """All that goes together on a small separable problem."""
    for form, formulation in formulations.items():
        for bias, loss, kernel in product(BIASES, LOSSES, KERNELS):
            problem = _small_problem(formulation, bias, loss, kernel)
            if problem is None or formulation.refuses(problem) or not formulation.kinds(problem):
                continue
            fixed = formulation.at(problem.with_(C=1.0).point(np.zeros(4)), problem)
            programs: dict[type[Program], Program] = {}
            for name, solver in solvers.items():
                if misfit(formulation, solver, problem) is not None:
                    continue
                kind = chosen_kind(formulation, solver, problem)
                if kind not in programs:
                    programs[kind] = fixed.program(problem, kind)
                if solver.refuses(programs[kind]) is None:
                    yield Fit(name, form, bias, loss, kernel)


def _small_problem(formulation: Formulation, bias: str, loss: str, kernel: str) -> Problem | None:
    """Four rows as this formulation judges them; None where it answers another problem than the one asked for."""
    X = np.array([[2.0, 0.5], [1.0, -1.0], [-1.5, 0.3], [-1.0, 0.1]])
    y = np.array([1.0, 1.0, -1.0, -1.0])
    problem = judged_problem(formulation, X, y, {"bias": bias, "loss": loss, "kernel": kernel})
    if (problem.bias, problem.loss) != (bias, loss):
        return None
    if problem.kernel is not None:
        problem.__dict__["gram"] = np.eye(4)  # its entries decide nothing here, and to make them is compiled code
    return problem
