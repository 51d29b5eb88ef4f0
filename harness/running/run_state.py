"""How far a run is, from its folder and from the queue of its cluster. Reading changes nothing."""

import contextlib
import os
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from marginbench.harness.errors import InputError
from marginbench.harness.records.run_folder import read_json
from marginbench.harness.records.store import Store
from marginbench.harness.running.chunk_log import Told, read_log
from marginbench.harness.running.chunks import Entry, chunk_numbers, read_chunk, read_settings
from marginbench.harness.running.launchers.slurm import queued
from marginbench.harness.running.runner import Settings, cpu_seconds, node


@dataclass(frozen=True)
class Running:
    what: str
    node: str
    seconds: float


@dataclass
class RunState:
    """Cells of a run, by what became of them so far."""

    cells: int
    done: int = 0
    left_out: int = 0
    running: list[Running] = field(default_factory=list)
    waiting: int = 0
    lost: int = 0
    """Neither stored nor with anybody: the command that made the run finishes them."""
    queue: Counter[str] = field(default_factory=Counter)
    """States of the tasks on a cluster."""
    said: list[str] = field(default_factory=list)
    """Why workers refused."""

    @property
    def open(self) -> int:
        return len(self.running) + self.waiting + self.lost

    def lines(self) -> Iterator[str]:
        counts = {"done": self.done, "running": len(self.running), "waiting": self.waiting, "lost": self.lost}
        counts |= {"left out": self.left_out} if self.left_out else {}
        yield f"{self.cells} cells: " + ", ".join(f"{count} {name}" for name, count in counts.items())
        for one in self.running:
            yield f"  on {one.node} for {one.seconds:.0f} s: {one.what}"
        for state, count in sorted(self.queue.items()):
            yield f"  Slurm tasks {state}: {count}"
        yield from (f"  {line}" for line in dict.fromkeys(self.said))


def run_state(run: Path) -> RunState:
    about = read_json(run / "run.json")
    if not isinstance(about.get("cells"), list):
        raise InputError(f"{run}: no run there (a run has a file run.json with its cells)")
    stored = _stored(run)
    state = RunState(len(about["cells"]), done=len(stored))
    numbers = chunk_numbers(run)
    if not numbers:
        _one_process(run, state, stored)
        return state
    settings, queue = read_settings(run), queued(run)
    state.queue.update(name for _, name in queue)
    driver_lives = settings.launcher != "slurm" and _lives(settings.driver)
    for number in numbers:
        left = [entry for entry in read_chunk(run, number) if entry.key not in stored]
        dropped = [entry for entry in left if _left_out(run, entry, settings)]
        state.left_out += len(dropped)
        told = read_log(run, number)
        states = [name for chunk, name in queue if chunk == number]
        at_work = any(not name.startswith("PENDING") for name in states) or (driver_lives and _lives(told.worker))
        has_worker = bool(states) or driver_lives
        _count(state, len(left) - len(dropped), told, stored, at_work, has_worker)
        state.said += [told.refused] if told.refused else []
    return state


def _one_process(run: Path, state: RunState, stored: set[str]) -> None:
    """A run whose driver runs the cells itself."""
    left = state.cells - state.done
    if read_json(run / "state.json").get("state") == "complete":
        state.left_out = left
        return
    told = read_log(run, 0)
    lives = _lives(told.worker)
    _count(state, left, told, stored, lives, lives)


def _count(state: RunState, left: int, told: Told, stored: set[str], at_work: bool, has_worker: bool) -> None:
    if at_work and left and told.running is not None and told.running.key not in stored:
        seconds = max(0.0, time.time() - told.running.time)
        state.running.append(Running(told.running.what, str(told.worker.get("node", "")), seconds))
        left -= 1
    if has_worker:
        state.waiting += left
    else:
        state.lost += left


def _stored(run: Path) -> set[str]:
    with contextlib.suppress(OSError):
        names = os.listdir(run / "cells")
        return {name.removesuffix(".json") for name in names if name.endswith(".json") and not name.startswith(".")}
    return set()


def _left_out(run: Path, entry: Entry, settings: Settings) -> bool:
    """A repeat that no worker runs, since the first run was expensive."""
    if entry.cell.repeat == 0 or settings.repeat_below == float("inf"):
        return False
    first = Store(run).get(entry.first)
    return first is not None and cpu_seconds(first) > settings.repeat_below


def _lives(process: object) -> bool:
    """Whether a process is there; of other machines it is not known, and believed."""
    if not process or not isinstance(process, dict):
        return False
    if process.get("node") != node():
        return True
    number = str(process.get("pid"))
    if not number.isdecimal() or not 0 < int(number) < 2**31:  # 0 and -1 would stand for many processes
        return False
    try:
        os.kill(int(number), 0)
    except PermissionError:
        return True
    except ProcessLookupError:
        return False
    return True
