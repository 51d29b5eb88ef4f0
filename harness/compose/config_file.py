"""One YAML file as the composer needs it: its content, its package, and what else it chooses."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from omegaconf import OmegaConf

from marginbench.harness.compose.data import Data
from marginbench.harness.config_files import file_of
from marginbench.harness.errors import InputError

PACKAGE = re.compile(r"^#\s*@package[:\s]\s*(\S+)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class ConfigFile:
    group: str
    path: Path
    config: Data
    package: str | None
    defaults: list[Any]

    @property
    def plain(self) -> bool:
        """It stands for itself: its content is the node of its group, and nothing else changes."""
        return self.package is None and not self.defaults

    def chosen(self) -> set[str]:
        """Groups whose choice it sets, as in `override /solver: idle`."""
        keys = [str(key) for entry in self.defaults if isinstance(entry, dict) for key in entry]
        return {key.removeprefix("override ").strip().lstrip("/") for key in keys if key.startswith("override ")}

    def parents(self) -> list[tuple[str, str]]:
        """(group, name) of the files that it takes over, as in `defaults: [comparison, _self_]`."""
        found = []
        for entry in self.defaults:
            if isinstance(entry, str) and entry != "_self_":
                group, _, name = entry.rpartition("/")
                found.append((_absolute(self.group, group), name))
            elif isinstance(entry, dict):
                for key, name in entry.items():
                    if not str(key).startswith(("override ", "optional ")) and name is not None:
                        found.append((_absolute(self.group, str(key)), str(name)))
        return found


def _absolute(group: str, given: str) -> str:
    return given.lstrip("/") if given.startswith("/") else "/".join(part for part in (group, given) if part)


def read_file(group: str, name: str, places: tuple[Path, ...]) -> ConfigFile | None:
    """The file behind group=name as it is now; None where there is none."""
    path = file_of(group, name, places)
    return _read(group, path, path.stat().st_mtime_ns) if path is not None else None


@cache
def _read(group: str, path: Path, _changed: int) -> ConfigFile:
    try:
        loaded = OmegaConf.load(path)
        text = path.read_text()
    except (yaml.YAMLError, UnicodeDecodeError, OSError) as error:
        raise InputError(f"{path}: {' '.join(str(error).split())}") from None
    config = OmegaConf.to_container(loaded, resolve=False)
    if not isinstance(config, dict):
        raise InputError(f"{path}: needs keys with values, as in `n: 100`")
    head = text[: next((m.start() for m in re.finditer(r"^[^#\s]", text, re.MULTILINE)), len(text))]
    package = PACKAGE.search(head)
    defaults = list(config.pop("defaults", None) or [])
    content = {str(key): value for key, value in config.items()}
    return ConfigFile(group, path, content, package[1] if package else None, defaults)


def with_parents(group: str, name: str, places: tuple[Path, ...]) -> list[ConfigFile]:
    """The file behind group=name and all that it takes over."""
    found: list[ConfigFile] = []
    todo = [(group, name)]
    while todo:
        file = read_file(*todo.pop(), places)
        if file is not None and file not in found:
            found.append(file)
            todo += file.parents()
    return found
