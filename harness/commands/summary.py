"""The end of `run` and `report`: tables, figures and page are written, and the terminal says what came out."""

import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from marginbench.harness.records.record import Record
from marginbench.harness.records.status import status_of
from marginbench.harness.references.library import bounds_of


def finish(
    records: Sequence[Record],
    folder: Path,
    command: str,
    notes: Sequence[str] = (),
    sources: Sequence[Path] = (),
    interrupted: bool = False,
) -> int:
    """Write tables, figures and report; print the table and, last, where the report is. The exit code.

    sources: the results folders that the records come from, when it is not `folder` alone.
    """
    from marginbench.harness.reporting import (  # they load pandas and matplotlib, which the cells do not wait for
        report,
        tables,
    )

    keys = {record.problem for record in records}
    known = bounds_of(keys, sources or [folder])
    page = report.write(list(records), folder, title=folder.parent.name, command=command, references=known)
    frame = tables.table(records, known)
    print(tables.terminal(frame, shutil.get_terminal_size((120, 40)).columns))
    counts = Counter(record.status for record in records)
    print(f"{len(records)} cells: " + ", ".join(f"{n} {status}" for status, n in counts.most_common()))
    if false := sum(bool(record.false_claim) for record in records):
        print(f"{false} claimed convergence at a larger gap than was asked for (column false_claim)")
    for note in notes:
        print(note)
    sys.stdout.flush()
    print(f"report: {page}")
    if interrupted:
        return 130
    return 1 if any(status_of(record.status).bad for record in records) else 0
