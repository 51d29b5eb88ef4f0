"""A solver whose module works when it is imported: in a process of its own kind, before any clock."""

from dataclasses import dataclass

from zoo.honest import WORK, OnDual, work

work(WORK)


@dataclass(frozen=True)
class WorksAtImport(OnDual):
    """A real one would read the data of the cache and solve all problems that it finds."""
