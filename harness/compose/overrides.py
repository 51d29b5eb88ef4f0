"""One override: how it is read, and how it is applied to a configuration, as Hydra does both."""

from copy import deepcopy
from functools import cache
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob, Override
from hydra.errors import HydraException

from marginbench.harness.compose.data import Data, at, one_line, steps, value_at, write
from marginbench.harness.errors import InputError


class NoSuchOption(InputError):
    """The configuration at hand has no such option; another one of the sweep may have it."""

    def __init__(self, config: Data, override: Override) -> None:
        super().__init__(no_such_option(config, override))
        self.key = override.key_or_group


@cache
def parse(text: str) -> Override:
    try:
        return OverridesParser.create().parse_override(text)
    except HydraException as error:
        if "functions" in str(error) or "trying to call" in str(error).lower():
            raise InputError(f"{text}: {one_line(error)}") from None
        raise InputError(f"{text}: cannot be read; possible are key=value and key=value1,value2") from None
    except RecursionError:
        raise InputError(f"{text[:60]}...: cannot be read: too deep") from None


def listed(override: Override, names: list[str]) -> list[str]:
    """An override with a list as overrides with one value each. `names`: the choices of its group, for glob."""
    text, key = str(override.input_line), override.get_key_element()
    if not override.is_sweep_override():
        return [text]
    if override.is_interval_sweep():
        raise InputError(f"{text}: an interval is for an optimiser; marginbench runs lists: choice(...) or range(...)")
    glob: Any = override.value()
    if isinstance(glob, Glob):
        values = glob.filter(names)
        if not values:
            among = f"possible are {', '.join(names)}" if names else f"{override.key_or_group} has no choices"
            raise InputError(f"{text}: nothing matches; {among}")
    else:
        try:
            values = list(override.sweep_string_iterator())
        except (HydraException, ValueError, ArithmeticError) as error:
            raise InputError(f"{text}: {one_line(error)}") from None
    if not values:
        raise InputError(f"{text}: the list is empty")
    return [f"{key}={value}" for value in values]


def apply(config: Data, override: Override) -> None:
    """Set, add or delete a value, with Hydra's meaning of `key=`, `+key=`, `++key=` and `~key`."""
    key, value, text = override.key_or_group, deepcopy(override.value()), str(override.input_line)
    if override.is_delete():
        _delete(config, override)
    elif override.is_add() or override.is_force_add():
        there = value_at(config, key)
        if override.is_add() and there is not None and not isinstance(value, dict | list):
            raise InputError(f"{text}: {key} exists already; to set it, write {text.lstrip('+')}")
        write(config, key, value, add=True)
    elif not at(config, steps(key))[0]:
        raise NoSuchOption(config, override)
    else:
        write(config, key, value, add=False)


def _delete(config: Data, override: Override) -> None:
    key, value = override.key_or_group, override.value()
    if not at(config, steps(key))[0]:
        raise NoSuchOption(config, override)
    there = value_at(config, key)
    if value is not None and value != there:
        raise InputError(f"{override.input_line}: {key} is {there}, not {value}")
    *path, last = steps(key)
    node = at(config, path)[1]
    del node[int(last) if isinstance(node, list) else last]


def no_such_option(config: Data, override: Override) -> str:
    """Names the deepest part of the key that exists and what it holds."""
    node, path, key = config, "", override.key_or_group
    for part in key.split("."):
        if not isinstance(node, dict) or part not in node:
            break
        node, path = node[part], f"{path}.{part}".lstrip(".")
    if not isinstance(node, dict):
        return f"{override.input_line}: {path} has no parts"
    inside = ", ".join(str(k) for k in node if k not in ("hydra", "_target_")) or "none"
    return f"{override.input_line}: there is no option '{key}'; {path or 'the top level'} has {inside}"
