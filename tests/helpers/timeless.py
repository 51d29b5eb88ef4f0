"""A run's table without what depends on the clock, to compare two runs of the same cells."""

import csv
import re
from pathlib import Path

TIMES = ("seconds", "passes", "peak_mb")
HIDDEN_TIME = re.compile(r"(; )?\S+ s of CPU of its processes are not accounted for \(.*? were charged\)")
"""A kernel that is busy with its memory charges a process for that too, once in some hundred cells."""


def timeless_rows(table: Path) -> list[dict[str, str]]:
    """By hash."""
    with table.open() as file:
        rows = [{k: v for k, v in row.items() if not any(t in k for t in TIMES)} for row in csv.DictReader(file)]
    for row in rows:
        row["message"] = HIDDEN_TIME.sub("", row["message"])
    return sorted(rows, key=lambda row: row["hash"])
