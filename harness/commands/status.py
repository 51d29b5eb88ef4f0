"""marginbench status [RUN]: how far a run is, here or on a cluster."""

from collections.abc import Sequence
from pathlib import Path

from marginbench.harness.commands.options import split_flags
from marginbench.harness.errors import InputError


def main(arguments: Sequence[str]) -> int:
    from marginbench.harness.running.run_state import run_state

    run = named_run("status", arguments)
    state = run_state(run)
    print(f"{run}: " + "\n".join(state.lines()))
    if state.lost:
        print("lost cells have no worker any more; the command that made the run finishes them")
    return 0


def named_run(verb: str, arguments: Sequence[str]) -> Path:
    """The folder that was named; without a name, the run that was started last."""
    _, words = split_flags(arguments, {})
    if len(words) > 1:
        raise InputError(f"{verb}: one results folder at a time")
    path = Path(words[0]) if words else Path("results/latest")
    if not path.is_dir():
        raise InputError(f"{verb} {path}: no such folder; which run? `marginbench runs` lists them")
    return path
