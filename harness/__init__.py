"""marginbench's harness. Compiled kernels are kept in the user's cache, apart for each state of their sources.

numba keys a cached kernel by the file it is written in, and does not see when `kernels/`, which it is compiled with,
has changed: an old kernel would then be run, or fail to load.
"""

import hashlib
import os
import sys
from pathlib import Path


def _use_cache_of_these_sources() -> None:
    sha = hashlib.sha256()
    for path in sorted((Path(__file__).parent / "kernels").glob("*.py")):
        sha.update(path.read_bytes())
    user = Path(os.environ.get("MARGINBENCH_CACHE") or Path.home() / ".cache" / "marginbench")
    place = os.environ.setdefault("NUMBA_CACHE_DIR", str(user / f"kernels-{sha.hexdigest()[:12]}"))
    if "numba" in sys.modules:  # imported before us, it has read its settings already
        sys.modules["numba"].config.CACHE_DIR = place


_use_cache_of_these_sources()
