"""What is known of a problem's optimum."""

from dataclasses import dataclass

from marginbench.harness.model.problem import Point


@dataclass(frozen=True)
class Known:
    """P* in [lower, upper], or that the problem has no solution. source: `stored` (proven) or `computed`."""

    lower: float | None = None
    upper: float | None = None
    source: str = ""
    point: Point | None = None
    infeasible: bool = False
