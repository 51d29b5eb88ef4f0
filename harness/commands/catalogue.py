"""What configurations say of themselves: every option with its default and its meaning, read from the YAML.

The meaning of an option is the comment beside it, which may go on in the lines below. Files with the same `_target_`
share meanings: one of them has to say it. Nothing is imported for this: docstrings are read from the source.
"""

import ast
import importlib.util
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from marginbench.harness import requirements
from marginbench.harness.config_files import CONF, file_of, texts
from marginbench.harness.errors import InputError
from marginbench.harness.old_names import current_name

HIDDEN = ("defaults", "hydra", "_target_")
ROOT = CONF.parent


class Option(NamedTuple):
    key: str
    default: str
    meaning: str

    def values(self) -> list[str]:
        """The values it can have, where its meaning lists them (`one of none, free, augmented`) or it is a switch."""
        if self.default in ("true", "false"):
            return ["true", "false"]
        named = re.search(r"\bone of ((?:[\w.]+, )*[\w.]+)", self.meaning)
        return named[1].split(", ") if named else []


def options(text: str, prefix: str = "") -> list[Option]:
    """Every option of a YAML text, in its order."""
    root = _parsed(text)
    return list(_options(root, text, prefix)) if isinstance(root, yaml.MappingNode) else []


def defaults(text: str) -> list[Option]:
    """The groups of the defaults list of a primary configuration, with the default choice and the meaning."""
    root = _parsed(text)
    assert isinstance(root, yaml.MappingNode)
    listed = next(value for key, value in root.value if key.value == "defaults")
    pairs = [pair for entry in listed.value if isinstance(entry, yaml.MappingNode) for pair in entry.value]
    return [
        Option(key.value, value.value, _comment(text, value, key))
        for key, value in pairs
        if not key.value.startswith("override ")
    ]


def head(text: str) -> list[str]:
    """The comment lines at the top of a file, without the package line."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        if "@package" not in line:
            lines.append(line.lstrip("#").strip())
    return lines


def explained(group: str, name: str, places: Sequence[Path]) -> list[Option]:
    """The options of one choice, with meanings from files of the same target where its own has none."""
    path = file_of(group, name, places)
    if path is None:
        return []
    own = options(path.read_text(), f"{group}.")
    shared = _meanings(group, tuple(places)).get(target_of(path.read_text()), {})
    return [o if o.meaning else o._replace(meaning=shared.get(o.key, "")) for o in own]


@cache
def _meanings(group: str, places: tuple[Path, ...]) -> dict[str, dict[str, str]]:
    """Target -> option -> meaning, over all files of a group."""
    found: dict[str, dict[str, str]] = {}
    for _, text in texts(group, places):
        known = found.setdefault(target_of(text), {})
        for option in options(text, f"{group}.") if "#" in text else []:
            if option.meaning:
                known.setdefault(option.key, option.meaning)
    return found


def target_of(text: str) -> str:
    """What `_target_` names; empty where there is none."""
    found = re.search(r"^_target_:\s*(\S+)", text, re.MULTILINE)
    return current_name(found[1]) if found else ""


# -- sources, without importing them ---------------------------------------------------------------------------------


def source(target: str) -> tuple[ast.Module, str] | None:
    """The syntax tree of the module of a target, and the name in it; None where the file is not found."""
    module, _, name = target.rpartition(".")
    top, *rest = module.split(".")
    if top == "marginbench":
        place = ROOT
    else:
        try:
            spec = importlib.util.find_spec(top)
        except (ImportError, ValueError):
            return None
        if spec is None or spec.origin is None:
            return None
        place = Path(spec.origin) if not rest else Path(spec.origin).parent
    path = place.joinpath(*rest) if rest else place
    for file in (path, path.with_suffix(".py"), path / "__init__.py"):
        if file.is_file():
            return ast.parse(file.read_text()), name
    return None


def first_paragraph(target: str, of_module: bool) -> str:
    """A solver and a formulation are explained at the head of their file, a data set at its function."""
    found = source(target)
    if found is None:
        return ""
    tree, name = found
    node = tree if of_module else _definition(tree, name)
    text = (ast.get_docstring(node) if node is not None else None) or ""
    return " ".join(text.split("\n\n")[0].split())


def missing_library(target: str) -> str | None:
    """The sentence for a solver whose library is not installed; None when all are."""
    found = source(target)
    return requirements.missing_library(_requires(*found) if found else {})


def _requires(tree: ast.Module, name: str) -> dict[str, str]:
    node = _definition(tree, name)
    if not isinstance(node, ast.ClassDef):
        return {}
    for line in node.body:
        if isinstance(line, ast.Assign | ast.AnnAssign) and line.value is not None:
            targets = [line.target] if isinstance(line, ast.AnnAssign) else line.targets
            if any(isinstance(t, ast.Name) and t.id == "requires" for t in targets):
                return dict(ast.literal_eval(line.value))
    bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
    return next((found for base in bases if (found := _requires(tree, base))), {})


def _definition(tree: ast.Module, name: str) -> Any:
    return next((node for node in tree.body if getattr(node, "name", None) == name), None)


# -- YAML with its comments ------------------------------------------------------------------------------------------


@cache
def _parsed(text: str) -> yaml.Node | None:
    try:
        return yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        raise InputError(f"cannot be read: {' '.join(str(error).split())}") from None


def _options(node: yaml.MappingNode, text: str, prefix: str) -> Iterator[Option]:
    for key, value in node.value:
        name = f"{prefix}{key.value}"
        if key.value in HIDDEN:
            continue
        if isinstance(value, yaml.MappingNode) and not value.flow_style:
            yield from _options(value, text, f"{name}.")
        else:
            yield Option(name, text[value.start_mark.index : value.end_mark.index].strip(), _comment(text, value, key))


def _comment(text: str, value: yaml.Node, key: yaml.Node) -> str:
    """What stands behind `#` after the value and, further in than the key, in the lines that follow."""
    lines = text[value.end_mark.index :].split("\n")
    said = lines[0].partition("#")[2].strip()
    for line in lines[1:]:
        indent = len(line) - len(line.lstrip())
        if not said or not line.lstrip().startswith("#") or indent <= key.start_mark.column:
            break
        said += " " + line.lstrip()[1:].strip()
    return said
