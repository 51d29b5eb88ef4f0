"""`marginbench list`: what there is, what is installed, and which solver takes which formulation, bias and loss.

Solvers are not imported for this, except for the tables of what goes together: compilers and libraries behind them
take seconds.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from marginbench.harness import config_files
from marginbench.harness.commands.catalogue import (
    Option,
    explained,
    first_paragraph,
    head,
    missing_library,
    options,
    target_of,
)
from marginbench.harness.commands.help import table
from marginbench.harness.errors import InputError

GROUPS = ("dataset", "formulation", "solver", "method", "experiment", "launcher")


def listing(what: Sequence[str], folders: Sequence[Path]) -> str:
    """The text for one group or choice, for the table of pairs, or for all groups."""
    if not what:
        pairs = "marginbench list pairs: which solver takes which formulation, and with which bias"
        compat = "marginbench list compat: formulation x solver x bias x loss"
        one = "marginbench list solver pegasos: every option of one choice"
        return "\n\n".join([*(_group(group, folders) for group in GROUPS), f"{one}\n{pairs}\n{compat}"])
    group = what[0] if what[0] in GROUPS else what[0].removesuffix("s")
    if what[0] in ("pairs", "compat") and len(what) == 1:
        from marginbench.harness.commands.pairs import compat_table, pairs_table  # imports every solver

        return pairs_table(folders) if what[0] == "pairs" else compat_table(folders)
    if group not in GROUPS:
        raise InputError(f"list {what[0]}: possible are {', '.join(GROUPS)}, pairs, compat")
    return "\n\n".join(_choice(group, name, folders) for name in what[1:]) or _group(group, folders)


def configs(group: str, folders: Sequence[Path]) -> Iterator[tuple[str, dict[str, Any], str]]:
    """(name, content, text) of every configuration of a group; the first folder that has a name wins."""
    for name, text in config_files.texts(group, folders):
        yield name, yaml.safe_load(text) or {}, text


def _group(group: str, folders: Sequence[Path]) -> str:
    rows = [Option(name, "", _about(group, text)) for name, text in config_files.texts(group, folders)]
    return f"{group}s\n{table(rows)}"


def _about(group: str, text: str) -> str:
    """One choice in a sentence or two."""
    comments = head(text)
    if group == "method":
        pair = chosen(text)
        return f"{pair.get('formulation', '')} with {pair.get('solver', '')}"
    if group == "experiment" or (group == "dataset" and comments):
        return comments[0] if comments else ""
    said = first_paragraph(target_of(text), of_module=group != "dataset")
    absent = missing_library(target_of(text)) if group == "solver" else None
    return f"{said} [{absent}]" if absent else said


def chosen(text: str) -> dict[str, str]:
    """group -> name of `- override /group: name` in a method or an experiment."""
    return dict(re.findall(r"^\s*-\s*override /(\w+):\s*(\S+)", text, re.MULTILINE))


def _choice(group: str, name: str, folders: Sequence[Path]) -> str:
    """One choice with every option, its default and its meaning."""
    path = config_files.file_of(group, name, folders)
    if path is None:
        possible = ", ".join(config_files.names(group, folders))
        raise InputError(f"list {group} {name}: there is no {group} '{name}'; possible are {possible}")
    text = path.read_text()
    lines = [f"{group}={name}", *(f"  {line}" for line in [_about(group, text), *head(text)] if line)]
    lines = list(dict.fromkeys(lines))
    if group == "experiment":
        lists = [Option(o.key.removeprefix("hydra.sweeper.params."), "", o.default) for o in _lists(text)]
        return "\n".join([*lines, "", "lists", table(lists), "", "settings", table(options(text))])
    pairs = chosen(text).items() if group == "method" else [(group, name)]
    rows = [option for part, choice in pairs for option in explained(part, choice, folders)]
    return "\n".join([*lines, "", table([*rows, *options(text)] if group == "method" else rows)])


def _lists(text: str) -> list[Option]:
    """The lists of an experiment."""
    params = (((yaml.safe_load(text) or {}).get("hydra") or {}).get("sweeper") or {}).get("params") or {}
    return [Option(str(key), str(values), "") for key, values in params.items()]
