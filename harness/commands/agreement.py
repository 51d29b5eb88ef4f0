"""marginbench agreement PATH|FILE.zip: the rows of a run that disagree with the proven optimum, and what is known.

The exit code is 1 where a row disagrees and its solver's YAML does not say why.
"""

from collections import Counter
from collections.abc import Sequence

from marginbench.harness import config_files
from marginbench.harness.commands.options import CONFIG_DIR, split_flags, user_folder
from marginbench.harness.commands.stored import opened, stored_records
from marginbench.harness.errors import InputError
from marginbench.harness.printable import printable
from marginbench.harness.records.record import Record
from marginbench.harness.validation.agreement import agreement, reasons


def main(arguments: Sequence[str]) -> int:
    flags, words = split_flags(arguments, CONFIG_DIR)
    if len(words) != 1:
        raise InputError("agreement: needs one results folder or bundle, as in agreement results/latest")
    folders = config_files.folders(user_folder(flags))
    known = {name: reasons(text) for name, text in config_files.texts("solver", folders)}
    with opened(words[0]) as folder:
        found = agreement(stored_records(folder).records, known)
    for record in found.disagree:
        print(printable(f"{named(record)}: {record.status}: {record.message}"))
    why = Counter((record.solver, record.status, reason) for record, reason in found.known)
    for (solver, status, reason), count in sorted(why.items()):
        print(f"known: {solver} is {status} in {count} rows: {reason}")
    counts = {name: len(rows) for name, rows in found._asdict().items()}
    print(
        f"{counts['agree']} agree, {counts['disagree']} disagree, {counts['known']} are known to disagree, "
        f"{counts['late']} were still on their way, {counts['rough']} are not held to 1e-6"
    )
    return 1 if found.disagree else 0


def named(record: Record) -> str:
    """Which row it is."""
    data = record.cell["dataset"].get("name", "")
    problem = f"{record.dataset} {data}".strip()
    return f"{record.formulation} + {record.solver}, {problem}, C = {record.C:g}, bias {record.bias}"
