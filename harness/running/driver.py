"""The driver of a sweep: planned cells in, records out.

    what no earlier run has -> chunks of whole problems -> workers -> the store

The driver watches the store. Whoever runs the cells, this process or workers elsewhere, does the same (`worker.py`).
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from marginbench.harness.records.record import Record
from marginbench.harness.records.solution import read_solution, write_solution
from marginbench.harness.records.store import Store
from marginbench.harness.references.computed import read_bounds, write_bounds
from marginbench.harness.running.chunk_log import ChunkLog
from marginbench.harness.running.chunks import chunk_numbers, in_turns, packed, read_chunk, write_chunks
from marginbench.harness.running.earlier import Earlier
from marginbench.harness.running.isolation import Isolation
from marginbench.harness.running.launchers.launcher import Launcher
from marginbench.harness.running.launchers.local import Local
from marginbench.harness.running.planning import Planned
from marginbench.harness.running.progress import Progress
from marginbench.harness.running.runner import Cost, Settings, cpu_seconds, node
from marginbench.harness.running.watch import Watch
from marginbench.harness.running.worker import Worker, lost_record

FRUITLESS = 2
"""Turns in which no cell gets further, before the cells that are left get rows that say so."""


def name(one: Planned) -> str:
    """`auto on a9a, C = 1, bias none`, for a person who watches."""
    cell = one.cell
    problem = f"C = {cell.problem.get('C', 1.0)}, bias {cell.problem.get('bias', '')}"
    return f"{cell.method or cell.solver_name} on {cell.dataset_name}, {problem}"


def _shared(record: Record, one: Planned) -> Record:
    """What the records of a sweep have in common is kept in memory once: of a short cell it is the larger part."""
    for part, same in (("cell", one.cell.__dict__), ("code", one.code), ("versions", one.versions)):
        if getattr(record, part) == same:
            setattr(record, part, same)
    return record


class Driver:
    """Runs planned cells into the store of one folder, by a launcher."""

    def __init__(
        self,
        folder: Path,
        settings: Settings | None = None,
        launcher: Launcher | None = None,
        earlier: Sequence[Path] = (),
        progress: Progress | None = None,
    ):
        self.store = Store(folder)
        self.folder = folder
        self.settings = settings or Settings()
        self.launcher = launcher or Local()
        self.earlier = Earlier(earlier, self.settings.keep)
        self.progress = progress or Progress()
        self.reused = 0
        self.left_out = 0
        """Repeats not run, since the first run of their cell was expensive."""
        self.again = 0
        """Cells that were run a second time, alone."""
        self.disturbed = 0
        """Cells whose times their neighbours spoilt, and that were not run again."""
        self.submitted = False
        """Whether workers go on without this process."""
        self.costs: list[Cost] = []
        """Of each cell that this process ran."""
        self.said: list[str] = []
        """For the user."""

    def records(
        self, planned: Sequence[Planned], seed: int = 0, isolation: Isolation | None = None
    ) -> Iterator[Record]:
        """Run what is missing; yield each record when it is stored. A disturbed cell's comes a second time."""
        missing, spent, disturbed = [], {}, set[str]()
        by_key = {one.key: one for one in planned}
        for one in planned:
            found = one.failure or self._stored(one)
            if found is None:
                missing.append(one)
                continue
            if one.failure is not None:
                self.store.put(found)
            else:
                self.reused += 1
                spent[one.key] = cpu_seconds(found)
            disturbed |= {found.hash} if self._was_disturbed(found) else set()
            yield _shared(found, one)
        self.progress.planned({one.key: name(one) for one in missing}, len(planned) - len(missing))
        run = self._here if self.launcher.in_process else self._elsewhere
        try:
            for record in run(missing, spent, seed, isolation):
                disturbed |= {record.hash} if self._was_disturbed(record) else set()
                self.progress.stored(record)
                yield _shared(record, by_key[record.hash])
            for record in self._alone([one for one in planned if one.key in disturbed]):
                self.progress.stored(record)
                yield record
        finally:
            self.progress.close()

    # -- by this process -----------------------------------------------------------------------------------------

    def _here(
        self, missing: Sequence[Planned], spent: dict[str, float], seed: int, isolation: Isolation | None
    ) -> Iterator[Record]:
        with ExitStack() as stack:
            worker = Worker(self.folder, self.settings, isolation or stack.enter_context(Isolation()), self.progress)
            if not missing:
                return
            log = ChunkLog(self.folder, 0)
            stack.callback(log.close)
            yield from worker.cells(in_turns(missing, seed), log, spent)
            log.say("end", True)
            self.left_out += worker.left_out
            self.costs += worker.runner.costs
            self.said += worker.notes()

    def _alone(self, planned: Sequence[Planned]) -> Iterator[Record]:
        """Cells that were disturbed by their neighbours once more, when all others are done."""
        if not planned or not self.launcher.again:
            self.disturbed = len(planned)
            return
        with Isolation() as isolation:
            worker = Worker(self.folder, replace(self.settings, jobs=1), isolation, self.progress)
            for one in planned:
                self.again += 1
                yield worker.runner.run(one, isolation, alone=True)

    def _was_disturbed(self, record: Record) -> bool:
        return "disturbed" in record.machine and record.machine.get("node") == node()

    # -- by workers ----------------------------------------------------------------------------------------------

    def _elsewhere(
        self, missing: Sequence[Planned], spent: dict[str, float], seed: int, _: Isolation | None
    ) -> Iterator[Record]:
        waiting = {one.key: one for one in missing}
        watch = Watch(self.folder, self._chunks(missing, seed), self.progress)
        fruitless, before = 0, (-1, -1)
        try:
            while waiting and fruitless < FRUITLESS:
                self.launcher.start(self.folder, watch.left())
                if not self.launcher.wait:
                    self.submitted = True
                    return
                working = True
                while working and waiting:
                    working = self.launcher.working()
                    for record in watch.news(now=not working):
                        waiting.pop(record.hash, None)
                        spent[record.hash] = cpu_seconds(record)
                        yield record
                    self._leave_out(waiting, spent, watch)
                after = (len(waiting), watch.starts())
                fruitless = fruitless + 1 if after == before else 0
                before = after
            self.launcher.end()
        except (KeyboardInterrupt, GeneratorExit):
            self.said += [said] if (said := self.launcher.leave()) else []
            raise
        except Exception:
            self.launcher.end()
            raise
        self.said += dict.fromkeys(note for number in watch.chunks for note in watch.told(number).notes)
        for number, keys in watch.chunks.items():
            for key in sorted(keys & set(waiting)):
                yield self._lost(waiting[key], watch.told(number).refused)

    def _chunks(self, missing: Sequence[Planned], seed: int) -> dict[int, list[str]]:
        """Number -> keys; those of an earlier driver where there are any."""
        numbers = chunk_numbers(self.folder)
        if numbers:
            asked = {one.key for one in missing}
            return {k: [entry.key for entry in read_chunk(self.folder, k) if entry.key in asked] for k in numbers}
        chunks = packed(missing, self.launcher.pieces(len({one.family for one in missing})), seed)
        write_chunks(self.folder, chunks, self.settings)
        return {number: [one.key for one in chunk] for number, chunk in enumerate(chunks)}

    def _leave_out(self, waiting: dict[str, Planned], spent: Mapping[str, float], watch: Watch) -> None:
        """Workers do not repeat a cell whose first run was expensive, and nobody is to wait for that."""
        if self.settings.repeat_below == float("inf"):
            return
        for key, one in list(waiting.items()):
            if one.cell.repeat > 0 and spent.get(one.first, 0.0) > self.settings.repeat_below:
                del waiting[key]
                watch.drop(key)
                self.left_out += 1
                self.progress.left_out(key)

    def _lost(self, one: Planned, refused: str) -> Record:
        """A cell that no worker finished, though it did not take them along. The next run tries again."""
        why = refused or "no worker came to its end; the logs are in the folder `jobs`"
        record = lost_record(one, why)
        record.machine["accident"] = "no worker ran it"
        self.store.put(record)
        self.progress.lost(one.key, why)
        return record

    # -- earlier runs --------------------------------------------------------------------------------------------

    def _stored(self, one: Planned) -> Record | None:
        """The record of this cell from an earlier run, under the names used now."""
        found = self.earlier.find(one.key, one.code, one.versions)
        if found is None:
            return None
        store, record = found
        if store.folder == self.folder:
            return record
        record.dataset, record.method = one.cell.dataset_name, one.cell.method
        record.formulation, record.solver = one.cell.formulation_name, one.cell.solver_name
        record.path, record.position = one.cell.path, one.cell.position
        self._keep_known(store, record.problem)  # first: a record here is never without its reference
        if self.settings.keep == "solution" and (point := read_solution(store.folder, one.key)) is not None:
            write_solution(self.folder, one.key, point)
        self.store.put(record)
        return record

    def _keep_known(self, store: Store, problem: str) -> None:
        """A record found in an earlier run brings along what that run knew of its problem."""
        known = read_bounds(store.folder, problem)
        if known is not None and read_bounds(self.folder, problem) is None:
            write_bounds(self.folder, problem, known)
