"""marginbench collect [RUN]: tables, figures and report of a run whose cells ran without a driver."""

from collections.abc import Sequence

from marginbench.harness.commands.status import named_run
from marginbench.harness.errors import InputError


def main(arguments: Sequence[str]) -> int:
    from marginbench.harness.commands.stored import stored_records
    from marginbench.harness.commands.summary import finish
    from marginbench.harness.records.run_folder import read_json
    from marginbench.harness.running.run_state import run_state

    run = named_run("collect", arguments)
    state, records = run_state(run), stored_records(run).records
    if not records:
        raise InputError(f"collect {run}: no cell is done yet ({next(state.lines())})")
    command = str(read_json(run / "run.json").get("command", ""))
    notes = [f"not complete: {next(state.lines())}; collect again later"] if state.open else []
    notes += [f"the lost cells are run again by: {command}"] if state.lost else []
    code = finish(records, run.resolve(), command, notes, interrupted=bool(state.open))
    return 1 if state.open else code
