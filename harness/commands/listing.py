"""`marginbench list`: what there is, what is installed, and which solver takes which formulation and bias."""

import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from tabulate import tabulate

from marginbench.harness.cell.spec import chosen_kind, judged_problem, misfit, missing
from marginbench.harness.model.formulation import Formulation
from marginbench.harness.model.problem import InputError
from marginbench.harness.model.solver import Solver

GROUPS = ("dataset", "formulation", "solver", "method", "experiment")
BIASES = ("none", "free", "augmented")


def listing(what: Sequence[str], folders: Sequence[Path]) -> str:
    """The text for one group, or for all of them and the table of pairs."""
    groups = {**dict.fromkeys(GROUPS, _group), "pairs": _pairs}
    wanted = [name.removesuffix("s") if name != "pairs" else name for name in what] or list(groups)
    for given, name in zip(what, wanted, strict=False):
        if name not in groups:
            raise InputError(f"list {given}: possible are {', '.join(groups)}")
    return "\n\n".join(groups[name](name, folders) for name in wanted)


def configs(group: str, folders: Sequence[Path]) -> Iterator[tuple[str, dict[str, Any], str]]:
    """(name, content, text) of every configuration of a group; the first folder that has a name wins."""
    files = {path.stem: path for folder in reversed(folders) for path in (folder / group).glob("*.yaml")}
    for name in sorted(files):
        text = files[name].read_text()
        yield name, yaml.safe_load(text) or {}, text


def target(config: dict[str, Any]) -> Any:
    module, _, name = str(config["_target_"]).rpartition(".")
    return getattr(importlib.import_module(module), name)


def _group(group: str, folders: Sequence[Path]) -> str:
    rows = [(name, _about(group, config, text)) for name, config, text in configs(group, folders)]
    return f"{group}s\n" + tabulate(rows, tablefmt="plain", maxcolwidths=[None, 90])


def _about(group: str, config: dict[str, Any], text: str) -> str:
    if group == "method":
        choices = {key: value for entry in config["defaults"] for key, value in entry.items()}
        return f"{choices['override /formulation']} with {choices['override /solver']}"
    comments = [line.lstrip("# ") for line in text.splitlines() if line.startswith("#") and "@package" not in line]
    if group == "experiment" or (group == "dataset" and comments):
        return comments[0] if comments else ""
    thing = target(config)
    first = _first_sentence(thing, of_module=group != "dataset")
    absent = missing(thing()) if group == "solver" and thing.requires else None
    return f"{first} [{absent}]" if absent else first


def _first_sentence(thing: Any, of_module: bool) -> str:
    """A solver and a formulation are explained at the head of their file, a data set at its function."""
    text = (importlib.import_module(thing.__module__) if of_module else thing).__doc__ or ""
    return " ".join(text.split("\n\n")[0].split())


def _pairs(_: str, folders: Sequence[Path]) -> str:
    """For each solver and formulation, the biases (n, f, a) for which they go together."""
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
