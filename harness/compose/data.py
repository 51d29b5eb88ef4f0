"""A configuration as plain data: dicts and lists whose strings may still hold interpolations (`${seed}`) or `???`.

A sweep copies and changes thousands of configurations that differ in a few values. As plain data that is a hundred
times cheaper than as OmegaConf's nodes, which are used only where there is an interpolation to resolve.
"""

import re
from typing import Any

from omegaconf import OmegaConf
from omegaconf.errors import InterpolationToMissingValueError, MissingMandatoryValue, OmegaConfBaseException

from marginbench.harness.errors import InputError

Data = dict[str, Any]
MISSING = "???"


def steps(key: str) -> list[str]:
    """`a.b[0]` -> a, b, 0"""
    return re.findall(r"[^.\[\]]+", key)


def at(data: Any, path: list[str]) -> tuple[bool, Any]:
    """(True, what is there), or (False, None)."""
    for step in path:
        if isinstance(data, dict) and step in data:
            data = data[step]
        elif isinstance(data, list) and step.isdigit() and int(step) < len(data):
            data = data[int(step)]
        else:
            return False, None
    return True, data


def value_at(config: Data, key: str) -> Any:
    """The value of an option, interpolated; None where it is missing."""
    _, value = at(config, steps(key))
    if isinstance(value, str) and "${" in value:
        return OmegaConf.select(OmegaConf.create(config), key, throw_on_missing=False)
    return None if value == MISSING else value


def write(config: Data, key: str, value: Any, add: bool) -> None:
    """Set an option. A dict is merged into the one that is there; only with `add` may it bring new keys."""
    *path, last = steps(key)
    node: Any = config
    for step in path:
        found, inside = at(node, [step])
        if not found or not isinstance(inside, dict | list):
            inside = node[step] = {}
        node = inside
    place: Any = int(last) if isinstance(node, list) else last
    there = at(node, [last])[1]
    if isinstance(value, dict) and isinstance(there, dict):
        _merge(there, value, key, add)
    elif isinstance(value, dict | list) and isinstance(there, dict | list) and type(value) is not type(there):
        raise InputError(f"{key}: needs a {'list' if isinstance(there, list) else 'group of options'}")
    else:
        node[place] = value


def _merge(node: Data, new: Data, key: str, add: bool) -> None:
    for name, value in new.items():
        if name not in node and not add:
            raise InputError(f"{key}.{name}: there is no such option; {key} has {', '.join(map(str, node)) or 'none'}")
        if isinstance(value, dict) and isinstance(node.get(name), dict):
            _merge(node[name], value, f"{key}.{name}", add)
        else:
            node[name] = value


class Resolution:
    """Interpolates configurations. Equal parts are resolved once: the cells of a sweep share most of theirs."""

    def __init__(self) -> None:
        self.known: dict[str, Any] = {}

    def __call__(self, config: Data) -> Data:
        texts = {key: repr(part) for key, part in config.items()}
        open_parts = [key for key, text in texts.items() if "${" in text or MISSING in text]
        return config | {key: self._part(key, config, texts) for key in open_parts}

    def _part(self, key: str, config: Data, texts: dict[str, str]) -> Any:
        """One part, among those parts that it may refer to."""
        names, todo = {key}, [key]
        while todo:
            new = {word for word in re.findall(r"\w+", texts[todo.pop()]) if word in texts} - names
            names |= new
            todo += new
        asked = repr([key, *((name, texts[name]) for name in sorted(names))])
        if asked not in self.known:
            self.known[asked] = _resolved({name: config[name] for name in names}, key)
        return self.known[asked]


def _resolved(parts: Data, key: str) -> Any:
    try:
        alone = OmegaConf.create(parts)
        if OmegaConf.is_missing(alone, key):
            raise MissingMandatoryValue(key)
        value = alone[key]
        return (
            OmegaConf.to_container(value, resolve=True, throw_on_missing=True) if OmegaConf.is_config(value) else value
        )
    except (MissingMandatoryValue, InterpolationToMissingValueError) as error:
        name = error.full_key or key
        raise InputError(f"{name}: a value is needed, as in {name}=...") from None
    except OmegaConfBaseException as error:
        raise InputError(f"{error.full_key or 'a value'}: {one_line(error)}") from None


def one_line(error: BaseException) -> str:
    """Hydra and OmegaConf explain over many lines, the cause last; the first line of the deepest cause is enough."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
