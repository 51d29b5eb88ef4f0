"""The machine that a run was made on."""

import os
import platform
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from marginbench.harness.records.record import Record


def read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def processor() -> str:
    names = [line.partition(":")[2].strip() for line in read("/proc/cpuinfo").splitlines() if "model name" in line]
    return names[0] if names else platform.processor() or platform.machine()


@cache
def this_machine() -> dict[str, Any]:
    """What times depend on, for the `machine` of a record."""
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
    }


def machines(records: Iterable[Record]) -> str:
    """A sentence where the times of records come from different machines, else nothing.

    Records that do not name their machine, as those of earlier versions, count as made on one of their own.
    """
    counts: Counter[str] = Counter()
    for record in records:
        if record.solve_seconds is not None:
            counts[_named(record)] += 1
    if len(counts) < 2:
        return ""
    parts = ", ".join(f"{name} ({count})" for name, count in sorted(counts.items()))
    return f"times come from {len(counts)} machines: {parts}; compare passes, not seconds"


def _named(record: Record) -> str:
    name, cores, system = (record.machine.get(key) for key in ("processor", "cores", "system"))
    if not isinstance(name, str) or not name:
        return "not named"
    more = [f"{cores} cores"] if isinstance(cores, int) else []
    return ", ".join([name[:100], *more, *([system[:100]] if isinstance(system, str) and system else [])])
