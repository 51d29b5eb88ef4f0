"""The end of `run` and `report`: tables, figures and page are written, and the terminal says what came out."""

import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from marginbench.harness.interruption import undisturbed
from marginbench.harness.records.machine import machines
from marginbench.harness.records.record import Record
from marginbench.harness.records.run_folder import write_state
from marginbench.harness.records.status import status_of
from marginbench.harness.references.library import bounds_of


def finish(
    records: Sequence[Record],
    folder: Path,
    command: str,
    notes: Sequence[str] = (),
    title: str = "",
    interrupted: bool = False,
) -> int:
    """Write tables, figures and report; print the table and, last, where the report is. The exit code.

    title: of the page; by default the name of the folder above. SIGTERM and SIGHUP wait until everything is written.
    """
    from marginbench.harness.reporting import (  # they load pandas and matplotlib, which the cells do not wait for
        report,
    )
    from marginbench.harness.reporting.terminal import terminal

    keys = {record.problem for record in records}
    known = bounds_of(keys, [folder])
    with undisturbed():
        page = report.write(list(records), folder, title or folder.parent.name, command, known)
        write_state(folder, interrupted)
    print(terminal(records, known, shutil.get_terminal_size((120, 40)).columns))
    counts = Counter(record.status for record in records)
    number = "1 cell" if len(records) == 1 else f"{len(records)} cells"
    print(f"{number}: " + ", ".join(f"{n} {status}" for status, n in counts.most_common()))
    if false := sum(bool(record.false_claim) for record in records):
        print(f"{false} claimed convergence at a larger gap than was asked for (column false_claim)")
    for note in (*notes, machines(records)):
        if note:
            print(note)
    sys.stdout.flush()
    print(f"report: {page}")
    if interrupted:
        return 130
    return 1 if any(status_of(record.status).bad for record in records) else 0
