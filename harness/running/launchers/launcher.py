"""What every launcher does: start workers on chunks, say whether any is at work, end them.

What became of a cell is read from the store, never from a launcher.
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from marginbench.harness.errors import InputError
from marginbench.harness.records.machine import memory
from marginbench.harness.running.planning import Planned
from marginbench.harness.running.result import size_mb

WITH_PARENT = "--with-parent"
"""Option of a worker: it ends when the process of this number does."""

FAILED = "failed:"
"""Begins a line of a worker that no other worker could replace, as on a full disk."""


class Launcher(ABC):
    """A choice of conf/launcher."""

    name: str
    jobs: int = 1
    """Cells that run at the same time on one machine, as far as is known."""
    exclusive: bool = False
    wait: bool = True
    """Whether the driver stays until all is done."""
    in_process: bool = False
    """Whether the driver runs all cells itself."""
    again: bool = False
    """Whether the driver can run disturbed cells again, on the machine where they ran."""

    def check(self, planned: Sequence[Planned]) -> list[str]:
        """Refuses what cannot be (InputError), before anything runs; what to tell the user."""
        return []

    @abstractmethod
    def pieces(self, problems: int) -> int:
        """How many chunks to make of so many problems."""

    @abstractmethod
    def start(self, run: Path, chunks: Sequence[int]) -> None:
        """Start workers on those of the chunks that no worker has."""

    @abstractmethod
    def working(self) -> bool:
        """Wait a moment; whether any worker is at work or still to come."""

    @abstractmethod
    def end(self) -> None:
        """End all workers."""

    def leave(self) -> str:
        """The driver was interrupted: end the workers, or say how they go on without it."""
        self.end()
        return ""

    def attached(self, run: Path) -> bool:
        """Whether workers of an earlier driver are still at work on a run, and are ours from now on."""
        return False


def worker_command(run: Path, *words: str) -> list[str]:
    """-P: a file of the user's folder must not stand for a module of ours."""
    return [sys.executable, "-P", "-m", "marginbench", "work", str(run.resolve()), *words]


def held_mb(one: Planned) -> float:
    """What the data of a cell take in memory; those larger than its limit stay on disk."""
    return min(size_mb(one.data.path), float(one.cell.limits["memory_mb"]))


def check_memory(jobs: int, planned: Sequence[Planned]) -> None:
    """So many cells at once have to fit into this machine."""
    there = memory()["memory_mb"]
    limit = max((float(one.cell.limits["memory_mb"]) for one in planned), default=0.0)
    data = max((held_mb(one) for one in planned), default=0.0)
    if there is not None and jobs * (limit + data) > there:
        raise InputError(
            f"launcher.jobs={jobs}: needs {jobs} x ({limit:.0f} MB of limits.memory_mb + {data:.0f} MB of data) = "
            f"{jobs * (limit + data):.0f} MB, and this machine has {there:.0f} MB; "
            f"at most {max(1, int(there // (limit + data)))} jobs, or a lower limits.memory_mb"
        )


def whole(option: str, value: Any, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(f"launcher.{option}={value}: needs a whole number, {least} or more")
    return value


def switch(option: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"launcher.{option}={value}: possible are true and false")
    return value
