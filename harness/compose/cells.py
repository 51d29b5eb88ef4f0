"""The cells of a configuration."""

from pathlib import Path
from typing import Any

from marginbench.harness.cell.spec import Cell
from marginbench.harness.errors import InputError
from marginbench.harness.solver_spec import short_name

NEEDED = ("dataset", "problem", "formulation", "solver", "budget", "limits", "seed", "repeats")


def cells_of(config: dict[str, Any]) -> list[Cell]:
    """The cells of one configuration: one per repeat."""
    for key in NEEDED:
        if config.get(key) is None:
            raise InputError(f"{key}: a run needs it; it was deleted or set to null")
    choices = config["choices"]
    name = choices["dataset"]
    if name == "file":
        name = Path(str(config["dataset"]["path"])).name.split(".")[0]
    return [
        Cell(
            dataset=config["dataset"],
            problem=config["problem"],
            formulation=config["formulation"],
            solver=config["solver"],
            dataset_name=name,
            formulation_name=choices["formulation"],
            solver_name=short_name(choices["solver"]),
            method=choices.get("method") or "",
            budget=config["budget"],
            limits=config["limits"],
            seed=_whole("seed", config["seed"], 0),
            repeat=repeat,
        )
        for repeat in range(_whole("repeats", config["repeats"], 1))
    ]


def _whole(name: str, value: Any, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InputError(f"{name}={value}: needs a whole number, {least} or more")
    return value
