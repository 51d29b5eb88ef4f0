"""What the verbs share: flags of the command line, and a folder of the user's own configurations."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from marginbench.harness.errors import InputError

CONFIG_DIR = {"--config-dir": "DIR", "-cd": "DIR"}
"""Flag -> the name of its value, empty where it takes none."""

SHORT = {
    "-m": "--multirun",
    "-cd": "--config-dir",
    "-c": "--cfg",
    "-p": "--package",
    "-i": "--info",
    "-sc": "--shell-completion",
    "-cn": "--config-name",
    "-cp": "--config-path",
    "-r": "--run",
}

NOT_HERE = {
    "--hydra-help": "Hydra's own options have no meaning here; see `marginbench help run`",
    "--shell-completion": "use `marginbench completion bash` (or zsh, fish)",
    "--config-name": "the verb names the primary configuration",
    "--config-path": "configurations of your own are added by --config-dir DIR",
    "--experimental-rerun": "use `marginbench reproduce PATH`",
    "--run": "without lists one cell is run anyway",
}
"""Flags of Hydra that are refused, and why."""


def split_flags(arguments: Sequence[str], flags: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Flags by their long names, and what is left. A value may follow as `--flag VALUE` or `--flag=VALUE`."""
    given: dict[str, str] = {}
    rest: list[str] = []
    words = iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        full = SHORT.get(name, name)
        if not word.startswith("-"):
            rest.append(word)
        elif full in NOT_HERE and full not in flags:
            raise InputError(f"{word}: {NOT_HERE[full]}")
        elif name not in flags:
            raise InputError(f"{word}: no such option; possible are {', '.join(flags) or 'none'}")
        elif flags[name]:
            given[full] = value or next(words, "")
            if not given[full] or given[full].startswith("-"):
                raise InputError(f"{name}: needs a value, as in {name} {flags[name]}")
        elif equals:
            raise InputError(f"{word}: {name} takes no value")
        else:
            given[full] = "yes"
    return given, rest


def user_folder(flags: dict[str, str]) -> Path | None:
    """The folder of --config-dir, which becomes importable together with its parent and the current folder."""
    folder = Path(flags["--config-dir"]).resolve() if "--config-dir" in flags else None
    if folder is not None and not folder.is_dir():
        raise InputError(f"--config-dir {folder}: no such folder")
    for path in (Path.cwd(), *((folder, folder.parent) if folder else ())):
        if str(path) not in sys.path:
            sys.path.append(str(path))
    return folder
