"""What this machine can enforce, how noisy it is, and what to do about it.

The noise floor is measured, not assumed: one and the same work under two names, A and B, timed in turns. In truth
time(A) / time(B) = 1; the 95 % bootstrap interval of the ratio of medians shows how far from 1 the machine can take it.
A measured ratio has to leave that interval before it is called a difference.
"""

import contextlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from marginbench.datasets import cache
from marginbench.datasets.eviction import VARIABLE, limit, size
from marginbench.harness.cell.spec import Cell
from marginbench.harness.model.problem import Array, Matrix
from marginbench.harness.records.machine import memory, processor, read
from marginbench.harness.rowops import passes
from marginbench.harness.rowops.rows import rows_of
from marginbench.harness.running.confinement import (
    MEMORY_LIMIT,
    PR_SET_CHILD_SUBREAPER,
    limit_memory,
    process_control,
)
from marginbench.harness.running.isolation import Isolation
from marginbench.harness.running.job import Limits
from marginbench.harness.running.mapped_data import spill
from marginbench.harness.running.solver_process import library_threads
from marginbench.harness.running.supervisor import end_children

REPEATS = 15


def report(pair: tuple[Cell, Matrix, Array] | None = None, repeats: int = REPEATS) -> dict[str, Any]:
    """Everything, as plain data. `pair`: the cell whose solver is timed against itself, and its data."""
    found: dict[str, Any] = {
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        "processor": processor(),
        "cores": os.cpu_count() or 1,
        "cores_allowed": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        "governor": read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "load": os.getloadavg()[0],
        "blas_threads": library_threads(),
        **memory(),
        **_clock(),
        "cache": {"folder": str(cache.folder()), "bytes": size(cache.data_folder()), "most": limit()},
        "enforced": _enforced(),
    }
    if pair is None:
        found["noise"] = {"of": "a pass of the harness over data", **noise_floor(_kernel(), repeats)}
    else:
        found["noise"] = {"of": pair[0].solver_name, **_noise_of_cell(*pair, repeats)}
    found["advice"] = advice(found)
    return found


# -- the machine --------------------------------------------------------------------------------------------------


def _clock() -> dict[str, float]:
    ticks = np.diff([time.perf_counter() for _ in range(2000)])
    return {"clock_resolution": float(ticks[ticks > 0].min()), "clock_cost": float(np.median(ticks))}


def _enforced() -> dict[str, bool]:
    """Each limit, tried in a process of its own."""
    command = [sys.executable, "-c", "from marginbench.harness.running.doctor import probe; probe()"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    with contextlib.suppress(ValueError, IndexError):
        return json.loads(done.stdout.splitlines()[-1])
    return {"memory": False, "core": False, "orphans": False}


def probe() -> None:
    """Try to break each limit, and print which ones held. For a process of its own."""
    held = {"memory": False, "core": False, "orphans": False}
    with contextlib.suppress(OSError, AttributeError):
        core = max(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {core})
        held["core"] = os.sched_getaffinity(0) == {core}
    process_control(PR_SET_CHILD_SUBREAPER, 1)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        if (grandchild := os.fork()) == 0:
            time.sleep(60.0)
        os.write(writing, grandchild.to_bytes(8, "little"))
        os._exit(0)
    grandchild = int.from_bytes(os.read(reading, 8), "little")
    os.waitpid(child, 0)
    held["orphans"] = grandchild in end_children()
    with contextlib.suppress(OSError, ValueError):
        limit_memory(64.0)
        try:
            np.ones(2**24)
        except MemoryError:
            held["memory"] = True
    print(json.dumps(held))


# -- noise --------------------------------------------------------------------------------------------------------


def noise_floor(seconds: Callable[[], float], repeats: int = REPEATS) -> dict[str, float]:
    """The ratio that two different solvers must exceed; `seconds` does the work once and says how long it took."""
    seconds()
    timed = np.array([[seconds(), seconds()] for _ in range(repeats)])
    drawn = np.random.default_rng(0).integers(repeats, size=(2000, repeats))
    a, b = (np.median(timed[drawn, k], axis=1) for k in (0, 1))
    low, high = np.percentile(a / b, [2.5, 97.5])
    return {"floor": float(max(high, 1.0 / low)), "median_seconds": float(np.median(timed)), "repeats": repeats}


def _kernel() -> Callable[[], float]:
    """Margins of 4,000 rows and their combination: some milliseconds of what solvers do all day."""
    X = np.random.default_rng(0).normal(size=(4000, 100))
    rows, y, w, m = rows_of(X), np.ones(4000), np.ones(100), np.zeros(4000)

    def seconds() -> float:
        start = time.perf_counter()
        for _ in range(10):
            passes.margins(rows, y, w, 0.0, m)
            passes.combine(rows, y, m, np.zeros(100))
        return time.perf_counter() - start

    return seconds


def _noise_of_cell(cell: Cell, X: Matrix, y: Array, repeats: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder, Isolation() as isolation:
        data = spill(X, y, "doctor", Path(folder))

        def seconds() -> float:
            record = isolation.run(cell, data, "doctor", None, Limits()).record
            if record.solve_seconds is None:
                raise RuntimeError(f"the solver {cell.solver_name} gives no time: {record.status}, {record.message}")
            return record.solve_seconds

        return noise_floor(seconds, repeats)


# -- in words -----------------------------------------------------------------------------------------------------


def advice(found: dict[str, Any]) -> list[str]:
    """What to do, the most important first; empty when there is nothing to do."""
    said = []
    busy, floor = found["load"] / found["cores"], found["noise"]["floor"]
    if busy > 0.5:
        said.append(
            f"Other work is running (load {found['load']:.1f} on {found['cores']} cores): time when it is done."
        )
    if floor > 1.1:
        said.append(f"Call nothing a difference below {100 * (floor - 1):.0f} %; more repeats lower this.")
    if found["governor"] not in ("", "performance"):
        said.append(f"The clock of the cores varies (governor {found['governor']}): set it to performance.")
    if found["cores_allowed"] < 2:
        said.append("One core: the harness and the solver share it. Times include some of the harness.")
    if found["swap_used_mb"] is not None and found["swap_used_mb"] > 100.0:
        said.append("Memory has been swapped out: a solver may wait for the disk. Close other programs.")
    if found["free_mb"] is not None and found["free_mb"] < Limits().memory_mb:
        said.append(f"Less memory is free than a cell may take: set limits.memory_mb below {found['free_mb']:.0f}.")
    if not found["enforced"]["memory"]:
        said.append("Memory cannot be limited here: a solver can use up all memory of this machine.")
    if not found["enforced"]["orphans"]:
        said.append("Processes that a solver leaves behind in a session of their own cannot be found here.")
    return said


def text(found: dict[str, Any]) -> str:
    """The report for a terminal."""
    mb = lambda value: "unknown" if value is None else f"{value:,.0f} MB"  # noqa: E731
    held, kept = found["enforced"], found["cache"]
    threads = ", ".join(f"{name}: {count}" for name, count in found["blas_threads"].items()) or "none loaded"
    lines = {
        "system": found["system"],
        "processor": found["processor"],
        "cores": f"{found['cores']}, {found['cores_allowed']} allowed; load {found['load']:.2f}",
        "governor": found["governor"] or "this system does not say",
        "memory": f"{mb(found['memory_mb'])}, {mb(found['free_mb'])} free; swap used: {mb(found['swap_used_mb'])}",
        "cache": f"{kept['folder']}: {kept['bytes'] / 1e9:.3g} GB of data, {kept['most'] / 1e9:g} at most ({VARIABLE})",
        "BLAS threads": f"{threads}; cells run with 1",
        "clock": f"resolution {1e9 * found['clock_resolution']:.0f} ns, {1e9 * found['clock_cost']:.0f} ns a reading",
        "time limit": "yes, by killing the whole process group"
        + (" and its orphans" if held["orphans"] else "; orphans in other sessions are not found"),
        "memory limit": f"yes, by {MEMORY_LIMIT}" if held["memory"] else "no",
        "own core": "yes, a cell stays on one core" if held["core"] else "no",
        "noise floor": f"{found['noise']['floor']:.3f}, from {found['noise']['repeats']} pairs of "
        f"{1e3 * found['noise']['median_seconds']:.2g} ms ({found['noise']['of']} against itself)",
    }
    said = found["advice"] or ["This machine is fit for timing."]
    return "\n".join([f"{name + ':':14}{value}" for name, value in lines.items()] + ["", *said])
