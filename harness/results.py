"""A results folder: where a run writes, what it says about itself, and its tables, figures and report."""

import json
import os
import platform
import shutil
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from harness.doctor import processor
from harness.known import references
from harness.problem import InputError
from harness.proof.library import Library
from harness.record import BAD, Record

PACKAGES = (
    "marginbench",
    "numpy",
    "scipy",
    "numba",
    "cvxpy",
    "osqp",
    "clarabel",
    "scikit-learn",
    "pandas",
    "hydra-core",
)


def earlier_runs(out: Path, name: str) -> list[Path]:
    """Folders of earlier runs of the same name, the newest first."""
    return sorted((path.parent for path in (out / name).glob("*/cells")), reverse=True)


def new_folder(out: Path, name: str) -> Path:
    """results/NAME/TIME, made now; a number is added when two runs start within a second."""
    stamp = datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
    for k in range(1000):
        folder = out / name / (stamp if k == 0 else f"{stamp}_{k}")
        try:
            folder.mkdir(parents=True)
            return folder
        except FileExistsError:
            continue
        except OSError as error:
            raise InputError(f"out={out}: {folder} cannot be made: {error.strerror}") from None
    raise InputError(f"out={out}: too many runs in one second")


def write_provenance(
    folder: Path, command: str, configs: Sequence[Mapping[str, Any]], digests: Mapping[str, str]
) -> None:
    """run.json: the command, the resolved configurations, versions, machine and data digests."""
    about = {
        "command": command,
        "started": datetime.now().astimezone().isoformat(timespec="seconds"),
        "versions": {name: version(name) for name in PACKAGES},
        "machine": {
            "system": f"{platform.system()} {platform.machine()}",
            "python": platform.python_version(),
            "processor": processor(),
            "cores": os.cpu_count(),
        },
        "data": dict(digests),
        "cells": list(configs),
    }
    (folder / "run.json").write_text(json.dumps(about, indent=1, default=str) + "\n")


def finish(records: Sequence[Record], folder: Path, command: str, notes: str = "", sources: Sequence[Path] = ()) -> int:
    """Write tables, figures and report; print the table and, last, where the report is. The exit code.

    sources: the results folders that the records come from, when it is not `folder` alone.
    """
    from harness.reporting import report, tables  # they load pandas and matplotlib, which the cells do not wait for

    keys = {record.problem for record in records}
    known = references(sources or [folder], keys) | Library().bounds(keys)
    page = report.write(list(records), folder, title=folder.parent.name, command=command, references=known)
    frame = tables.table(records, known)
    print(tables.terminal(frame, shutil.get_terminal_size((120, 40)).columns))
    counts = Counter(record.status for record in records)
    print(f"{len(records)} cells: " + ", ".join(f"{n} {status}" for status, n in counts.most_common()))
    if notes:
        print(notes)
    sys.stdout.flush()
    print(f"report: {page}")
    return 1 if any(record.status in BAD for record in records) else 0
