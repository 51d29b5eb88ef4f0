"""marginbench validate solver=...: a solver against the reference problems."""

from collections.abc import Sequence
from pathlib import Path

from marginbench.harness.commands.listing import configs
from marginbench.harness.commands.options import split_flags, user_folder
from marginbench.harness.compose import CONF, Composer
from marginbench.harness.files import write_atomically
from marginbench.harness.model.problem import InputError
from marginbench.harness.references.library import Library, entries
from marginbench.harness.running.sweep import check_numbers
from marginbench.harness.solver_spec import solver_of
from marginbench.harness.validation.examination import validate as examine


def main(arguments: Sequence[str]) -> int:
    flags, overrides = split_flags(arguments, {"--json": True, "--markdown": True, "--config-dir": True})
    folder = user_folder(flags)
    composer = Composer("validate", folder)
    name = next((word.removeprefix("solver=") for word in overrides if word.startswith("solver=")), "")
    if not name:
        raise InputError("validate: which solver? solver=NAME, solver=FILE.py:Class or solver=package.module.Class")
    own = "." in name and name not in composer.names("solver")
    options = [word.removeprefix("solver.") for word in overrides if own and word.startswith("solver.")]
    config = composer.config([word for word in overrides if not (own and word.startswith(("solver=", "solver.")))])
    check_numbers("budget.", config["budget"])
    check_numbers("limits.", config["limits"])
    formulation = config["choices"]["formulation"]
    known = {key: value for key, value, _ in configs("formulation", [folder, CONF] if folder else [CONF])}
    card = examine(
        solver_of(name, options, config["seed"]) if own else config["solver"],
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
