"""Libraries that solvers need, and how to install one that is missing. A light module: `marginbench list` loads it."""

import importlib.metadata
import importlib.util
from collections.abc import Mapping


def missing_library(requires: Mapping[str, str]) -> str | None:
    """The sentence for a library that is not installed; None when all are. `requires` is that of a Solver."""
    for module, source in requires.items():
        if importlib.util.find_spec(module) is None:
            return f"{module} is not installed: pip install '{_installable(source)}'"
    return None


def _installable(source: str) -> str:
    """What pip is told: an extra of marginbench by its name, marginbench itself for `""`, or a requirement as it is."""
    extras = importlib.metadata.metadata("marginbench").get_all("Provides-Extra") or []
    return f"marginbench[{source}]" if source in extras else source or "marginbench"
