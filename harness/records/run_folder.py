"""A results folder: where a run writes, and what it says about itself.

    OUT/EXPERIMENT/TIME    or, with name=..., OUT/EXPERIMENT/NAME
    OUT/latest             a link to the run that was started last

`run.json` is written when a run starts, `state.json` when it ends.
"""

import contextlib
import errno
import itertools
import json
import os
import platform
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import requires, version
from pathlib import Path
from typing import Any

from marginbench.harness.errors import InputError
from marginbench.harness.files import write_atomically
from marginbench.harness.records.machine import processor

LATEST = "latest"
ENVIRONMENT = "environment.json"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
LARGEST_FILE = 64 * 2**20
"""Bytes of a run.json beyond which it is not read."""


def package_versions() -> dict[str, str]:
    """marginbench, and what it cannot run without."""
    needed = [line for line in requires("marginbench") or [] if "extra ==" not in line]
    names = ["marginbench", *(re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in needed)]
    return {name: version(name) for name in names}


# -- making one ----------------------------------------------------------------------------------------------------


def check_name(name: Any) -> None:
    """Raises InputError for a name that no folder of a run may have."""
    if name is not None and (not NAME.fullmatch(str(name)) or str(name) == LATEST):
        raise InputError(
            f"name={name}: needs 1 to 80 letters, digits, dots, dashes and underscores, a letter or digit first; "
            f"{LATEST} is the name of the link to the last run"
        )


def earlier_runs(out: Path, experiment: str) -> list[Path]:
    """Folders of earlier runs of the same experiment, the newest first, also of one that has no record yet.

    Links are not followed.
    """
    marks = [path for mark in ("cells", "run.json") for path in (out / experiment).glob(f"*/{mark}")]
    found = {path.parent for path in marks if not path.parent.is_symlink()}
    return sorted(found, key=lambda folder: (_written(folder / "run.json"), folder.name), reverse=True)


def _written(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return 0.0


def new_folder(out: Path, experiment: str, name: Any = None, link: bool = True) -> Path:
    """OUT/EXPERIMENT/TIME, or OUT/EXPERIMENT/NAME, made now and, with `link`, linked as OUT/latest.

    No folder is used twice: where there is one of that name, -2, -3, ... is added.
    """
    check_name(name)
    first = str(name) if name is not None else datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
    if (out / experiment).is_symlink():
        raise InputError(f"out={out}: {out / experiment} is a link; results are not written through links")
    for k in itertools.count(1):
        folder = out / experiment / (first if k == 1 else f"{first}-{k}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            if folder.exists() or folder.is_symlink():
                continue
            raise InputError(f"out={out}: {folder} cannot be made: a part of the path is no folder") from None
        except OSError as error:
            raise InputError(f"out={out}: {folder} cannot be made: {error.strerror}") from None
        if link:
            _link_latest(out, folder)
        return folder
    raise AssertionError("itertools.count has no end")


def _link_latest(out: Path, folder: Path) -> None:
    """Replaced in one step. What a user keeps under that name stays, and a file system without links has none."""
    link, temporary = out / LATEST, out / f".{LATEST}.{os.getpid()}.{os.urandom(4).hex()}.tmp"
    with contextlib.suppress(OSError):
        if link.is_symlink() or not link.exists():
            temporary.symlink_to(folder.relative_to(out), target_is_directory=True)
            try:
                os.replace(temporary, link)
            finally:
                temporary.unlink(missing_ok=True)


def write_provenance(
    folder: Path,
    command: str,
    configs: Sequence[Mapping[str, Any]],
    digests: Mapping[str, str],
    data_notes: Mapping[str, Sequence[str]],
    sources: Sequence[Path] = (),
) -> None:
    """run.json: the command, the resolved configurations, versions, machine, data digests and how data were read.

    sources: of a folder that `report` makes, the folders that its records come from.
    """
    about = {
        "command": command,
        "started": datetime.now().astimezone().isoformat(timespec="seconds"),
        "versions": package_versions(),
        "machine": {
            "system": f"{platform.system()} {platform.machine()}",
            "python": platform.python_version(),
            "processor": processor(),
            "cores": os.cpu_count(),
        },
        "data": dict(digests),
        "data_notes": {name: list(notes) for name, notes in data_notes.items()},
        "cells": list(configs),
    }
    about |= {"sources": [str(path) for path in sources]} if sources else {}
    write_atomically(folder / "run.json", json.dumps(about, indent=1, default=str) + "\n")


def about_run(folder: Path) -> dict[str, Any]:
    """run.json, with the commit that the environment of the run names."""
    commits = read_json(folder / ENVIRONMENT).get("commits")
    named = commits.get("marginbench", "") if isinstance(commits, dict) else ""
    return {"commit": named, **read_json(folder / "run.json")}


def write_state(folder: Path, interrupted: bool) -> None:
    """state.json: how the run ended, and when."""
    ended = datetime.now().astimezone().isoformat(timespec="seconds")
    about = {"state": "interrupted" if interrupted else "complete", "ended": ended}
    write_atomically(folder / "state.json", json.dumps(about) + "\n")


# -- reading them --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RunFolder:
    """What a folder says of its run. Nothing in it is believed to be of the right kind, and no link is followed."""

    path: Path
    started: str
    """As ISO 8601; empty where it is not known."""
    cells: int
    planned: int
    state: str
    """complete; interrupted; unfinished: ended from outside, or still running."""
    bytes: int
    sources: int
    """How many folders a report was made of; 0 for a run."""


def run_folders(out: Path, depth: int = 4) -> Iterator[RunFolder]:
    """Every run below a folder, in the order of their names."""
    with contextlib.suppress(OSError):
        entries = sorted((entry for entry in os.scandir(out)), key=lambda entry: entry.name)
        names = {entry.name for entry in entries if not entry.is_symlink()}
        if names & {"cells", "run.json"}:
            yield read_folder(out)
        elif depth:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    yield from run_folders(Path(entry.path), depth - 1)


def read_folder(path: Path) -> RunFolder:
    about, ended = read_json(path / "run.json"), read_json(path / "state.json")
    planned = len(about["cells"]) if isinstance(about.get("cells"), list) else 0
    cells, sources = path / "cells", about.get("sources")
    done = 0 if cells.is_symlink() or not cells.is_dir() else sum(name.endswith(".json") for name in os.listdir(cells))
    state = ended.get("state")
    if state not in ("complete", "interrupted"):  # runs of version 0.1 do not say how they ended
        state = "complete" if 0 < planned <= done else "unfinished"
    started = about.get("started")
    return RunFolder(
        path,
        started if isinstance(started, str) else "",
        done,
        planned,
        state,
        _size(path),
        len(sources) if isinstance(sources, list) else 0,
    )


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object; empty where the file is missing, damaged, a link or something other than a file."""
    try:
        found = json.loads(read_plain(path))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def read_plain(path: Path) -> bytes:
    """Of an ordinary file; OSError for a link, a huge file, or a pipe, at which a reader would wait for ever."""
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not an ordinary file", str(path))
        if status.st_size > LARGEST_FILE:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
        return file.read(LARGEST_FILE)


def _size(folder: Path) -> int:
    total = 0
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            if entry.is_dir(follow_symlinks=False):
                total += _size(Path(entry.path))
            else:
                total += entry.stat(follow_symlinks=False).st_size
    return total
