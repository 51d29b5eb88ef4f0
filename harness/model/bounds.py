"""Bounds of a problem's optimum: P* lies between two numbers."""

import math
from dataclasses import dataclass, field

from marginbench.harness.model.problem import Point


@dataclass(frozen=True)
class Bounds:
    """lower <= P* <= upper. An end that is not known is infinite.

    lower = inf says that a hard margin has no solution. Two bounds are equal when their ends are.
    """

    lower: float = -math.inf
    upper: float = math.inf
    source: str = field(default="", compare=False)
    """Who gave the lower end: `stored` (proven), `computed` for this run, or `run` (a row of the report)."""
    point: Point | None = field(default=None, compare=False, repr=False)
    """The optimum as a point, where one is at hand."""

    @property
    def infeasible(self) -> bool:
        """Whether the hard margin has no solution."""
        return self.lower == math.inf

    @property
    def width(self) -> float:
        """(upper - lower) / max(1, |lower|, |upper|), as the relative gap; 0 when both are inf."""
        if self.lower == self.upper:
            return 0.0
        return math.inf if math.isinf(self.upper - self.lower) else relative_distance(self.upper, self.lower)

    @property
    def margin(self) -> float:
        """r: no hyperplane has a geometric margin above it (hard margin), for P* = 1 / (2 margin^2)."""
        if self.lower <= 0.0:
            return math.inf
        return 0.0 if self.infeasible else round_up(1.0 / round_down(math.sqrt(2.0 * self.lower)))

    def meet(self, other: "Bounds") -> "Bounds":
        """What both say together. The point stays that of the first."""
        source = self.source if self.lower >= other.lower else other.source
        return Bounds(max(self.lower, other.lower), min(self.upper, other.upper), source, self.point)

    def suboptimality(self, primal: float | None) -> float | None:
        """The relative distance of P = `primal` from the lower end; None where either is not known.

        Below zero, beyond rounding, it is a contradiction: P is smaller than what was proven to be its least value.
        """
        if primal is None or not math.isfinite(primal) or not math.isfinite(self.lower):
            return None
        value = relative_distance(primal, self.lower)
        return max(value, 0.0) if value >= -ROUNDING else value


ROUNDING = 1e-9
"""P below a proven D by less than this, relative, is rounding; by more, one of the two certificates is false."""


def relative_distance(primal: float, dual: float) -> float:
    """(P - D) / max(1, |P|, |D|): the relative gap, and the suboptimality where D is that of another point."""
    return (primal - dual) / max(1.0, abs(primal), abs(dual))


def round_up(x: float) -> float:
    return math.nextafter(x, math.inf)


def round_down(x: float) -> float:
    return math.nextafter(x, -math.inf)
