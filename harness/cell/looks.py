"""Which iterates are certified at once and which are kept for later, by what a certificate costs.

The solver hands over iterates by their numbers (`measure.schedule`). The first `FIRST` are looked at as they come. From
then on a look has to be earned: those made so far, and the next, take at most `SHARE` of the solver's time. Until then
iterates are kept as copies, as many as `MOST` and `MOST_BYTES` allow. Each look ends a run of kept ones:

    where an accuracy was passed since the look before, the kept ones are bisected for the first that has it.

So an accuracy is credited to the iterate and the time it would have been with a look at every one, as long as the gap
falls. An iterate that was not looked at is never credited. The last one, and each that claims something, is looked at.
"""

import time
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, TypeVar

import numpy as np

from marginbench.harness.model.problem import Array

Kept = TypeVar("Kept")
Seen = TypeVar("Seen")

FIRST = 10
"""Iterates that are looked at whatever it costs."""

SHARE = 0.2
"""Of the solver's time, for all looks but the first and the last."""

FREE = 0.02
"""Seconds of looks that need not be earned: less than what starting a cell takes."""

MOST, MOST_BYTES = 256, 2**28
"""Iterates that are kept, and their bytes; what is beyond is looked at."""

ACCURACIES = tuple(10.0**-k for k in range(1, 13))
"""Relative gaps whose first iterate is found; and the one that is asked for."""


@dataclass
class Looks(Generic[Kept, Seen]):
    """look: certifies one; gap: of what it saw, inf where there is none; done: whether the run may end there.

    kept: copies of what is not looked at yet, in their order.
    """

    look: Callable[[Kept], Seen]
    gap: Callable[[Seen], float]
    done: Callable[[Seen], bool]
    wall: Callable[[], float] = time.perf_counter
    costs: list[float] = field(default_factory=list)
    """Seconds of each look, in the order in which they were made."""
    kept: list[Kept] = field(default_factory=list)
    size: int = 0
    """Bytes of the kept ones."""
    least: float = np.inf
    """The smallest gap so far."""

    def due(self, seconds: float) -> bool:
        """Whether a look is worth its price after so many seconds of the solver."""
        if len(self.costs) < FIRST or len(self.kept) >= MOST or self.size >= MOST_BYTES:
            return True
        return sum(self.costs[FIRST:]) + self.costs[-1] <= max(FREE, SHARE * seconds)

    def keep(self, one: Kept, size: int) -> None:
        self.kept.append(one)
        self.size += size

    def settle(self) -> list[Seen]:
        """Look at the last of the kept ones, and for each accuracy that was passed at the first that has it; none of
        them is kept any longer. All that was seen, in order, up to the one that may end the run."""
        if not self.kept:
            return []
        seen: dict[int, Seen] = {}

        def at(k: int) -> Seen:
            if k not in seen:
                start = self.wall()
                seen[k] = self.look(self.kept[k])
                self.costs.append(self.wall() - start)
            return seen[k]

        def within(accuracy: float, k: int) -> bool:
            return self.gap(at(k)) <= accuracy

        last = len(self.kept) - 1
        if self.done(at(last)):
            last = bisect_left(range(last), True, key=lambda k: self.done(at(k)))
        for accuracy in (a for a in ACCURACIES if self.gap(at(last)) <= a < self.least):
            bisect_left(range(last), True, key=partial(within, accuracy))
        found = [seen[k] for k in sorted(seen) if k <= last]
        self.least = min([self.least, *map(self.gap, found)])
        self.kept, self.size = [], 0
        return found


def copied(x: Array | None) -> Array | None:
    """The solver may write to its own array again."""
    return None if x is None else np.array(x)


def bytes_of(*arrays: Array | None) -> int:
    return sum(0 if x is None else np.asarray(x).nbytes for x in arrays)
