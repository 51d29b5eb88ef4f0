"""A solver as a user names one: a class in a file of their own, or on the import path."""

import ast
import dataclasses
import importlib
import importlib.util
import inspect
import sys
from functools import cache
from pathlib import Path
from typing import Any

from marginbench.harness.errors import InputError
from marginbench.harness.old_names import PACKAGES, current_name
from marginbench.harness.rehearsal import TRIAL_MB, TRIAL_SECONDS, import_rehearsed

PLAIN = (bool, int, float, str, type(None))


def is_class(text: str) -> bool:
    """Whether a user means a class: `path.py:Class` or `package.module.Class`."""
    return ":" in text or "." in text


@cache
def solver_node(text: str, seconds: float = TRIAL_SECONDS, memory_mb: float = TRIAL_MB) -> dict[str, Any]:
    """The configuration for `path.py:Class` or `package.module.Class`: its fields with their defaults.

    A field `seed` follows the option `seed`. A field whose default is no plain value cannot be set this way. Of a
    module that cannot be imported within the limits without an accident no fields are known.
    """
    target = _target(text)
    if import_rehearsed(target, seconds, memory_mb) is not None:
        return {"_target_": target}
    made = solver_class(f"solver={text}", target)
    node: dict[str, Any] = {"_target_": target}
    for field in options(made):
        factory = field.default_factory
        default = factory() if factory is not dataclasses.MISSING else field.default
        if field.name == "seed":
            node["seed"] = "${seed}"
        elif default is dataclasses.MISSING:
            node[field.name] = "???"
        elif _is_plain(default):
            node[field.name] = list(default) if isinstance(default, tuple) else default
    return node


def short_name(text: str) -> str:
    """What tables call it: `mine.py:Mine` without its folders."""
    path, colon, name = text.partition(":")
    return f"{Path(path).name}:{name}" if colon else text


def solver_class(text: str, target: str) -> Any:
    """The class that `_target_` names. Whatever goes wrong is one line that begins with `text`."""
    from marginbench.harness.model.solver import Solver  # numpy and scipy: not before a class is asked for

    made = imported(text, target)
    if not (isinstance(made, type) and issubclass(made, Solver)):
        raise InputError(f"{text}: needs a class that is a marginbench.Solver")
    check_options(text, made)
    return made


def check_options(text: str, made: type) -> None:
    """Options are the fields of a dataclass; a class without any need not be one."""
    if not dataclasses.is_dataclass(made) and inspect.signature(made).parameters:
        raise InputError(f"{text}: a solver with options needs to be a dataclass: @dataclass(frozen=True)")


def options(made: type) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(made) if dataclasses.is_dataclass(made) else ()


def imported(text: str, target: str) -> Any:
    """What `_target_` names, imported."""
    module, _, name = current_name(target).rpartition(".")
    if not module:
        raise InputError(f"{text}: _target_={target}: needs package.module.name")
    try:
        found = importlib.import_module(module)
    except Exception as error:  # whatever a user's module raises
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(f"{text}: {_old_import(module, error) or said}") from None
    try:
        return getattr(found, name)
    except AttributeError:
        raise InputError(f"{text}: {module} has no {name}") from None


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(_is_plain(part) for part in value)
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(part) for key, part in value.items())
    return isinstance(value, PLAIN)


def _target(text: str) -> str:
    path, _, name = text.partition(":")
    if not name:
        return text
    file = Path(path).expanduser().resolve()
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


def _old_import(module: str, error: Exception) -> str | None:
    """Where a user's file imports by names of version 0.1, the line to write instead."""
    if not isinstance(error, ImportError) or str(error.name).partition(".")[0] not in PACKAGES:
        return None
    try:
        spec = importlib.util.find_spec(module)
        source = Path(str(spec and spec.origin)).read_text()
    except (ImportError, OSError, ValueError):
        return None
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and str(node.module).partition(".")[0] in PACKAGES:
            new = new_import(str(node.module), [alias.name for alias in node.names])
            return f"line {node.lineno} imports from {node.module}, an old name; write `{new}`"
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] in PACKAGES:
                    new = f"import {current_name(alias.name)}"
                    return f"line {node.lineno} imports {alias.name}, an old name; write `{new}`"
    return None


def new_import(module: str, names: list[str]) -> str:
    """The import of today, from `marginbench` itself where that has all the names."""
    public = getattr(importlib.import_module("marginbench"), "__all__", ())
    home = "marginbench" if all(name in public for name in names) else current_name(module)
    return f"from {home} import {', '.join(names)}"
