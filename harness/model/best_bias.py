"""The b that is best for a given w, exactly: the minimum of a convex function of one variable with n break points; and
the interval that the conditions of optimality leave to b."""

import numpy as np

Array = np.ndarray


def ends_of_bias(t: Array, y: Array, alpha: Array, upper: Array) -> tuple[float, float]:
    """(max t_i over rows whose y_i alpha_i can rise, min t_i over those whose y_i alpha_i can fall).

    With t_i = y_i - w.x_i the bounds on b that the rows set; (w, alpha) is optimal once the first is not the larger.
    """
    rises, falls = alpha < upper, alpha > 0.0
    low = t[np.where(y > 0, rises, falls)].max(initial=-np.inf)
    high = t[np.where(y > 0, falls, rises)].min(initial=np.inf)
    return float(low), float(high)


def zero_of_slope(t: Array, y: Array, c: Array, ridge: float, squared: bool) -> float:
    """argmin_b ridge b^2 / 2 + sum_i c_i h(y_i (t_i - b)), h the hinge or its square.

    Row i is active for b < t_i when y_i = +1 and for b > t_i when y_i = -1. Between break points the slope is
    A b + B with sums A, B over the active rows. They are taken from both ends, so that nothing cancels in A.
    """
    order = np.argsort(t, kind="stable")
    t, c, positive = t[order], c[order], y[order] > 0

    def active(v: Array) -> tuple[Array, Array]:
        """Sums of v over the rows active on each of the n + 1 pieces: y_i = -1 to its left, y_i = +1 to its right."""
        left = np.cumsum(np.where(positive, 0.0, v))
        right = np.cumsum(np.where(positive, v, 0.0)[::-1])[::-1]
        return np.append(0.0, left), np.append(right, 0.0)

    left, right = active(c)
    if squared:
        A, B = ridge + 2.0 * (left + right), -2.0 * np.add(*active(c * t))
    else:
        A = np.full(t.size + 1, ridge)
        B = np.where(np.abs(left - right) <= 1e-14 * (left + right), 0.0, left - right)  # flat in spite of rounding
    ends = np.concatenate([[-np.inf], t, [np.inf]])  # piece k is ends[k] .. ends[k + 1]
    flat = np.flatnonzero((A == 0.0) & (B == 0.0))
    if flat.size > 0:
        piece = ends[flat[0] : flat[0] + 2]
        return float(piece[np.isfinite(piece)].mean())
    reached = A[:-1] * t + B[:-1] >= 0.0
    k = int(np.argmax(reached)) if reached.any() else t.size  # the first piece with a slope >= 0 at its right end
    return float(np.clip(-B[k] / A[k], ends[k], ends[k + 1]) if A[k] > 0.0 else ends[k])
