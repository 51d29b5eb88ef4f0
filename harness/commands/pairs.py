"""`marginbench list pairs`: which solver takes which formulation, and with which bias, found out by asking them."""

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tabulate import tabulate

from marginbench.harness.cell.spec import chosen_kind, judged_problem, misfit
from marginbench.harness.commands.listing import configs
from marginbench.harness.model.formulation import Formulation
from marginbench.harness.model.solver import Solver
from marginbench.harness.old_names import current_name

BIASES = ("none", "free", "augmented")


def target(config: dict[str, Any]) -> Any:
    module, _, name = current_name(str(config["_target_"])).rpartition(".")
    return getattr(importlib.import_module(module), name)


def pairs_table(folders: Sequence[Path]) -> str:
    """For each solver and formulation, the biases for which they go together."""
    formulations = {name: target(config)() for name, config, _ in configs("formulation", folders)}
    solvers = {name: target(config)() for name, config, _ in configs("solver", folders)}
    rows = []
    for name, solver in solvers.items():
        for form, formulation in formulations.items():
            biases = [bias for bias in BIASES if fits(formulation, solver, bias)]
            if biases:
                rows.append((name, form, " ".join(biases)))
    return "which solver takes which formulation, and with which bias\n" + tabulate(
        rows, headers=("solver", "formulation", "bias"), tablefmt="plain"
    )


def fits(formulation: Formulation, solver: Solver, bias: str) -> bool:
    """Whether the pair goes together on a small separable problem with this bias."""
    for loss in ("hinge", "squared_hinge"):
        X = np.array([[2.0, 0.5], [1.0, -1.0], [-1.5, 0.3], [-1.0, 0.1]])
        problem = judged_problem(formulation, X, np.array([1.0, 1.0, -1.0, -1.0]), {"bias": bias, "loss": loss})
        if problem.bias == bias and misfit(formulation, solver, problem) is None:
            fixed = formulation.at(problem.with_(C=1.0).point(np.zeros(4)), problem)
            if solver.refuses(fixed.program(problem, chosen_kind(formulation, solver))) is None:
                return True
    return False
