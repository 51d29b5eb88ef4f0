"""Foreign code, tried in another process before this one runs it. A light module: the command line loads it early.

A solver's module can exit, crash or hang when it is imported, and its constructor too. A fork of this process imports
and makes it first. Only what survives that is imported here. The package's own modules are trusted.
"""

import contextlib
import faulthandler
import importlib
import json
import os
import select
import signal
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from marginbench.harness.old_names import current_name

PACKAGE = "marginbench."

TRIAL_SECONDS, TRIAL_MB = 60.0, 4096.0
"""Limits where a cell's own are not known."""


@dataclass(frozen=True)
class Mishap:
    """How the trial ended: the status and the message of the rows that need that code."""

    status: str
    message: str


_TRIED: dict[str, Mishap | None] = {}


def rehearsed(config: dict[str, Any], seconds: float, memory_mb: float) -> Mishap | None:
    """None where `_target_` can be imported and called with the other entries, or raises an ordinary exception.

    An exception is said by whoever does the same in this process afterwards. The same is tried once.
    """
    return _once(config, True, seconds, memory_mb)


def import_rehearsed(target: str, seconds: float, memory_mb: float) -> Mishap | None:
    """The same, where nothing is called."""
    return _once({"_target_": target}, False, seconds, memory_mb)


def _once(config: dict[str, Any], call: bool, seconds: float, memory_mb: float) -> Mishap | None:
    target = current_name(str(config.get("_target_", "")))
    if target.startswith(PACKAGE) or "." not in target:
        return None
    key = json.dumps([config, call], sort_keys=True, default=str)
    if key not in _TRIED:
        arguments = {name: value for name, value in config.items() if name != "_target_"} if call else None
        imported = _once({"_target_": target}, False, seconds, memory_mb) if call else None
        _TRIED[key] = imported or _tried(target, arguments, seconds, memory_mb)
    return _TRIED[key]


def _tried(target: str, arguments: dict[str, Any] | None, seconds: float, memory_mb: float) -> Mishap | None:
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python warns of forks beside threads
        pid = os.fork()
    if pid == 0:
        _trial(target, arguments, memory_mb, writing)
    os.close(writing)
    try:
        in_time = bool(select.select([reading], [], [], seconds)[0])
        answer = os.read(reading, 4096) if in_time else b""
    except BaseException:
        _ended(pid, 0.0)
        raise
    finally:
        os.close(reading)
    code = os.waitstatus_to_exitcode(_ended(pid, 1.0 if in_time else 0.0))
    what = "importing it" if arguments is None else "making it"
    if not in_time:
        return Mishap("timeout", f"{target}: {what} was ended by the limit of {seconds:g} s")
    if not answer:
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return Mishap("crashed" if code < 0 else "failed", f"{target}: {what} ended the process by {how}")
    found = json.loads(answer)
    return Mishap(found["status"], f"{target}: {what} {found['message']}") if found["status"] else None


def _ended(pid: int, seconds: float) -> int:
    """The wait status of the trial, which is killed with its process group if it has not ended by then."""
    deadline = time.monotonic() + seconds
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status
        if time.monotonic() >= deadline:
            for end in (os.killpg, os.kill):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    end(pid, signal.SIGKILL)
            return os.waitpid(pid, 0)[1]
        time.sleep(0.001)


def _trial(target: str, arguments: dict[str, Any] | None, memory_mb: float, answer: int) -> NoReturn:
    """In the fork: silent, within its memory, and never back into the code of the caller."""
    said = {"status": "", "message": ""}
    try:
        faulthandler.disable()
        os.setsid()
        silence = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silence, stream)
        _limit_memory(memory_mb)
        module, _, name = target.rpartition(".")
        made = getattr(importlib.import_module(module), name)
        if arguments is not None:
            made(**arguments)
    except MemoryError:
        said = {"status": "memory", "message": f"took more than {memory_mb:g} MB"}
    except Exception:
        said = {"status": "", "message": ""}
    except BaseException as error:
        said = {"status": "failed", "message": f"raised {type(error).__name__}: {str(error)[:200]}"}
    os.write(answer, json.dumps(said).encode())
    os._exit(0)


def _limit_memory(mb: float) -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + int(mb * 2**20), hard))
