"""launcher=dask: chunks as tasks of a Dask cluster, given by its scheduler's address, or of one on this machine.

Dask reaches PBS, LSF, SGE (dask-jobqueue) and Kubernetes (dask-kubernetes). Each task starts a worker process of ours
and waits for it, so that nothing of Dask is in the processes that are timed.
"""

import contextlib
import importlib.util
import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from marginbench.harness.errors import InputError
from marginbench.harness.running.launchers.launcher import (
    WITH_PARENT,
    Launcher,
    check_memory,
    switch,
    whole,
    worker_command,
)
from marginbench.harness.running.planning import Planned

MOMENT = 0.3
"""Seconds between two looks at the store."""

CONNECT_SECONDS = 10
"""For a scheduler to answer. One that is asked for is up."""

CHUNKS = 100
"""At most so many tasks of a cluster elsewhere, where nothing else is asked for."""


@dataclass
class Dask(Launcher):
    address: str | None = None
    jobs: int = 2
    chunks: int | None = None
    exclusive: bool = False

    def __post_init__(self) -> None:
        self.name = "dask"
        whole("jobs", self.jobs)
        switch("exclusive", self.exclusive)
        if self.chunks is not None:
            whole("chunks", self.chunks)
        if self.address is not None:
            if not isinstance(self.address, str):
                raise InputError(f"launcher.address={self.address}: needs the address of a scheduler: tcp://HOST:8786")
            self.jobs = 1  # what else its machines do is not known
        self._client: Any = None
        self._cluster: Any = None
        self._tasks: list[Any] = []

    def check(self, planned: Sequence[Planned]) -> list[str]:
        if importlib.util.find_spec("distributed") is None:
            raise InputError("launcher=dask: needs the package distributed: pip install 'marginbench[dask]'")
        if self.address is None:
            check_memory(self.jobs, planned)
        else:
            self._connect()
        return []

    def pieces(self, problems: int) -> int:
        """A task starts a process, which takes seconds: not one for each of many problems."""
        return self.chunks or min(problems, CHUNKS if self.address else 4 * self.jobs)

    def start(self, run: Path, chunks: Sequence[int]) -> None:
        self._connect()
        self._tasks = [self._client.submit(_worker, str(run.resolve()), chunk, pure=False) for chunk in chunks]

    def _connect(self) -> None:
        if self._client is not None:
            return
        from distributed import Client, LocalCluster  # 2 s, for this launcher alone

        try:
            if self.address is None:
                self._cluster = LocalCluster(
                    n_workers=self.jobs,
                    threads_per_worker=1,
                    memory_limit=0,  # cells have limits of their own
                    dashboard_address=None,
                    silence_logs=50,
                )
            self._client = Client(self.address or self._cluster, timeout=CONNECT_SECONDS)
        except (OSError, ValueError) as error:
            said = " ".join(str(error).split())
            raise InputError(f"launcher.address={self.address}: no Dask scheduler answers: {said}") from None

    def working(self) -> bool:
        time.sleep(MOMENT)
        return any(task.status == "pending" for task in self._tasks)

    def end(self) -> None:
        with contextlib.suppress(Exception):  # the cluster may be gone; the store has what was done
            self._client.cancel(self._tasks)
        for one in (self._client, self._cluster):
            with contextlib.suppress(Exception):
                if one is not None:
                    one.close()
        self._client = self._cluster = None


def _worker(run: str, chunk: int) -> int:
    """On a machine of the cluster: a worker process of ours, which ends when this one does."""
    command = worker_command(Path(run), str(chunk), WITH_PARENT, str(os.getpid()))
    return subprocess.run(command, check=False).returncode
