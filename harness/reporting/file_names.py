"""Names of files made from names that people chose."""

import re
from collections.abc import Sequence
from itertools import count

from marginbench.harness.reporting.comparison import Task


def slug(title: str) -> str:
    """Letters, digits, dots and dashes only."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", title.replace("∞", "inf")).strip("-.")[:80] or "problem"


def slugs(tasks: Sequence[Task]) -> list[str]:
    """A name for each problem, no two alike, whatever the case."""
    names: list[str] = []
    used: set[str] = set()
    for task in tasks:
        plain = slug(task.title)
        numbered = (plain if k == 1 else f"{plain}-{k}" for k in count(1))
        names.append(next(name for name in numbered if name.lower() not in used))
        used.add(names[-1].lower())
    return names
