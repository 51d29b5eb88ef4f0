"""marginbench work RUN K: a worker. Launchers start it; by hand it finishes a chunk whose worker was lost."""

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from marginbench.harness.commands.options import split_flags
from marginbench.harness.errors import InputError, StoreError

WITH_PARENT = "--with-parent"
"""As launchers say it; they are not imported before the words are checked."""


def main(arguments: Sequence[str]) -> int:
    flags, words = split_flags([word for word in arguments if word != "-"], {WITH_PARENT: "PID"})
    if "-" in arguments:
        words.append("-")
    if len(words) != 2 or not (words[1] == "-" or words[1].isdigit()):
        raise InputError("work: needs a results folder and the number of a chunk, as in `marginbench work RUN 0`")
    run = Path(words[0]).resolve()
    if not (run / "jobs" / "settings.json").is_file():
        raise InputError(f"{words[0]}: no chunks there (they are made by `marginbench run launcher=...`)")
    if WITH_PARENT in flags:
        _end_with(int(flags[WITH_PARENT]))
    return _work(run, words[1])


def _work(run: Path, which: str) -> int:
    from marginbench.harness.running.chunks import chunk_file, read_settings
    from marginbench.harness.running.isolation import Isolation
    from marginbench.harness.running.launchers.launcher import FAILED
    from marginbench.harness.running.worker import Refused, Worker, prepare

    settings = read_settings(run)
    prepare(settings)
    if which != "-" and not chunk_file(run, int(which)).is_file():
        raise InputError(f"work {run} {which}: there is no such chunk")
    code = 0
    with Isolation() as isolation:
        worker = Worker(run, settings, isolation)
        for number in _lines() if which == "-" else [int(which)]:
            try:
                count = sum(1 for _ in worker.chunk(number))
            except Refused as error:
                print(f"marginbench: {error}", file=sys.stderr)
                count, code = 0, 2
            except (StoreError, OSError) as error:
                print(f"{FAILED} {error}", flush=True)
                raise
            print(f"chunk {number}: {count} cells", flush=True)
    return code


def _lines() -> Iterator[int]:
    """Chunks as the driver gives them, one a line; iterating over a file would read ahead."""
    while line := sys.stdin.readline():
        yield int(line)


def _end_with(parent: int) -> None:
    """Nobody waits for this worker any more when the process that started it is gone."""
    from marginbench.harness.running.confinement import PR_SET_PDEATHSIG, process_control

    process_control(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        raise SystemExit(1)
