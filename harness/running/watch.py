"""The driver's view of workers elsewhere: records that appear in the store, starts that appear in the logs."""

import contextlib
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from marginbench.harness.records.record import Record
from marginbench.harness.records.store import Store
from marginbench.harness.running.chunk_log import Told, log_file, read_log
from marginbench.harness.running.progress import Progress

SHARE = 20.0
"""A look at the folder costs time: at most one part in so many of the driver's."""


class Watch:
    """Of the chunks of a run, what is new since the last look."""

    def __init__(self, folder: Path, chunks: Mapping[int, Sequence[str]], progress: Progress) -> None:
        self.store = Store(folder)
        self.folder = folder
        self.chunks = {number: set(keys) for number, keys in chunks.items()}
        """Keys of each chunk that have no record."""
        self.progress = progress
        self._sizes: dict[int, int] = {}
        self._told: dict[int, Told] = {}
        self._next = 0.0

    def news(self, now: bool = False) -> Iterator[Record]:
        """Records that were stored since. Not more often than it is worth, unless `now`."""
        begin = time.monotonic()
        if begin < self._next and not now:
            return
        self._look_at_logs()
        there = self._names()
        for keys in self.chunks.values():
            for key in sorted(keys & there):
                if (record := self.store.get(key)) is not None:
                    keys.discard(key)
                    yield record
        self._next = begin + SHARE * (time.monotonic() - begin)

    def drop(self, key: str) -> None:
        """Nobody is to run it."""
        for keys in self.chunks.values():
            keys.discard(key)

    def left(self) -> list[int]:
        """Chunks with cells that have no record."""
        return [number for number, keys in self.chunks.items() if keys]

    def told(self, number: int) -> Told:
        return self._told.get(number) or Told()

    def starts(self) -> int:
        """Of all cells that have no record: grows with every worker that a cell took along."""
        return sum(self.told(number).starts[key] for number, keys in self.chunks.items() for key in keys)

    def _names(self) -> set[str]:
        with contextlib.suppress(FileNotFoundError):
            return {entry.name.removesuffix(".json") for entry in os.scandir(self.store.cells)}
        return set()

    def _look_at_logs(self) -> None:
        for number in self.left():
            with contextlib.suppress(OSError):
                size = log_file(self.folder, number).stat().st_size
                if size != self._sizes.get(number):
                    self._sizes[number] = size
                    told = self._told[number] = read_log(self.folder, number)
                    if told.running is not None:
                        self.progress.started(told.running.key, str(told.worker.get("node", "")))
