"""marginbench report PATH...: tables, figures and report again from stored records."""

from collections.abc import Sequence
from pathlib import Path

from marginbench.harness.commands.options import split_flags
from marginbench.harness.commands.stored import stored_records
from marginbench.harness.commands.summary import finish
from marginbench.harness.errors import InputError


def main(arguments: Sequence[str]) -> int:
    flags, paths = split_flags(arguments, {"--out": "DIR"})
    if not paths:
        raise InputError("report: which results? Give one folder or more, as in results/comparison/2026-01-31_12-00-00")
    records = {record.hash: record for path in paths for record in stored_records(path)}
    folder = Path(flags.get("--out", paths[0]))
    command = " ".join(["marginbench", "report", *arguments])
    return finish(list(records.values()), folder, command, sources=[Path(path) for path in paths])
