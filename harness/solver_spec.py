"""A solver as a user names one: a class in a file of their own, or on the import path."""

import dataclasses
import importlib
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from marginbench.harness.model.problem import InputError
from marginbench.harness.model.solver import Solver


def solver_of(text: str, options: Sequence[str], seed: int) -> dict[str, Any]:
    """The configuration for `path.py:Class` or `package.module.Class` with options `key=value` for its fields."""
    target = _target(text)
    made = _class(text, target)
    names = [f.name for f in dataclasses.fields(made)]
    config: dict[str, Any] = {"_target_": target} | ({"seed": seed} if "seed" in names else {})
    for option in options:
        key, _, value = option.partition("=")
        if key not in names:
            raise InputError(f"solver.{option}: {made.__name__} has no such field; it has {', '.join(names) or 'none'}")
        config[key] = yaml.safe_load(value)
    return config


def _target(text: str) -> str:
    path, _, name = text.partition(":")
    if not name:
        return text
    file = Path(path).resolve()
    if not file.is_file():
        raise InputError(f"solver={text}: there is no file {path}")
    if file.suffix != ".py":
        raise InputError(f"solver={text}: {path} does not end in .py")
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))  # processes of cells take sys.path over
    found = importlib.util.find_spec(file.stem)
    if found is None or found.origin is None or Path(found.origin).resolve() != file:
        taken = (
            "cannot be imported under that name" if found is None else f"the name {file.stem} is that of {found.origin}"
        )
        raise InputError(f"solver={text}: {taken}; rename the file")
    return f"{file.stem}.{name}"


def _class(text: str, target: str) -> Any:
    module, _, name = target.rpartition(".")
    try:
        made = getattr(importlib.import_module(module), name)
    except Exception as error:  # whatever a user's module raises
        raise InputError(f"solver={text}: {type(error).__name__}: {error}") from None
    if not (isinstance(made, type) and issubclass(made, Solver) and dataclasses.is_dataclass(made)):
        raise InputError(f"solver={text}: needs a class that is a dataclass and a marginbench.Solver")
    return made
