"""Why an answer is wrong: for which other problem would it be right?

The usual mistakes of a new solver turn the problem into a neighbour of it: lambda off by 2 or by n, a penalised bias
for a free one, labels with the other sign. Each neighbour's optimum is known, so that an answer tells which it is.
"""

import math
from collections.abc import Callable, Iterator

from marginbench.harness.cell.certificate import certify
from marginbench.harness.model.problem import Point, Problem

NEAR = 1e-3
"""Relative gap within which an answer is that of a neighbour."""


def neighbours(problem: Problem) -> Iterator[tuple[str, Problem, float]]:
    """(words, problem, sign of the answer); the problem itself first."""
    yield "", problem, 1.0
    yield "with the signs of all labels changed", problem, -1.0
    for bias in ("none", "free", "augmented"):
        if bias != problem.bias:
            yield f"with bias={bias}", problem.with_(bias=bias), 1.0
    for factor, words in ((2.0, "2 C"), (0.5, "C / 2"), (float(problem.n), "n C"), (1.0 / problem.n, "C / n")):
        yield f"with {words}: is lambda off by {'n' if 'n' in words else 2}?", problem.with_(C=factor * problem.C), 1.0


def suspect(problem: Problem, point: Point, lower: Callable[[Problem], float]) -> str:
    """The neighbour that `point` solves, in words, or "" where there is none.

    lower: the optimum of a problem, -inf where it is not known.
    """
    if not point.w.any():
        return "w is zero"
    own = lower(problem)
    if own == -math.inf:
        return ""
    for words, neighbour, sign in neighbours(problem):
        bound = lower(neighbour)
        if bound == -math.inf or (neighbour is not problem and abs(bound - own) <= NEAR * abs(own)):
            continue  # of a neighbour with the same optimum, as where C does not matter, nothing follows
        b = 0.0 if neighbour.bias == "none" else sign * point.b
        gap = certify(neighbour, Point(sign * point.w, b), bound).gap
        if gap is not None and gap <= NEAR:
            return f"it is right for the same problem {words}" if words else ""
    return ""
