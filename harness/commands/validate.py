"""marginbench validate solver=...: a solver against the reference problems."""

from collections.abc import Sequence
from pathlib import Path

from marginbench.harness import config_files
from marginbench.harness.commands.listing import configs
from marginbench.harness.commands.options import CONFIG_DIR, split_flags, user_folder
from marginbench.harness.compose import Composer
from marginbench.harness.errors import InputError
from marginbench.harness.files import write_atomically
from marginbench.harness.references.library import Library, entries
from marginbench.harness.running.planning import check_numbers
from marginbench.harness.solver_spec import solver_class
from marginbench.harness.validation.examination import validate as examine


def main(arguments: Sequence[str]) -> int:
    flags, overrides = split_flags(arguments, {"--json": "FILE", "--markdown": "FILE", **CONFIG_DIR})
    folder = user_folder(flags)
    if not any(word.startswith("solver=") for word in overrides):
        raise InputError("validate: which solver? solver=NAME, solver=FILE.py:Class or solver=package.module.Class")
    config = Composer("validate", folder).config(overrides)
    name = str(config["choices"]["solver"])
    solver_class(f"solver={name}", str(config["solver"]["_target_"]))
    check_numbers("budget.", config["budget"])
    check_numbers("limits.", config["limits"])
    formulation = config["choices"]["formulation"]
    known = {key: value for key, value, _ in configs("formulation", config_files.folders(folder))}
    card = examine(
        config["solver"],
        name,
        {formulation: config["formulation"]} if formulation else known,
        Library(),
        entries(),
        config["reference"],
        accuracy=config["accuracy"],
        seconds=config["budget"]["seconds"],
        limits=config["limits"],
        seed=config["seed"],
    )
    print(card.text())
    for flag, text in (("--json", card.json()), ("--markdown", card.markdown())):
        if flag in flags:
            write_atomically(Path(flags[flag]), text)
    return 0 if card.ok else 1
