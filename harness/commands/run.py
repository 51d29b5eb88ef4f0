"""marginbench run: one cell, or a sweep."""

from collections.abc import Sequence

from marginbench.harness.commands.options import split_flags, user_folder
from marginbench.harness.commands.summary import finish
from marginbench.harness.compose import Composer, cells_of
from marginbench.harness.running.sweep import run_cells


def main(arguments: Sequence[str]) -> int:
    flags, overrides = split_flags(arguments, {"-m": False, "--multirun": False, "--config-dir": True})
    composer = Composer("run", user_folder(flags))
    configs = composer.cells(overrides)
    first = configs[0]
    name = first["choices"].get("experiment") or "run"
    cells = [cell for config in configs for cell in cells_of(config)]
    command = " ".join(["marginbench", "run", *arguments])
    done = run_cells(cells, first, name, command)
    return finish(done.records, done.folder, command, done.notes, interrupted=done.interrupted)
