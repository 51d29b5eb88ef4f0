"""A solver that was named alone gets a formulation that it takes."""

import math
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from marginbench.harness.compose.composer import Composed, Composer
from marginbench.harness.compose.config_file import read_file
from marginbench.harness.compose.overrides import parse
from marginbench.harness.rehearsal import TRIAL_MB, TRIAL_SECONDS, import_rehearsed
from marginbench.harness.solver_spec import imported, solver_class


def fitting_formulation(composer: Composer, job: list[str], cell: Composed) -> str | None:
    """For solver=NAME where nobody chose a formulation and it does not take the default one: one that it takes."""
    given = [parse(text) for text in job]
    keys = {o.key_or_group for o in given if composer.is_choice(o)}
    decided = {group for o in given if composer.is_choice(o) for group in composer.decides(o)}
    if "solver" not in keys or {"formulation", "method"} & (keys | decided) or "formulation" not in cell.config:
        return None
    solver, target = str(cell.choices["solver"]), str(cell.config["solver"].get("_target_"))
    if _fits(solver, target, str(cell.config["formulation"].get("_target_"))):
        return None
    return next(_candidates(composer, solver, target), None)


def is_pair_of_method(composer: Composer, cell: Composed) -> bool:
    """Whether formulation and solver are those of the method; not where solver=NAME took the place of its own."""
    pair = _choices(str(cell.choices.get("method")), composer.places)
    return all(pair.get(group) == cell.choices.get(group) for group in ("formulation", "solver"))


def _candidates(composer: Composer, solver: str, target: str) -> Iterator[str]:
    """The formulation of the method of its name, of other methods that use it, then those that fit, in the order of
    `validate`."""
    for method in sorted(composer.names("method"), key=lambda name: (name != solver, name)):
        pair = _choices(method, composer.places)
        if pair.get("solver") == solver:
            yield pair["formulation"]
    fitting = []
    for name in composer.names("formulation"):
        file = read_file("formulation", name, composer.places)
        if file is not None and _fits(solver, target, str(file.config.get("_target_"))):
            fitting.append((_place(str(file.config.get("_target_"))), name))
    yield from (name for _, name in sorted(fitting))


def _choices(method: str, places: tuple[Path, ...]) -> dict[str, str]:
    file = read_file("method", method, places)
    entries = [entry for entry in (file.defaults if file is not None else []) if isinstance(entry, dict)]
    return {str(k).removeprefix("override ").strip().lstrip("/"): str(v) for e in entries for k, v in e.items()}


def _place(formulation: str) -> float:
    """Behind the others where no solver is led to it by itself."""
    route = getattr(imported("formulation", formulation), "route", None)
    return math.inf if route is None else route.turn


@cache
def _fits(name: str, solver: str, formulation: str) -> bool:
    if import_rehearsed(solver, TRIAL_SECONDS, TRIAL_MB) is not None:
        return True  # its row will say what is wrong with it
    takes: tuple[type[Any], ...] = solver_class(f"solver={name}", solver).accepts
    gives = imported("formulation", formulation).gives
    return any(issubclass(kind, takes) for kind in gives)
