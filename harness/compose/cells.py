"""The cells of a configuration."""

from pathlib import Path
from typing import Any

from marginbench.harness.cell.path import path_of, starts
from marginbench.harness.cell.spec import Cell, without_defaults
from marginbench.harness.errors import InputError
from marginbench.harness.solver_spec import short_name

NEEDED = ("dataset", "problem", "formulation", "solver", "budget", "limits", "seed", "repeats")


def cells_of(config: dict[str, Any]) -> list[Cell]:
    """The cells of one configuration: one per repeat; with a path, of each C the cold and the warm one."""
    for key in NEEDED:
        if config.get(key) is None:
            raise InputError(f"{key}: a run needs it; it was deleted or set to null")
    choices = config["choices"]
    name = choices["dataset"]
    if name == "file":
        name = Path(str(config["dataset"]["path"])).name.split(".")[0]
    asked = without_defaults(config["problem"])
    path = path_of(asked.pop("path", None))
    return [
        Cell(
            dataset=config["dataset"],
            problem={**asked, "C": C},
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
            threads=_whole("threads", config.get("threads", 1), 1),
            preprocess=config.get("preprocess") or {},
            path=path,
            start=start,
        )
        for C, start in (starts(path) if path else [(asked.get("C", 1.0), "cold")])
        for repeat in range(_whole("repeats", config["repeats"], 1))
    ]


def _whole(name: str, value: Any, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InputError(f"{name}={value}: needs a whole number, {least} or more")
    return value
