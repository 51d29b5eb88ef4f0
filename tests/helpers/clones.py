"""Copies of what is installed, as clones in other folders."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def clone(folder: Path) -> Path:
    """A copy of the tree in a folder. On the path before the installed one, it is `marginbench`."""
    for name in ("__init__.py", "__main__.py", "conf", "datasets", "harness", "solvers", "results/reference"):
        source, target = ROOT / name, folder / "marginbench" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    return folder


def typed(home: Path, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """`marginbench WORDS` of the clone in `home`, in a process and with a cache of its own.

    Kernels run uncompiled: in an empty cache, compiling would take a minute.
    """
    own = {"PYTHONPATH": str(home), "MARGINBENCH_CACHE": str(home / "cache"), "NUMBA_DISABLE_JIT": "1"}
    environment = os.environ | own
    command = [sys.executable, "-m", "marginbench", *words]
    return subprocess.run(command, cwd=cwd or home, env=environment, capture_output=True, text=True, check=False)
