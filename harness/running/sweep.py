"""A sweep: cells in, records out. Data are loaded and every cell is checked before the first one runs."""

import os
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from marginbench.datasets import cache
from marginbench.harness.cell.spec import Cell, Config, instantiate
from marginbench.harness.model.problem import InputError
from marginbench.harness.records.points import points_of, write_points
from marginbench.harness.records.record import Record
from marginbench.harness.records.run_folder import earlier_runs, new_folder, write_provenance
from marginbench.harness.records.store import Store
from marginbench.harness.rehearsal import Mishap
from marginbench.harness.running.chunks import chunk_numbers, read_chunk
from marginbench.harness.running.driver import Driver
from marginbench.harness.running.environment import write_environment
from marginbench.harness.running.isolation import Isolation
from marginbench.harness.running.launchers.launcher import Launcher
from marginbench.harness.running.launchers.local import Local
from marginbench.harness.running.live import view
from marginbench.harness.running.loading import load
from marginbench.harness.running.mapped_data import Data
from marginbench.harness.running.planning import Planned, check_numbers, plan
from marginbench.harness.running.progress import Progress
from marginbench.harness.running.runner import Settings, node
from marginbench.harness.running.sources import write_sources

WORTH_A_RATIO = 1.0
"""Seconds of all solvers from which on the time of the whole is set against theirs."""

KEEP = ("nothing", "solution")
"""What may be kept of a cell beside its record."""


@dataclass(frozen=True)
class Finished:
    """A run that ended: its folder, its records, and what to say of it beside them."""

    folder: Path
    records: list[Record]
    asked: list[Record | None]
    """For each cell that was asked for its record; None where it was not run after all."""
    notes: list[str]
    interrupted: bool
    submitted: bool = False
    """Workers go on without this process."""


def run_cells(
    cells: Sequence[Cell],
    config: Config,
    name: str,
    command: str,
    loaded: Mapping[str, Data | Mishap] | None = None,
    progress: Progress | None = None,
) -> Finished:
    """Check everything, and run what no earlier run has. `loaded`: the data, where they are at hand."""
    launcher = launcher_of(config)
    settings = _settings(config, launcher, any(cell.path for cell in cells))
    with ExitStack() as stack:
        isolation = stack.enter_context(Isolation())
        asked = plan(cells, load(cells, cache.data_folder(), isolation) if loaded is None else loaded)
        planned = list({one.key: one for one in asked}.values())  # cells that come to the same thing are one
        if not launcher.in_process:
            stack.close()  # its core is for the workers
        for line in launcher.check([one for one in planned if one.failure is None]):
            print(line, file=sys.stderr)
        out = Path(str(config["out"]))
        earlier = [] if config["fresh"] else earlier_runs(out, name)
        folder = next((path for path in earlier if _goes_on(launcher, path, planned)), None)
        if folder is None:
            folder = new_folder(out, name, config.get("name"))
            _write_beginning(folder, command, planned)
        elif not launcher.in_process:
            print(f"goes on with {folder}, whose jobs are still at work", file=sys.stderr, flush=True)
        driver = Driver(folder, settings, launcher, earlier, progress or view())
        prepared = time.process_time() / max(1, len(planned))
        records: dict[str, Record] = {}
        interrupted = False
        try:
            for record in driver.records(planned, config["seed"], isolation):
                records[record.hash] = record
        except KeyboardInterrupt:
            interrupted = True
            records |= {record.hash: record for record in driver.store.records()}  # one may be stored, not handed on
    write_environment(folder, {target for one in planned for target in one.targets})
    notes = [f"data {key}: {'; '.join(notes)}" for key, notes in _data_notes(planned).items()]
    notes += _notes(driver, prepared, config["repeat_below"])
    if interrupted:
        left = len(planned) - len(records) - driver.left_out
        notes.append(f"interrupted with {left} cells to go; the same command goes on from here")
    rows = [records.get(one.key) for one in asked]
    return Finished(folder, list(records.values()), rows, notes, interrupted, driver.submitted)


def launcher_of(config: Config) -> Launcher:
    """What launcher=... chose; InputError where an option of it cannot be."""
    given = config.get("launcher")
    return instantiate(given) if given else Local()


def _settings(config: Config, launcher: Launcher, path: bool) -> Settings:
    """With a path solutions are kept: the next cell begins from them, in this run or in one that goes on with it."""
    check_numbers("", {"repeat_below": config["repeat_below"]})
    keep = str(config.get("keep", "nothing"))
    if keep not in KEEP:
        raise InputError(f"keep={keep}: possible are {', '.join(KEEP)}")
    return Settings(
        reference=config["reference"] or None,
        keep="solution" if path else keep,
        repeat_below=float(config["repeat_below"]),
        launcher=launcher.name,
        jobs=launcher.jobs,
        exclusive=launcher.exclusive,
        path=tuple(os.path.abspath(entry) for entry in sys.path),
        folder=os.getcwd(),
        environment={name: value for name, value in os.environ.items() if name.startswith("MARGINBENCH_")},
        driver={"node": node(), "pid": os.getpid()},
    )


def _goes_on(launcher: Launcher, folder: Path, planned: Sequence[Planned]) -> bool:
    """Whether workers that an earlier driver left behind are at work on these very cells."""
    numbers = chunk_numbers(folder)
    if launcher.in_process or not numbers or not launcher.attached(folder):
        return False
    asked = {one.key for one in planned}
    given = {entry.key for number in numbers for entry in read_chunk(folder, number)}
    return given <= asked <= given | {record.hash for record in Store(folder).records()}


def _write_beginning(folder: Path, command: str, planned: Sequence[Planned]) -> None:
    """What a run says of itself before its first cell."""
    digests = {one.cell.dataset_name: one.data.digest for one in planned if one.failure is None}
    write_provenance(folder, command, [one.cell.__dict__ for one in planned], digests, _data_notes(planned))
    write_sources(folder, {target for one in planned for target in one.targets})
    for data in {one.data.digest: one.data for one in planned if one.failure is None}.values():
        if (points := points_of(data.X, data.y)) is not None:
            write_points(folder, data.digest, points)


def _data_notes(planned: Sequence[Planned]) -> dict[str, tuple[str, ...]]:
    """Data set -> what was decided on reading it, where there is something."""
    return {one.cell.dataset_name: one.data.notes for one in planned if one.failure is None and one.data.notes}


def _notes(driver: Driver, prepared: float, repeat_below: float) -> list[str]:
    """What the reader of a terminal should know; `prepared`: CPU seconds of start-up for each cell."""
    notes = []
    if driver.reused:
        notes.append(f"{driver.reused} found in earlier runs; fresh=true runs them again")
    notes += driver.earlier.notes()
    if driver.costs:
        cost = 1e3 * (statistics.median(cost.beside for cost in driver.costs) + prepared)
        notes.append(f"the harness took {cost:.0f} ms of CPU a cell beside the solver (median; start-up shared out)")
        wall, solver, earned = (
            sum(getattr(cost, name) for cost in driver.costs) for name in ("wall", "solver", "earned")
        )
        if solver >= WORTH_A_RATIO:
            share = f"{earned / solver:.0%} in certificates beyond the first ten and the last of a cell"
            notes.append(f"the cells took {wall / solver:.2f} times as long as their solvers, {share}")
    if driver.again:
        notes.append(f"{driver.again} cells were disturbed by their neighbours and run again alone")
    if driver.disturbed:
        notes.append(
            f"the times of {driver.disturbed} cells were disturbed by neighbours; launcher.exclusive=true avoids it"
        )
    notes += driver.said
    if driver.left_out:
        limit = f"{repeat_below} s of CPU (repeat_below)"
        notes.append(f"{driver.left_out} repeats left out: the first run of their cell took more than {limit}")
    return notes
