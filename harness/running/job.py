"""A job: work that may crash, hang or eat all memory, and that therefore gets a process of its own."""

import importlib
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from marginbench.harness.records.codec import Damaged, dumps, loads


@dataclass(frozen=True)
class Limits:
    """Of one job: seconds of wall clock, evaluation included; memory beyond the loaded libraries and the data."""

    seconds: float = 60.0
    memory_mb: float = 4096.0


@dataclass(frozen=True)
class Job:
    """A function, named by `package.module.function`, and what it is called with: X and y of `data`, then `arguments`,
    then the open files that are sent with it.

    It returns an answer, made by `framed`. `warm_up`, if there is one, is called with the same arguments, once for each
    `kind`, in the process from which the jobs of this `module` are forked.
    """

    function: str
    arguments: tuple[Any, ...]
    limits: Limits
    data: Path | None = None
    """A folder that `spill` wrote. It is mapped before memory is limited."""
    features: Path | None = None
    """A folder of `features.py`, mapped before memory is limited too; the function finds it by `opened`."""
    resident: bool = True
    """Whether the pages of both are brought in before the job begins, and stay. Those of data larger than the memory
    that the solver may use do not."""
    seed: int = 0
    """Of the global random states: code that draws from them begins from a known one."""
    module: str = ""
    """The foreign code that is run, a module or a class in it. Jobs with the same share a parent process, which has
    imported it and warmed it up."""
    warm_up: str = ""
    kind: str = ""
    """All that `warm_up` depends on, as text."""
    threads: int = 1
    """That it may use at a time: they share the limit of CPU seconds out."""
    cores: tuple[int, ...] = ()
    """To stay on; none: on any."""


@dataclass(frozen=True)
class Result:
    """What became of a job: its answer, or (status, message) that say why there is none."""

    text: dict[str, Any] = field(default_factory=dict)
    raw: bytes = b""
    status: str = ""
    message: str = ""
    report: dict[str, Any] = field(default_factory=dict)
    """What the process used and how it ended; empty where its parent process was lost too."""
    logged: bool = False


def resolved(name: str) -> Callable[..., Any]:
    module, _, function = name.rpartition(".")
    return getattr(importlib.import_module(module), function)


def framed(text: dict[str, Any], raw: bytes = b"") -> bytes:
    """An answer: two sizes, a JSON text, and bytes that the text explains."""
    data = dumps(text).encode()
    return struct.pack("<2Q", len(data), len(raw)) + data + raw


def unframed(answer: bytes) -> tuple[dict[str, Any], bytes]:
    """(text, bytes) of an answer, which a process may have forged; Damaged where it is none."""
    if len(answer) < 16:
        raise Damaged("not of the agreed form")
    size, rest = struct.unpack("<2Q", answer[:16])
    text = loads(answer[16 : 16 + size])
    if len(answer) != 16 + size + rest or not isinstance(text, dict):
        raise Damaged("not of the agreed form")
    return text, answer[16 + size :]
