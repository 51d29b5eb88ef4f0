"""A worker: runs the cells of chunks, one after the other, and stores each record by itself.

It plans every cell of its chunk anew, from the data and the code that are here, and refuses where it comes to another
key than the driver: such a result would not be what was asked for.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from marginbench.datasets import cache
from marginbench.harness.cell.judging import blank_record
from marginbench.harness.errors import InputError
from marginbench.harness.records.record import Record
from marginbench.harness.rehearsal import Mishap
from marginbench.harness.running.chunk_log import ChunkLog, Told, read_log
from marginbench.harness.running.chunks import Entry, read_chunk
from marginbench.harness.running.fingerprint import changed_code, changed_versions
from marginbench.harness.running.isolation import Isolation
from marginbench.harness.running.loading import data_key, refreshed
from marginbench.harness.running.mapped_data import Data
from marginbench.harness.running.planning import Planned, plan
from marginbench.harness.running.progress import Progress
from marginbench.harness.running.runner import Runner, Settings, cpu_seconds, node

TRIES = 3
"""Starts of a cell whose worker dies with it, before its row says so."""


class Refused(InputError):
    """What is here is not what the driver planned with."""


class Worker:
    """Runs chunks of one run with the isolation it is given."""

    def __init__(
        self, folder: Path, settings: Settings, isolation: Isolation, progress: Progress | None = None
    ) -> None:
        self.folder = folder
        self.progress = progress or Progress()
        self.isolation = isolation
        self.settings = settings
        self.runner = Runner(folder, settings)
        self.left_out = 0
        """Repeats not run, since the first run of their cell was expensive."""
        self._opened: dict[str, Data] = {}

    def chunk(self, number: int) -> Iterator[Record]:
        """Run what has no record of a chunk on disk; yield each record when it is stored."""
        told, log = read_log(self.folder, number), ChunkLog(self.folder, number)
        try:
            entries = read_chunk(self.folder, number)
            planned = self._planned(entries)
            spent = {one.key: cpu_seconds(found) for one in planned if (found := self.runner.store.get(one.key))}
            yield from self.cells([one for one in planned if one.key not in spent], log, spent, told)
            for note in self.notes():
                log.say("note", note)
            log.say("end", True)
        except InputError as error:
            log.say("refused", str(error))
            raise
        finally:
            log.close()

    def cells(
        self, planned: Sequence[Planned], log: ChunkLog, spent: Mapping[str, float], told: Told | None = None
    ) -> Iterator[Record]:
        """Run cells in order. Those that took a worker along come last; after TRIES of them, their row says so.

        A cell whose first run took more CPU seconds than `repeat_below` is not repeated. `spent`: of earlier ones.
        """
        spent, starts = dict(spent), (told or Told()).starts
        for one in sorted(planned, key=lambda one: starts[one.key]):
            if (found := self.runner.store.get(one.key)) is not None:  # by a worker that was believed to be dead
                spent[one.key] = cpu_seconds(found)
                continue
            if one.cell.repeat > 0 and spent.get(one.first, 0.0) > self.settings.repeat_below:
                self.left_out += 1
                self.progress.left_out(one.key)
                continue
            if starts[one.key] >= TRIES:
                record = lost_record(one, f"its worker died {TRIES} times while it ran")
                self.runner.store.put(record)
            else:
                log.start(one)
                self.progress.started(one.key, node())
                try:
                    record = self.runner.run(one, self.isolation)
                except KeyboardInterrupt:
                    log.say("stop", one.key)
                    raise
            spent[one.key] = cpu_seconds(record)
            yield record

    def notes(self) -> list[str]:
        return [f"a stored reference was not used: {why}" for why in self.runner.library.refused.values()]

    # -- planning again ------------------------------------------------------------------------------------------

    def _planned(self, entries: Sequence[Entry]) -> list[Planned]:
        data: dict[str, Data | Mishap] = {data_key(one.cell): self._data(one) for one in entries}
        planned = plan([one.cell for one in entries], data)
        for one, entry in zip(planned, entries, strict=True):
            if one.key != entry.key:
                raise Refused(f"{node()}: {self._difference(one, entry)}; start the run again")
        return planned

    def _difference(self, one: Planned, entry: Entry) -> str:
        if one.failure is not None:
            return f"{entry.cell.solver_name} cannot be made here: {one.failure.message}"
        changed = changed_code(entry.code, one.code) or changed_versions(entry.versions, one.versions)
        return f"not what the driver planned with: {changed or 'the key of a cell differs'}"

    def _data(self, entry: Entry) -> Data:
        """Data by their digest: mapped from the cache, or loaded here where that has none or damaged ones."""
        key, folder = data_key(entry.cell), cache.data_folder()
        if key not in self._opened:
            beside = entry.held_out and Data(folder / entry.held_out["folder"], entry.held_out["digest"])
            planned = Data(folder / entry.folder, entry.digest, held_out=beside or None)
            found = refreshed(planned, entry.cell, self.isolation)
            if isinstance(found, Mishap):
                raise Refused(f"{node()}: {found.message}")
            self._opened[key] = found
        return self._opened[key]


def lost_record(one: Planned, why: str) -> Record:
    """The row of a cell that has no result for a reason outside of its own processes."""
    record = blank_record(one.cell, one.judged, one.data.digest)
    record.status, record.message, record.hash = "crashed", why, one.key
    record.code, record.versions = one.code, one.versions
    record.info.setdefault("peer", one.peer)
    record.machine |= {"node": node()}
    return record


def prepare(settings: Settings) -> None:
    """This process as the driver was: its folder, its import path, and its environment where ours says nothing."""
    for name, value in settings.environment.items():
        os.environ.setdefault(name, value)
    if settings.folder and os.path.isdir(settings.folder):
        os.chdir(settings.folder)
    sys.path += [entry for entry in settings.path if entry not in sys.path]
