"""One override: how it is read, and how it is applied to a configuration, as Hydra does both."""

from functools import cache
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob, Override
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from marginbench.harness.errors import InputError


class NoSuchOption(InputError):
    """The configuration at hand has no such option; another one of the sweep may have it."""

    def __init__(self, config: Any, override: Override) -> None:
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


def apply(config: DictConfig, override: Override) -> None:
    """Set, add or delete a value, with Hydra's meaning of `key=`, `+key=`, `++key=` and `~key`."""
    key, value, text = override.key_or_group, override.value(), str(override.input_line)
    try:
        if override.is_delete():
            _delete(config, override)
        elif override.is_force_add():
            OmegaConf.update(config, key, value, merge=True, force_add=True)
        elif override.is_add():
            there = OmegaConf.select(config, key, throw_on_missing=False)
            if there is not None and not isinstance(value, dict | list):
                raise InputError(f"{text}: {key} exists already; to set it, write {text.lstrip('+')}")
            OmegaConf.update(config, key, value, merge=True, force_add=True)
        else:
            if not _exists(config, key):
                raise NoSuchOption(config, override)
            OmegaConf.update(config, key, value, merge=True)
    except OmegaConfBaseException as error:
        raise InputError(f"{text}: {one_line(error)}") from None


def _delete(config: DictConfig, override: Override) -> None:
    key, value = override.key_or_group, override.value()
    there = OmegaConf.select(config, key, throw_on_missing=False)
    if not _exists(config, key):
        raise NoSuchOption(config, override)
    if value is not None and value != there:
        raise InputError(f"{override.input_line}: {key} is {there}, not {value}")
    parent, _, name = key.rpartition(".")
    with open_dict(config):
        del (OmegaConf.select(config, parent) if parent else config)[name]


def _exists(config: Any, key: str) -> bool:
    """Whether `a.b` or `a[0]` leads to something, be it null or missing."""
    if "[" in key:
        return OmegaConf.select(config, key, throw_on_missing=False) is not None
    parent, _, name = key.rpartition(".")
    node = OmegaConf.select(config, parent, throw_on_missing=False) if parent else config
    if OmegaConf.is_list(node):
        return name.isdigit() and int(name) < len(node)
    return OmegaConf.is_dict(node) and name in list(node)


def no_such_option(config: Any, override: Override) -> str:
    """Names the deepest part of the key that exists and what it holds."""
    node, path, key = config, "", override.key_or_group
    for part in key.split("."):
        if not OmegaConf.is_dict(node) or part not in list(node):
            break
        node, path = node[part], f"{path}.{part}".lstrip(".")
    if not OmegaConf.is_dict(node):
        return f"{override.input_line}: {path} has no parts"
    inside = ", ".join(str(k) for k in node if k not in ("hydra", "_target_")) or "none"
    return f"{override.input_line}: there is no option '{key}'; {path or 'the top level'} has {inside}"


def one_line(error: BaseException) -> str:
    """Hydra and OmegaConf explain over many lines, the cause last; the first line of the deepest cause is enough."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
