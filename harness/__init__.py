"""marginbench's harness. Compiled kernels are kept in the user's cache, apart for each state of their sources.

numba keys a cached kernel by the file it is written in. It does not see when a module whose kernels it calls has
changed: an old kernel would then run, or fail to load.
"""

import hashlib
import os
import sys
from pathlib import Path

from marginbench.harness.places import cache_folder

ROOT = Path(__file__).resolve().parents[1]


def kernel_sources() -> list[Path]:
    """Modules with kernels that other modules call: row operations, and those of a solver with a folder of its own."""
    return sorted([*(ROOT / "harness" / "rowops").glob("*.py"), *(ROOT / "solvers").glob("*/*.py")])


def _use_cache_of_these_sources() -> None:
    sha = hashlib.sha256(b"".join(path.read_bytes() for path in kernel_sources()))
    place = os.environ.setdefault("NUMBA_CACHE_DIR", str(cache_folder() / f"kernels-{sha.hexdigest()[:12]}"))
    if "numba" in sys.modules:  # imported before us, it has read its settings already
        sys.modules["numba"].config.CACHE_DIR = place


_use_cache_of_these_sources()
