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
        """(upper - lower) / upper, as the relative gap; 0 when both are inf, inf when only one is."""
        if self.lower == self.upper:
            return 0.0
        return math.inf if math.isinf(self.upper - self.lower) else relative_gap(self.upper, self.lower)

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
        """(P - lower) / P of P = `primal`; None where either is not known.

        P of a certificate is rounded up and a proven lower end is rounded down. So a value below zero is no rounding:
        it is a contradiction, and one of the two proofs is false.
        """
        if primal is None or not math.isfinite(primal) or not math.isfinite(self.lower):
            return None
        return relative_gap(primal, self.lower)

    def contradiction(self, other: "Bounds") -> str:
        """Why both cannot be true of one problem, in words; "" where they can. Both ends are rounded outwards."""
        if other.upper < self.lower:
            return f"P = {other.upper!r} is below the proven lower bound {self.lower!r}"
        if other.lower > self.upper:
            return f"D = {other.lower!r} is above the proven upper bound {self.upper!r}"
        return ""


def relative_gap(primal: float, dual: float) -> float:
    """(P - D) / P; 0 where P = D. It is the same number when X is scaled by t, s by t and C by 1/t^2.

    P* >= D(0) = 0, so that P = 0 is the optimum, and any D above P is a contradiction: the value is negative then.
    """
    if primal == dual:
        return 0.0
    return (primal - dual) / primal if primal > 0.0 else math.copysign(math.inf, primal - dual)


def round_up(x: float) -> float:
    return math.nextafter(x, math.inf)


def round_down(x: float) -> float:
    return math.nextafter(x, -math.inf)
