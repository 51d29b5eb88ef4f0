"""launcher=local: on this machine. One job runs in the driver; more are processes that take chunk after chunk."""

import contextlib
import os
import selectors
import subprocess
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from marginbench.harness.errors import StoreError
from marginbench.harness.running import cores
from marginbench.harness.running.chunks import FOLDER
from marginbench.harness.running.launchers.launcher import (
    FAILED,
    WITH_PARENT,
    Launcher,
    check_memory,
    switch,
    whole,
    worker_command,
)
from marginbench.harness.running.planning import Planned

MOMENT = 0.2
"""Seconds between two looks at the workers."""

PATIENCE = 10.0
"""Seconds for a worker that was told to end."""


@dataclass
class Local(Launcher):
    jobs: int = 1
    exclusive: bool = False

    def __post_init__(self) -> None:
        self.name = "local"
        self.in_process = whole("jobs", self.jobs) == 1
        self.again = not switch("exclusive", self.exclusive)
        self._workers: set[subprocess.Popen[str]] = set()
        self._left: deque[int] = deque()
        self._run = Path()

    def check(self, planned: Sequence[Planned]) -> list[str]:
        if self.in_process or not planned:
            return []
        check_memory(self.jobs, planned)
        problems = len({one.family for one in planned})
        notes = []
        if problems < self.jobs:
            notes.append(
                f"launcher.jobs={self.jobs}: {problems} at a time, since all cells of a problem run on one core, "
                "one after another"
            )
        needed = min(self.jobs, problems) * max(one.cell.threads for one in planned)
        if (free := cores.free()) < needed and cores.usable():
            notes.append(f"launcher.jobs={self.jobs}: {free} of {needed} cores are free here; the others are shared")
        return notes

    def pieces(self, problems: int) -> int:
        """Each by itself: a worker that is done takes the next."""
        return problems

    def start(self, run: Path, chunks: Sequence[int]) -> None:
        self._run, self._left = run, deque(chunks)
        for _ in range(min(self.jobs, len(chunks))):
            self._add_worker()

    def _add_worker(self) -> None:
        with open(self._run / FOLDER / "workers.log", "ab") as errors:
            worker = subprocess.Popen(
                worker_command(self._run, "-", WITH_PARENT, str(os.getpid())),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,  # Ctrl-C on the terminal is for the driver to handle
            )
        self._workers.add(worker)
        self._give(worker)

    def _give(self, worker: subprocess.Popen[str]) -> None:
        """The next chunk, or the end of all chunks."""
        assert worker.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it died; its chunk is found unfinished
            if self._left:
                worker.stdin.write(f"{self._left.popleft()}\n")
                worker.stdin.flush()
            else:
                worker.stdin.close()

    def working(self) -> bool:
        with selectors.DefaultSelector() as selector:
            for worker in self._workers:
                assert worker.stdout is not None
                selector.register(worker.stdout, selectors.EVENT_READ, worker)
            for key, _ in selector.select(MOMENT):
                self._hear(key.data)
        return bool(self._workers)

    def _hear(self, worker: subprocess.Popen[str]) -> None:
        """A line: the chunk is done. The end: it left, or died, and then another takes its place."""
        assert worker.stdout is not None
        if line := worker.stdout.readline():
            if line.startswith(FAILED):
                raise StoreError(line.removeprefix(FAILED).strip())
            self._give(worker)
            return
        self._close(worker)
        if self._left:
            self._add_worker()

    def _close(self, worker: subprocess.Popen[str]) -> None:
        self._workers.discard(worker)
        for stream in (worker.stdin, worker.stdout):
            with contextlib.suppress(BrokenPipeError):
                if stream is not None:
                    stream.close()
        try:
            worker.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()

    def end(self) -> None:
        self._left.clear()
        for worker in self._workers:
            worker.terminate()
        for worker in list(self._workers):
            self._close(worker)
