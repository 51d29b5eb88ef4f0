"""marginbench run: one cell, or a sweep."""

import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from marginbench.harness.commands.options import CONFIG_DIR, split_flags, user_folder
from marginbench.harness.compose import Composer
from marginbench.harness.compose.grid import Grid, expand
from marginbench.harness.compose.inspection import configurations, information
from marginbench.harness.errors import InputError
from marginbench.harness.printable import printable
from marginbench.harness.rehearsal import import_rehearsed
from marginbench.harness.solver_spec import imported, solver_class

if TYPE_CHECKING:
    from marginbench.harness.running.sweep import Finished

FLAGS = {
    "-m": "",
    "--multirun": "",
    **CONFIG_DIR,
    "--cfg": "job",
    "-c": "job",
    "--resolve": "",
    "--package": "KEY",
    "-p": "KEY",
    "--info": "defaults",
    "-i": "defaults",
}


def main(arguments: Sequence[str]) -> int:
    flags, overrides = split_flags(arguments, FLAGS)
    for flag in ("--resolve", "--package"):
        if flag in flags and "--cfg" not in flags:
            raise InputError(f"{flag}: goes with --cfg job")
    composer = Composer("run", user_folder(flags))
    grid = expand(composer, overrides)
    if "--info" in flags:
        print(information(grid, flags["--info"]))
        return 0
    if "--cfg" in flags:
        print(configurations(grid, flags["--cfg"], "--resolve" in flags, flags.get("--package")))
        return 0
    for note in grid.notes:
        print(printable(note), file=sys.stderr)
    return _run(grid, " ".join(["marginbench", "run", *arguments]))


def _run(grid: Grid, command: str) -> int:
    """Each experiment into a folder of its own; everything is checked before the first cell runs."""
    from marginbench.datasets import cache  # numpy, scipy and pandas: not for --cfg and --info
    from marginbench.harness.commands.report_process import MANY, in_own_process
    from marginbench.harness.commands.summary import Shown, finish
    from marginbench.harness.compose.cells import cells_of
    from marginbench.harness.records.run_folder import check_name
    from marginbench.harness.running.loading import load
    from marginbench.harness.running.planning import plan
    from marginbench.harness.running.sweep import run_cells

    runs = [(run.name, run.configs()) for run in grid.runs]
    for _, configs in runs:
        check_name(configs[0].get("name"))
        Shown.of(configs[0])
    _check_targets([config for _, configs in runs for config in configs])
    asked = [(name, configs[0], [cell for config in configs for cell in cells_of(config)]) for name, configs in runs]
    _fetch(asked)
    if len(asked) > 1:
        every = [cell for _, _, cells in asked for cell in cells]
        plan(every, load(every, cache.data_folder()))
    codes = []
    for name, config, cells in asked:
        done = run_cells(cells, config, name, command)
        if done.submitted:
            codes.append(_submitted(done))
            continue
        shown = Shown.of(config)
        made = partial(finish, done.records, done.folder, command, done.notes, "", done.interrupted, shown)
        codes.append(made() if len(done.records) < MANY else in_own_process(made))
        if done.interrupted:
            break
    return max(codes)


def _submitted(done: "Finished") -> int:
    """Nothing to report yet: how to look, and how to get the report."""
    for note in done.notes:
        print(note)
    print(f"submitted: {done.folder}")
    print(f"`marginbench status {done.folder}` shows how far it is, `marginbench collect {done.folder}` reports")
    return 0


def _fetch(asked: Sequence[tuple[str, dict, Sequence[Any]]]) -> None:
    """The files of published data sets that are not there, if fetch= says so. Else nothing is asked of any host."""
    from marginbench.harness.commands.data import fetch_missing

    for _, config, cells in asked:
        fetch = config.get("fetch", False)
        if not isinstance(fetch, bool | str):
            raise InputError(f"fetch={fetch}: possible are true, false, and the address of a mirror")
        if fetch:
            fetch_missing([(cell.dataset, cell.preprocess) for cell in cells], fetch if isinstance(fetch, str) else "")


def _check_targets(configs: Sequence[dict]) -> None:
    """A file of the user's own that cannot be imported is bad input, said before anything runs."""
    from marginbench.harness.running.job import Limits
    from marginbench.harness.running.planning import check_numbers

    chosen = {
        (group, str(config["choices"].get(group)), str(config[group].get("_target_"))): config.get("limits") or {}
        for config in configs
        for group in ("formulation", "solver")
        if config.get(group)
    }
    for (group, name, target), limits in sorted(chosen.items(), key=lambda item: item[0]):
        check_numbers("limits.", limits)
        trial = Limits(**limits)
        if import_rehearsed(target, trial.seconds, trial.memory_mb) is None:  # else its rows will say it
            (solver_class if group == "solver" else imported)(f"{group}={name}", target)
