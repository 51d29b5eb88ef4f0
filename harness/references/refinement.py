"""What polishing shares, with and without a kernel: the better of two points, and a factorisation that succeeds."""

from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from marginbench.harness.model.bounds import Bounds
from marginbench.harness.model.problem import Array, Point


def better(best: Point, proven: Bounds, candidate: Point, now: Bounds) -> tuple[Point, Bounds]:
    """The better hyperplane and the better multipliers of two points, and what both prove."""
    if now.upper < proven.upper:
        best = best._replace(w=candidate.w, b=candidate.b)
    if best.alpha is None or now.lower > proven.lower:
        best = best._replace(alpha=candidate.alpha)
    return best._replace(xi=None), proven.meet(now)


def cholesky(K: Array, diagonal: Array) -> Callable[[Array], Array]:
    """r -> (K + diag)^-1 r; the diagonal grows until rounding no longer hides that the matrix is positive."""
    shift = np.zeros_like(diagonal)
    while True:
        try:
            factor = cho_factor(K + np.diag(diagonal + shift))
        except LinAlgError:
            shift = np.maximum(10.0 * shift, 1e-15 * float(K.diagonal().max()))
        else:
            return lambda r: cho_solve(factor, r)
