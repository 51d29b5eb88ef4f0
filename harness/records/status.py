"""What can become of a cell: one row of this table per status. Everything that groups, sorts or draws reads it."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Status:
    name: str
    meaning: str
    sign: str
    """One character; it says the same as the tone, without colour."""
    tone: str
    """One of TONES."""
    ran: bool = True
    """Whether the solver was called."""
    success: bool = False
    """Proves something of the problem. Every other status is a failure, at infinity in a profile."""
    no_solution: bool = False
    """Proves that the problem has no solution."""
    curve_counts: bool = False
    """Whether points on its way count as reached accuracies."""
    broke: bool = False
    """The solver gave nothing that could be judged."""
    bad: bool = False
    """Makes the exit code 1."""


TONES = {
    "good": "#2a9d68",
    "proof": "#3b7dd8",
    "none": "#b9bec6",
    "short": "#e0a526",
    "limit": "#d97b29",
    "bad": "#c9303e",
}
"""Colours of the figures. The page has its own shade of each for light and for dark."""

_ROWS = (
    Status("solved", "certificate within the tolerance, in time", "✓", "good", success=True, curve_counts=True),
    Status("infeasible", "proven: the problem has no solution", "∅", "proof", success=True, no_solution=True),
    Status("unbounded", "proven: the dual has no bound", "↓", "proof", success=True, no_solution=True),
    Status("skipped", "never ran: solver and problem do not fit; the message says why", "-", "none", ran=False),
    Status("not_installed", "never ran; the message says what to install", "·", "none", ran=False),
    Status("inaccurate", "an answer came back, its certificate is short", "≈", "short", curve_counts=True),
    Status("timeout", "ended by a limit of time, or right too late", "t", "limit", curve_counts=True),
    Status("memory", "ended by the limit of memory", "m", "limit", broke=True),
    Status("wrong", "convergence was claimed; the certificate says plainly not", "✗", "bad", bad=True),
    Status("invalid", "the answer is no point: NaN, wrong shape, wrong type", "!", "bad", bad=True, broke=True),
    Status("failed", "ended by an exception", "f", "bad", bad=True, broke=True),
    Status("crashed", "ended by a signal", "c", "bad", bad=True, broke=True),
)
"""The best first, the gravest last."""

STATUSES = {status.name: status for status in _ROWS}

RANK = {name: rank for rank, name in enumerate(STATUSES)}
"""Of several statuses, the one with the highest rank stands for all."""


def status_of(name: str) -> Status:
    """The row of the table; an empty one for a name that no version of ours has written."""
    return STATUSES.get(name) or Status(name, "not a status of this version", "?", "none")


def worst(names: Iterable[str]) -> str:
    return max(names, key=lambda name: RANK.get(name, -1))


def named(**having: bool) -> tuple[str, ...]:
    """Names of the statuses with these properties, `named(bad=True)`, in the table's order."""
    return tuple(s.name for s in _ROWS if all(getattr(s, key) == value for key, value in having.items()))
