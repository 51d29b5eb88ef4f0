"""A sweep: cells in, records out. Data are loaded and every cell is checked before the first one runs."""

import random
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tqdm import tqdm

from marginbench.datasets import cache
from marginbench.harness.cell.spec import Cell, Config
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.model.problem import InputError
from marginbench.harness.records.machine import this_machine
from marginbench.harness.records.record import Record
from marginbench.harness.records.run_folder import earlier_runs, new_folder, write_provenance
from marginbench.harness.records.solution import read_solution, write_solution
from marginbench.harness.records.store import Store
from marginbench.harness.references.computed import read_bounds, write_bounds
from marginbench.harness.references.library import Library
from marginbench.harness.rehearsal import Mishap
from marginbench.harness.running.earlier import Earlier
from marginbench.harness.running.environment import write_environment
from marginbench.harness.running.fingerprint import changed_code, code_of
from marginbench.harness.running.isolation import Isolation
from marginbench.harness.running.job import Limits
from marginbench.harness.running.loading import load
from marginbench.harness.running.mapped_data import Data, spill, stamp
from marginbench.harness.running.optima import known_bounds
from marginbench.harness.running.planning import Planned, check_numbers, plan
from marginbench.harness.running.sources import write_sources

KEEP = ("nothing", "solution")
"""What may be kept of a cell beside its record."""


def cpu_seconds(record: Record) -> float:
    """Of the whole process of a cell; infinity where that was ended from outside."""
    return float(record.machine.get("process_cpu_seconds", np.inf))


class Sweep:
    """Runs planned cells, in random order and each in a process of its own, into a store."""

    def __init__(
        self,
        folder: Path,
        reference: Config | None,
        earlier: Sequence[Path] = (),
        library: Library | None = None,
        keep: str = "nothing",
    ):
        self.store = Store(folder)
        self.folder = folder
        self.reference = reference
        self.earlier = Earlier(earlier, keep)
        self.keep = keep
        self.library = library or Library()
        self.known: dict[str, Bounds] = {}
        self.reused = 0
        self.left_out = 0
        """Repeats not run, since the first run of their cell was expensive."""
        self.costs: list[float] = []
        """CPU seconds of each cell beside its solver: this process, the cell's certificates and its start."""
        self._stamps: dict[Path, object] = {}
        """Of data on disk, when they were last compared with those in memory."""

    def records(
        self,
        planned: Sequence[Planned],
        seed: int = 0,
        repeat_below: float = np.inf,
        isolation: Isolation | None = None,
    ) -> Iterator[Record]:
        """Run what is missing; yield each record when it is stored.

        Repeats take turns, and within a turn the order is random: that spreads drifts of the machine. A cell whose
        first run took more CPU seconds than `repeat_below` is not repeated.
        """
        missing, spent = [], {}
        for one in planned:
            if one.failure is not None:
                self.store.put(one.failure)
                yield one.failure
                continue
            found = self._stored(one)
            if found is None:
                missing.append(one)
            else:
                self.reused += 1
                spent[one.key] = cpu_seconds(found)
                yield found
        random.Random(seed).shuffle(missing)
        missing.sort(key=lambda one: one.cell.repeat)
        with ExitStack() as stack:
            isolation = isolation or stack.enter_context(Isolation())
            for one in tqdm(missing, desc="cells", unit="cell", disable=None, leave=False):
                if one.cell.repeat > 0 and spent.get(one.first, 0.0) > repeat_below:
                    self.left_out += 1
                    continue
                record = self.run(one, isolation)
                spent[one.key] = cpu_seconds(record)
                yield record

    def run(self, one: Planned, isolation: Isolation) -> Record:
        self._verify(one.data)
        known = self._known(one, isolation)
        log = self.folder / "logs" / f"{one.key}.log"
        limits = Limits(**one.cell.limits)
        start = time.process_time()
        changed = changed_code(one.code, code_of(one.targets))
        outcome = isolation.run(one.cell, one.data.path, one.data.digest, known, limits, log)
        record = outcome.record
        record.hash, record.code, record.versions = one.key, one.code, one.versions
        record.info.setdefault("peer", one.peer)
        record.machine |= this_machine()
        if changed:  # whether it ran the old code or the new is not known
            record.machine["accident"] = f"{changed} during the run"
        if stamp(one.data.path) != self._stamps[one.data.path]:
            record = record.voided("invalid", "the data on disk were changed while it ran: its row is void")
        if self.keep == "solution" and outcome.point is not None:
            write_solution(self.folder, record.hash, outcome.point)  # first: a record here is never without it
        self.store.put(record)
        own = time.process_time() - start + record.machine.get("judge_cpu_seconds", 0.0)
        used = record.machine.get("process_cpu_seconds", 0.0) - record.machine.get("charged_cpu_seconds", 0.0)
        self.costs.append(own + used)
        return record

    def _verify(self, data: Data) -> None:
        """The files are what was loaded; made again where they are not."""
        if self._stamps.get(data.path) != stamp(data.path):
            spill(data.X, data.y, data.digest, data.path.parent)
            self._stamps[data.path] = stamp(data.path)

    def _stored(self, one: Planned) -> Record | None:
        """The record of this cell from an earlier run, under the names used now."""
        found = self.earlier.find(one.key, one.code, one.versions)
        if found is None:
            return None
        store, record = found
        record.dataset, record.method = one.cell.dataset_name, one.cell.method
        record.formulation, record.solver = one.cell.formulation_name, one.cell.solver_name
        self._keep_known(store, record.problem)  # first: a record here is never without its reference
        if self.keep == "solution" and (point := read_solution(store.folder, one.key)) is not None:
            write_solution(self.folder, one.key, point)
        self.store.put(record)
        return record

    # -- what is known of a problem ------------------------------------------------------------------------------

    def _known(self, one: Planned, isolation: Isolation) -> Bounds:
        if one.problem not in self.known:
            self.known[one.problem] = known_bounds(
                one.cell, one.judged, one.data, self.library, self.folder, self.reference, isolation
            )
        return self.known[one.problem]

    def _keep_known(self, store: Store, problem: str) -> None:
        """A record found in an earlier run brings along what that run knew of its problem."""
        known = read_bounds(store.folder, problem)
        if known is not None and read_bounds(self.folder, problem) is None:
            write_bounds(self.folder, problem, known)


@dataclass(frozen=True)
class Finished:
    """A run that ended: its folder, its records, and what to say of it beside them."""

    folder: Path
    records: list[Record]
    asked: list[Record | None]
    """For each cell that was asked for its record; None where it was not run after all."""
    notes: list[str]
    interrupted: bool


def run_cells(
    cells: Sequence[Cell], config: Config, name: str, command: str, loaded: Mapping[str, Data | Mishap] | None = None
) -> Finished:
    """Check everything, and run what no earlier run has. `loaded`: the data, where they are at hand."""
    out = Path(str(config["out"]))
    check_numbers("", {"repeat_below": config["repeat_below"]})
    keep = str(config.get("keep", "nothing"))
    if keep not in KEEP:
        raise InputError(f"keep={keep}: possible are {', '.join(KEEP)}")
    with Isolation() as isolation:
        asked = plan(cells, load(cells, cache.folder() / "data", isolation) if loaded is None else loaded)
        planned = list({one.key: one for one in asked}.values())  # cells that come to the same thing are one
        earlier = [] if config["fresh"] else earlier_runs(out, name)
        folder = new_folder(out, name, config.get("name"))
        about = {one.cell.dataset_name: one.data for one in planned if one.failure is None}
        write_provenance(
            folder,
            command,
            [one.cell.__dict__ for one in planned],
            {key: data.digest for key, data in about.items()},
            {key: data.notes for key, data in about.items() if data.notes},
        )
        targets = {target for one in planned for target in one.targets}
        write_sources(folder, targets)
        sweep = Sweep(folder, config["reference"] or None, earlier, keep=keep)
        prepared = time.process_time() / max(1, len(planned))
        records: dict[str, Record] = {}
        interrupted = False
        try:
            for record in sweep.records(planned, config["seed"], float(config["repeat_below"]), isolation):
                records[record.hash] = record
        except KeyboardInterrupt:
            interrupted = True
            records |= {record.hash: record for record in sweep.store.records()}  # one may be stored, not handed on
    write_environment(folder, targets)
    notes = [f"data {key}: {'; '.join(data.notes)}" for key, data in about.items() if data.notes]
    notes += _notes(sweep, prepared, config["repeat_below"])
    if interrupted:
        left = len(planned) - len(records) - sweep.left_out
        notes.append(f"interrupted with {left} cells to go; the same command goes on from here")
    return Finished(folder, list(records.values()), [records.get(one.key) for one in asked], notes, interrupted)


def _notes(sweep: Sweep, prepared: float, repeat_below: float) -> list[str]:
    """What the reader of a terminal should know; `prepared`: CPU seconds of start-up for each cell."""
    notes = []
    if sweep.reused:
        notes.append(f"{sweep.reused} found in earlier runs; fresh=true runs them again")
    notes += sweep.earlier.notes()
    if sweep.costs:
        cost = 1e3 * (statistics.median(sweep.costs) + prepared)
        notes.append(f"the harness took {cost:.0f} ms of CPU a cell beside the solver (median; start-up shared out)")
    notes += [f"a stored reference was not used: {why}" for why in sweep.library.refused.values()]
    if sweep.left_out:
        limit = f"{repeat_below} s of CPU (repeat_below)"
        notes.append(f"{sweep.left_out} repeats left out: the first run of their cell took more than {limit}")
    return notes
