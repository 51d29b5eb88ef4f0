"""launcher=slurm: arrays of Slurm jobs, one task a chunk. Of Slurm it needs sbatch, squeue, scontrol and scancel.

RUN/jobs/slurm.json         the arrays, and the chunk of each task
RUN/jobs/slurm.lock         held while one driver submits
RUN/jobs/slurm/ID_TASK.log  what a task printed
"""

import json
import re
import secrets
import shlex
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from marginbench.harness.errors import InputError
from marginbench.harness.files import write_atomically
from marginbench.harness.records.run_folder import read_json
from marginbench.harness.running.chunks import FOLDER, read_chunk, read_settings
from marginbench.harness.running.launchers.launcher import Launcher, held_mb, switch, whole, worker_command
from marginbench.harness.running.planning import Planned
from marginbench.harness.running.runner import locked

MOMENT = 0.5
"""Seconds between two looks at the store."""

LOOK = 2.0
"""Seconds between two questions to the controller, which others ask, too."""

PATIENCE = 5.0
"""Seconds for tasks with nothing left to do."""

BASE_MB, BASE_SECONDS, MARGIN = 1500.0, 300.0, 1.2
"""What a task needs beside its cells, and a factor on the time that their limits allow."""

CHUNKS = 100
"""At most so many tasks where nothing else is asked for."""

COMMANDS = ("sbatch", "squeue", "scontrol", "scancel")


@dataclass
class Slurm(Launcher):
    partition: str | None = None
    account: str | None = None
    time: Any = None
    chunks: int | None = None
    at_once: int | None = None
    wait: bool = True
    exclusive: bool = False
    setup: str | None = None
    options: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        self.name = "slurm"
        switch("wait", self.wait)
        switch("exclusive", self.exclusive)
        for option in ("partition", "account", "time", "setup"):
            if not isinstance(value := getattr(self, option), str | int | None) or isinstance(value, bool):
                raise InputError(f"launcher.{option}={value}: needs a word or a number")
        for option in ("chunks", "at_once"):
            if getattr(self, option) is not None:
                whole(option, getattr(self, option))
        if not isinstance(self.options, Mapping | None):
            raise InputError(f"launcher.options={self.options}: needs options of sbatch, as in {{qos: long}}")
        self._run = Path()
        self._memory, self._threads = 0.0, 1
        self._asked = 0.0
        self._alive = True

    def check(self, planned: Sequence[Planned]) -> list[str]:
        missing = [name for name in COMMANDS if shutil.which(name) is None]
        if missing:
            raise InputError(
                f"launcher=slurm: {missing[0]} is not on the PATH; this has to be typed on a Slurm machine"
            )
        if " is UP" not in subprocess.run(["scontrol", "ping"], capture_output=True, text=True, check=False).stdout:
            raise InputError("launcher=slurm: no controller answers (scontrol ping); `sinfo` has to work here first")
        if planned:
            self._threads = max(one.cell.threads for one in planned)
            limit = max(float(one.cell.limits["memory_mb"]) for one in planned)
            self._memory = limit + 2.0 * max(map(held_mb, planned)) + BASE_MB
        return []

    def pieces(self, problems: int) -> int:
        return self.chunks or min(problems, CHUNKS)

    # -- submitting ----------------------------------------------------------------------------------------------

    def start(self, run: Path, chunks: Sequence[int]) -> None:
        self._run = run
        largest = int(_found(r"MaxArraySize\s*=\s*(\d+)", _asked(["scontrol", "show", "config"]), "1001")) - 1
        with locked(run / FOLDER / "slurm.lock"):  # of two drivers, one submits, and the other finds it in the queue
            taken = {chunk for chunk, _ in queued(run)}
            left = [chunk for chunk in chunks if chunk not in taken]
            for first in range(0, len(left), largest):
                self._submit(left[first : first + largest])
        self._asked, self._alive = time.monotonic(), True

    def _submit(self, chunks: Sequence[int]) -> None:
        """An array is noted before it is submitted: by its name it is found even if this process dies in between."""
        (self._run / FOLDER / "slurm").mkdir(parents=True, exist_ok=True)
        name = f"marginbench-{secrets.token_hex(4)}"
        write_arrays(self._run, [*arrays_of(self._run), {"name": name, "chunks": list(chunks)}])
        _asked(["sbatch", "--parsable", *self._arguments(name, chunks)], self._script(chunks))

    def _arguments(self, name: str, chunks: Sequence[int]) -> list[str]:
        throttle = f"%{self.at_once}" if self.at_once else ""
        asked: dict[str, Any] = {
            "job-name": name,
            "array": f"0-{len(chunks) - 1}{throttle}",
            "requeue": True,
            "open-mode": "append",
            "output": f"{self._run.resolve()}/{FOLDER}/slurm/%A_%a.log",
            "nodes": 1,
            "ntasks": 1,
            "cpus-per-task": self._threads,
            "mem": f"{self._memory:.0f}M",
            "time": self.time if self.time is not None else minutes(self._run, chunks),
            "partition": self.partition,
            "account": self.account,
            "exclusive": self.exclusive,
        }
        asked |= {str(name).lstrip("-").replace("_", "-"): value for name, value in (self.options or {}).items()}
        return [
            f"--{name}" if value is True else f"--{name}={value}"
            for name, value in asked.items()
            if value is not None and value is not False
        ]

    def _script(self, chunks: Sequence[int]) -> str:
        command = shlex.join(worker_command(self._run))
        lines = ["#!/bin/sh", *([str(self.setup)] if self.setup else [])]
        lines += [f"set -- {' '.join(map(str, chunks))}", 'shift "$SLURM_ARRAY_TASK_ID"', f'exec {command} "$1"']
        return "\n".join(lines) + "\n"

    # -- watching ------------------------------------------------------------------------------------------------

    def working(self) -> bool:
        time.sleep(MOMENT)
        if time.monotonic() - self._asked > LOOK:
            self._alive, self._asked = bool(queued(self._run)), time.monotonic()
        return self._alive

    def end(self) -> None:
        """Tasks that are about to end by themselves may do so."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline and any(not state.startswith("PENDING") for _, state in queued(self._run)):
            time.sleep(MOMENT)
        if names := names_of(self._run):
            subprocess.run(["scancel", f"--name={names}"], capture_output=True, check=False)

    def leave(self) -> str:
        """Its jobs go on: a lost connection must not end them."""
        return (
            f"the Slurm jobs go on: `marginbench status {self._run}` shows them, the same command waits for them "
            f"again, `marginbench collect {self._run}` writes the report, `scancel --name={names_of(self._run)}` "
            "ends them"
        )

    def attached(self, run: Path) -> bool:
        self._run = run
        return bool(queued(run))


def minutes(run: Path, chunks: Sequence[int]) -> int:
    """Of the longest chunk: what the limits of its cells and of their references allow, with a margin."""
    reference = read_settings(run).reference or {}
    extra = 3.0 * float((reference.get("budget") or {}).get("seconds", 0.0))
    longest = 0.0
    for chunk in chunks:
        cells = [entry.cell for entry in read_chunk(run, chunk)]
        problems = {json.dumps([cell.dataset, cell.problem], sort_keys=True, default=str) for cell in cells}
        longest = max(longest, sum(float(cell.limits["seconds"]) for cell in cells) + extra * len(problems))
    return int((MARGIN * longest + BASE_SECONDS) // 60) + 1


def arrays_of(run: Path) -> list[dict[str, Any]]:
    """Those that are what `_submit` writes: their names become words of commands."""
    found = read_json(run / FOLDER / "slurm.json").get("arrays")
    return [array for array in found if _is_array(array)] if isinstance(found, list) else []


def _is_array(found: Any) -> bool:
    if not isinstance(found, dict) or not isinstance(chunks := found.get("chunks"), list):
        return False
    named = re.fullmatch(r"marginbench-[0-9a-f]{8}", str(found.get("name")))
    return named is not None and all(isinstance(chunk, int) for chunk in chunks)


def write_arrays(run: Path, arrays: Sequence[Mapping[str, Any]]) -> None:
    write_atomically(run / FOLDER / "slurm.json", json.dumps({"arrays": arrays}) + "\n")


def names_of(run: Path) -> str:
    return ",".join(str(array["name"]) for array in arrays_of(run))


def queued(run: Path) -> list[tuple[int, str]]:
    """(chunk, state) of each task that runs or waits; with the reason where it waits.

    Where the controller does not answer, all tasks count as waiting: it may be back later. So they do where there is no
    Slurm, as for the copy of a run.
    """
    arrays = {array["name"]: array["chunks"] for array in arrays_of(run)}
    if not arrays:
        return []
    command = ["squeue", "--noheader", "--array", f"--name={','.join(arrays)}", "--format=%j %K %T %r"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, check=False)
        silent = "the controller does not answer" if said.returncode else ""
    except FileNotFoundError:
        silent = "squeue is not on the PATH: this is no Slurm machine"
    if silent:
        return [(chunk, f"PENDING ({silent})") for chunks in arrays.values() for chunk in chunks]
    found = []
    for line in said.stdout.splitlines():
        name, task, state, *reason = line.split(maxsplit=3)
        if name in arrays and task.isdigit() and int(task) < len(arrays[name]):
            waits = f"{state} ({' '.join(reason)})" if state == "PENDING" else state
            found.append((arrays[name][int(task)], waits))
    return found


def _asked(command: Sequence[str], script: str | None = None) -> str:
    """What a command of Slurm says; InputError with its own words where it refuses."""
    done = subprocess.run(command, input=script, capture_output=True, text=True, check=False)
    if done.returncode:
        said = " ".join((done.stderr or done.stdout).split())
        raise InputError(f"launcher=slurm: {command[0]}: {said or f'exit code {done.returncode}'}")
    return done.stdout


def _found(pattern: str, text: str, otherwise: str) -> str:
    found = re.search(pattern, text)
    return found[1] if found else otherwise
