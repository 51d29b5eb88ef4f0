"""Cores of this machine for the jobs of one harness: claimed, so that no two harnesses time on the same one."""

import os
import socket
from dataclasses import dataclass
from typing import Self

NAME = "marginbench-core"
"""Of all claims of a machine, with the number of the core behind it."""


@dataclass(frozen=True)
class Cores:
    """Cores that are ours until `close`, or until this process ends: the kernel frees the claims with it."""

    numbers: tuple[int, ...]
    claims: tuple[socket.socket, ...]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for one in self.claims:
            one.close()


def claim(count: int = 1) -> Cores | None:
    """So many cores that no other harness of this machine has claimed; None where there are fewer."""
    taken: dict[int, socket.socket] = {}
    for core in sorted(usable(), reverse=True):
        if len(taken) == count:
            break
        if (held := _claimed(core)) is not None:
            taken[core] = held
    cores = Cores(tuple(taken), tuple(taken.values()))
    if len(taken) == count:
        return cores
    cores.close()
    return None


def free() -> int:
    """How many cores could be claimed now."""
    held = [one for core in usable() if (one := _claimed(core)) is not None]
    Cores((), tuple(held)).close()
    return len(held)


def usable() -> set[int]:
    """Cores that this process may run on; empty on systems that do not let a process choose."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


def _claimed(core: int) -> socket.socket | None:
    """The claim to a core, a name that one socket of the machine can have; None where another one has it."""
    held = socket.socket(socket.AF_UNIX)
    try:
        held.bind(f"\0{NAME}-{core}")
    except OSError:
        held.close()
        return None
    return held
