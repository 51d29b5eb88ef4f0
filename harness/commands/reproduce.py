"""marginbench reproduce PATH: run a stored report's cells again and compare."""

from collections.abc import Sequence

from marginbench.harness.commands.options import split_flags
from marginbench.harness.commands.stored import stored_records
from marginbench.harness.commands.summary import finish
from marginbench.harness.compose import Composer
from marginbench.harness.errors import InputError
from marginbench.harness.running.reproduction import Rerun, cell_again, compare, named_files, text
from marginbench.harness.running.sweep import run_cells


def main(arguments: Sequence[str]) -> int:
    flags, words = split_flags(arguments, {"--out": "DIR"})
    if not words:
        raise InputError("reproduce: which results? Give a folder, as in results/comparison/2026-01-31_12-00-00")
    stored, files = stored_records(words[0]), named_files(words[1:])
    composer = Composer("run")
    again = [cell_again(record, composer.part, files) for record in stored]
    config = {**composer.config([]), "fresh": True, "out": flags.get("--out", "results")}
    command = " ".join(["marginbench", "reproduce", *arguments])
    finished = run_cells([cell for cell in again if not isinstance(cell, str)], config, "reproduce", command)
    code = finish(finished.records, finished.folder, command, finished.notes, interrupted=finished.interrupted)
    now = iter(finished.asked)
    pairs = [
        Rerun(then, None, cell) if isinstance(cell, str) else compare(then, next(now))
        for then, cell in zip(stored, again, strict=True)
    ]
    print(text(pairs))
    return code or int(not all(pair.holds for pair in pairs))
