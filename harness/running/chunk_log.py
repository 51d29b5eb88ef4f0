"""What the workers of a chunk did, one line each, so that others can see what runs where and what killed its worker.

    {"worker": {...}}     a worker begins: node, process, cluster job
    {"start": KEY, "what": TEXT}   it starts a cell
    {"stop": KEY}         it was told to end and left the cell; that is no fault of the cell
    {"refused": TEXT}     it cannot run these cells
    {"note": TEXT}        something for the user
    {"end": true}         it has nothing left to do

Lines are appended without syncing: they cost microseconds. A cell that was started, not stopped, and has no record
either runs or took its worker along.
"""

import contextlib
import json
import os
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from marginbench.harness.records.run_folder import read_plain
from marginbench.harness.running.chunks import chunk_file
from marginbench.harness.running.planning import Planned
from marginbench.harness.running.runner import node

KINDS = ("worker", "start", "stop", "refused", "note", "end")


class ChunkLog:
    """The writing end."""

    def __init__(self, run: Path, number: int) -> None:
        path = log_file(run, number)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        self.say("worker", {"node": node(), "pid": os.getpid(), "job": os.environ.get("SLURM_JOB_ID", "")})

    def start(self, one: Planned) -> None:
        cell = one.cell
        about = f"{cell.dataset_name}, C = {cell.problem.get('C')}, bias {cell.problem.get('bias')}"
        self.say("start", one.key, what=f"{about}: {cell.formulation_name} / {cell.solver_name}, repeat {cell.repeat}")

    def say(self, kind: str, value: Any, **more: str) -> None:
        line = json.dumps({kind: value, **more, "time": round(time.time(), 3)})
        with contextlib.suppress(OSError):  # a full disk is said by the store
            os.write(self._file, f"{line}\n".encode())

    def close(self) -> None:
        os.close(self._file)


class Started(NamedTuple):
    key: str
    what: str
    time: float


@dataclass
class Told:
    """What a log tells."""

    starts: Counter[str] = field(default_factory=Counter)
    """Of each cell, those that were not stopped from outside."""
    worker: dict[str, Any] = field(default_factory=dict)
    """The last one."""
    running: Started | None = None
    """The last start, if nothing was said since."""
    refused: str = ""
    notes: list[str] = field(default_factory=list)


def log_file(run: Path, number: int) -> Path:
    return chunk_file(run, number).with_suffix(".log")


def read_log(run: Path, number: int) -> Told:
    """Nothing where there is no log. Lines that cannot be read are passed over: a worker may have died in one."""
    told = Told()
    try:
        lines = read_plain(log_file(run, number)).decode(errors="replace").splitlines()
    except OSError:
        return told
    for line in lines:
        with contextlib.suppress(ValueError, TypeError, AttributeError, LookupError, RecursionError):
            entry = json.loads(line)
            for kind in KINDS:
                if kind in entry:
                    _take(told, kind, entry)
    return told


def _take(told: Told, kind: str, entry: dict[str, Any]) -> None:
    what = entry[kind]
    told.running = None
    if kind == "start":
        told.starts[str(what)] += 1
        told.running = Started(str(what), str(entry.get("what", "")), float(entry["time"]))
    elif kind == "stop":
        told.starts[str(what)] -= 1
    elif kind == "worker" and isinstance(what, dict):
        told.worker, told.refused = what, ""
    elif kind == "refused":
        told.refused = str(what)
    elif kind == "note":
        told.notes.append(str(what))
