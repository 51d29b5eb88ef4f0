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


def memory() -> dict[str, Any]:
    """In MB; None where the system does not say."""
    lines = (line.partition(":") for line in read("/proc/meminfo").splitlines())
    mb = {name: int(rest.split()[0]) / 1024 for name, _, rest in lines}
    swap = mb["SwapTotal"] - mb["SwapFree"] if "SwapFree" in mb else None
    group = read("/sys/fs/cgroup/memory.max") or read("/sys/fs/cgroup/memory/memory.limit_in_bytes")
    if group.isdigit() and "MemTotal" in mb and int(group) / 2**20 < mb["MemTotal"]:  # a container's share
        mb["MemTotal"] = int(group) / 2**20
        mb["MemAvailable"] = min(mb["MemAvailable"], mb["MemTotal"])
    return {"memory_mb": mb.get("MemTotal"), "free_mb": mb.get("MemAvailable"), "swap_used_mb": swap}


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
            counts[machine_name(record)] += 1
    if len(counts) < 2:
        return ""
    parts = ", ".join(f"{name} ({count})" for name, count in sorted(counts.items()))
    return f"times come from {len(counts)} machines: {parts}; compare passes, not seconds"


def machine_name(record: Record) -> str:
    """Processor, cores and system of the machine that a record was made on, or `not named`."""
    name, cores, system = (record.machine.get(key) for key in ("processor", "cores", "system"))
    if not isinstance(name, str) or not name:
        return "not named"
    more = [f"{cores} cores"] if isinstance(cores, int) else []
    return ", ".join([name[:100], *more, *([system[:100]] if isinstance(system, str) and system else [])])
