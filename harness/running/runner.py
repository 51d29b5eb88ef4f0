"""One planned cell, run in isolation and stored: what every worker does, whichever launcher started it."""

import contextlib
import fcntl
import os
import platform
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from marginbench.harness.cell.spec import Config
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.records.machine import this_machine
from marginbench.harness.records.record import Record
from marginbench.harness.records.solution import read_solution, write_solution
from marginbench.harness.records.status import status_of
from marginbench.harness.records.store import Store
from marginbench.harness.references.library import Library
from marginbench.harness.rehearsal import Mishap
from marginbench.harness.running.fingerprint import changed_code, code_of
from marginbench.harness.running.isolation import Isolation
from marginbench.harness.running.job import Limits
from marginbench.harness.running.loading import data_key, refreshed
from marginbench.harness.running.mapped_data import Data
from marginbench.harness.running.optima import known_bounds
from marginbench.harness.running.planning import Planned, row_without

DISTURBED, SHORTEST = 1.1, 0.04
"""Wall over CPU time from which a cell counts as disturbed by its neighbours; seconds below which a clock of CPU time
that ticks every 4 ms cannot tell."""


@dataclass(frozen=True)
class Settings:
    """What all workers of a run have in common."""

    reference: Config | None = None
    keep: str = "nothing"
    repeat_below: float = np.inf
    launcher: str = "local"
    jobs: int = 1
    """Cells that run at the same time on one machine, as far as the launcher knows."""
    exclusive: bool = False
    """Whether timed cells wait for one another, so that one at a time runs on a machine."""
    path: tuple[str, ...] = ()
    """Folders that the driver imports from."""
    folder: str = ""
    """Where the command was typed: relative paths of data begin there."""
    environment: dict[str, str] = field(default_factory=dict)
    driver: dict[str, Any] = field(default_factory=dict)
    """The process that watches over the run: its node and number."""

    @property
    def neighbours(self) -> bool:
        """Whether other cells may run on the same machine at the same time."""
        return not self.exclusive and (self.jobs > 1 or self.launcher != "local")


@contextlib.contextmanager
def locked(path: Path, kind: int = fcntl.LOCK_EX) -> Iterator[None]:
    """Alone among the processes that lock this file; with LOCK_SH beside those that do so too."""
    with open(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600), "rb") as file:
        fcntl.flock(file, kind)
        yield


def node() -> str:
    """The machine's name, as the cluster calls it."""
    return os.environ.get("SLURMD_NODENAME") or platform.node()


def cpu_seconds(record: Record) -> float:
    """Of the whole process of a cell; infinity where that was ended from outside."""
    return float(record.machine.get("process_cpu_seconds", np.inf))


def disturbance(record: Record) -> float | None:
    """Wall over CPU time of a cell whose time matters, where it is too large; else None."""
    wall, cpu = record.solve_seconds, record.cpu_seconds
    if wall is None or cpu is None or wall <= SHORTEST or not status_of(record.status).curve_counts:
        return None
    ratio = wall / max(cpu, 1e-9)
    return min(ratio, 1e9) if ratio > DISTURBED else None


@dataclass(frozen=True)
class Cost:
    """What a cell cost, in seconds. beside: of CPU beside its solver, in this process, for its certificates and its
    start. wall: in all, with its reference where that was computed for it. solver: on the clock. earned: of its
    certificates beyond the first ten and the last."""

    beside: float
    wall: float
    solver: float
    earned: float

    @classmethod
    def of(cls, record: Record, own: float, wall: float) -> "Cost":
        judge, used, charged, solver, earned = (
            float(record.machine.get(f"{name}_seconds", 0.0))
            for name in ("judge_cpu", "process_cpu", "charged_cpu", "solver", "earned_certificate")
        )
        return cls(own + judge + used - charged, wall, solver, earned)


class Runner:
    """Runs cells of one run folder, one at a time."""

    def __init__(self, folder: Path, settings: Settings, library: Library | None = None):
        self.folder = folder
        self.settings = settings
        self.store = Store(folder)
        self.library = library or Library()
        self.known: dict[str, Bounds] = {}
        self.costs: list[Cost] = []
        self._verified: dict[str, Data] = {}
        """Data as they were last verified, by their configuration."""

    def run(self, one: Planned, isolation: Isolation, alone: bool = False) -> Record:
        """Run a cell and store its record. `alone`: it runs again, with no other cell of this run beside it."""
        begin = time.perf_counter()
        data = self._verify(one, isolation)
        if isinstance(data, Mishap):
            record = replace(row_without(one.cell, data), problem=one.problem, hash=one.key)
            self.store.put(record)
            return record
        with self._turn(fcntl.LOCK_SH, alone):
            known = self._known(one, isolation)
        log = self.folder / "logs" / f"{one.key}.log"
        limits = Limits(**one.cell.limits)
        start = time.process_time()
        changed = changed_code(one.code, code_of(one.targets))
        with self._turn(fcntl.LOCK_EX, alone):
            kept = self.settings.keep == "solution"
            held_out = data.held_out.path if data.held_out else None
            point = read_solution(self.folder, one.before) if one.before else None
            outcome = isolation.run(one.cell, data.path, data.digest, known, limits, log, kept, held_out, point)
        record = outcome.record
        record.hash, record.code, record.versions = one.key, one.code, one.versions
        record.info.setdefault("peer", one.peer)
        record.machine |= this_machine() | self._place(alone)
        if self.settings.neighbours and not alone and (ratio := disturbance(record)) is not None:
            record.machine["disturbed"] = ratio
        if changed:  # whether it ran the old code or the new is not known
            record.machine["accident"] = f"{changed} during the run"
        if not data.unchanged:
            record = record.voided("invalid", "the data on disk were changed while it ran: its row is void")
        if kept and outcome.point is not None:
            write_solution(self.folder, record.hash, outcome.point)  # first: a record here is never without it
        self.store.put(record)
        self.costs.append(Cost.of(record, time.process_time() - start, time.perf_counter() - begin))
        return record

    def _place(self, alone: bool) -> dict[str, Any]:
        """Where a cell ran, for the `machine` of its record."""
        place = {"node": node(), "launcher": self.settings.launcher, "jobs": self.settings.jobs}
        return place | ({"jobs": 1, "again": True} if alone else {})

    @contextlib.contextmanager
    def _turn(self, kind: int, alone: bool) -> Iterator[None]:
        """With `exclusive`, timed cells have this machine for themselves; references are found side by side."""
        if not self.settings.exclusive or alone or self.settings.launcher == "slurm":  # Slurm gives the whole node
            yield
            return
        with locked(Path(tempfile.gettempdir()) / f"marginbench-{os.getuid()}-exclusive.lock", kind):
            yield

    def _verify(self, one: Planned, isolation: Isolation) -> Data | Mishap:
        """The files are what was loaded; made again where they are not."""
        key = data_key(one.cell)
        found = refreshed(self._verified.get(key, one.data), one.cell, isolation)
        if isinstance(found, Data):
            self._verified[key] = found
        return found

    def _known(self, one: Planned, isolation: Isolation) -> Bounds:
        if one.problem not in self.known:
            self.known[one.problem] = known_bounds(
                one.cell, one.judged, one.data, self.library, self.folder, self.settings.reference, isolation
            )
        return self.known[one.problem]
