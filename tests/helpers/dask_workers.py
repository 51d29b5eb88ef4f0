"""A Dask cluster of two workers, in processes of their own."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path


def process(stack: ExitStack, *words: str) -> subprocess.Popen:
    started = subprocess.Popen([sys.executable, "-m", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    stack.callback(started.wait)
    stack.callback(started.kill)
    return started


@contextmanager
def dask_cluster(folder: Path) -> Iterator[tuple[str, list[subprocess.Popen]]]:
    """(address of the scheduler, workers)"""
    file = folder / "scheduler.json"
    with ExitStack() as stack:
        options = ("--port", "0", "--no-dashboard", "--scheduler-file", str(file))
        process(stack, "distributed.cli.dask_scheduler", *options)
        until(file.exists)
        options = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--scheduler-file", str(file))
        place = ("--local-directory", str(folder))
        workers = [process(stack, "distributed.cli.dask_worker", *options, *place) for _ in range(2)]
        yield json.loads(file.read_text())["address"], workers


def until(happened: Callable[[], bool], seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.05)
