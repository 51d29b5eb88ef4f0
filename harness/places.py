"""Where marginbench keeps what can be made again. A light module: the package loads it first."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """$MARGINBENCH_CACHE, or .cache/marginbench in the home folder; for a user who has none, in the one for all."""
    given = os.environ.get("MARGINBENCH_CACHE")
    if given:
        return Path(given)
    try:
        return Path.home() / ".cache" / "marginbench"
    except RuntimeError:
        return Path(os.environ.get("TMPDIR") or "/tmp") / f"marginbench-{os.getuid()}"
