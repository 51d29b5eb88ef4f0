"""All that a run was made with: every installed distribution, Python, processor, BLAS, and commits of the sources."""

import importlib.metadata
import json
import platform
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

from marginbench.harness.files import write_atomically
from marginbench.harness.records.machine import this_machine
from marginbench.harness.records.run_folder import ENVIRONMENT
from marginbench.harness.running.fingerprint import INSTALLED, ROOT, own_files


def environment(targets: Iterable[str] = ()) -> dict[str, Any]:
    """`targets`: of the solvers, whose folders may be repositories of their own."""
    folders = {path.parent for target in targets for path in own_files(target).values()}
    return {
        "python": f"{platform.python_implementation()} {sys.version.split()[0]}",
        "machine": this_machine(),
        "libraries": sorted(
            f"{info.get('internal_api')} {info.get('version')} ({info.get('num_threads')} threads)"
            for info in threadpool_info()
        ),
        "distributions": dict(sorted(_distributions())),
        "commits": {"marginbench": commit(ROOT), **{f"./{folder.name}": commit(folder) for folder in sorted(folders)}},
    }


def _distributions() -> Iterable[tuple[str, str]]:
    for found in importlib.metadata.distributions():
        name = found.metadata["Name"]
        if name:
            yield str(name), str(found.version)


def commit(folder: Path) -> str:
    """The commit that a folder is at, with a word where files differ from it; empty where it is in no repository."""
    if INSTALLED & set(folder.parts):  # an environment may lie in a repository that knows nothing of it
        return ""
    git = ["git", "-C", str(folder)]
    try:
        head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, timeout=10, check=True)
        state = subprocess.run(
            [*git, "status", "--porcelain", "--untracked-files=no", "."],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return head.stdout.strip() + (" with changes" if state.stdout.strip() else "")


def write_environment(folder: Path, targets: Iterable[str]) -> Path:
    return write_atomically(folder / ENVIRONMENT, json.dumps(environment(targets), indent=1) + "\n")
