"""A results folder: where a run writes, and what it says about itself."""

import json
import os
import platform
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib.metadata import requires, version
from pathlib import Path
from typing import Any

from marginbench.harness.files import write_atomically
from marginbench.harness.model.problem import InputError
from marginbench.harness.records.machine import processor


def package_versions() -> dict[str, str]:
    """marginbench, and what it cannot run without."""
    needed = [line for line in requires("marginbench") or [] if "extra ==" not in line]
    names = ["marginbench", *(re.split(r"[^\w.-]", line, maxsplit=1)[0] for line in needed)]
    return {name: version(name) for name in names}


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
        "versions": package_versions(),
        "machine": {
            "system": f"{platform.system()} {platform.machine()}",
            "python": platform.python_version(),
            "processor": processor(),
            "cores": os.cpu_count(),
        },
        "data": dict(digests),
        "cells": list(configs),
    }
    write_atomically(folder / "run.json", json.dumps(about, indent=1, default=str) + "\n")
