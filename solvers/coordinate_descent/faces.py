"""Conjugate gradients on a face of the box: what coordinate descent needs when few rows are free and K is badly scaled.

On the face {a_i free, i in F; the others held} the negated dual is the quadratic

    phi(s) = g's + 1/2 s'Ks,   K = Z Z' + rho y y' + diag(c),   Z the rows y_i x_i of F

in the step s, g its gradient. Coordinate descent removes the error along the eigenvectors of K in proportion to their
eigenvalues, sweep by sweep; conjugate gradients need the square root of that many products with Z and Z'.
References: More, Toraldo (1991), whose rule for leaving the face early and projected search are used here.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from marginbench.harness.model.problem import Array
from marginbench.harness.rowops import CSR, FAST, Dense, combine, margins


class Face(NamedTuple):
    """Rows of F copied side by side, their labels, bounds u, curvature c, diagonal of K, and rho."""

    rows: Dense | CSR
    y: Array
    upper: Array
    curvature: Array
    diagonal: Array
    rho: float

    def pull(self, s: Array, out: Array) -> float:
        """out <- Z's; returns y's."""
        out[:] = 0.0
        return combine(self.rows, self.y, s, out)


def minimise_on_face(face: Face, alpha: Array, g: Array, d: int, limit: int) -> tuple[Array, int]:
    """A step s with phi(s) well below 0, and the products with K it took (at most `limit`).

    Conjugate gradients with the diagonal of K as preconditioner, to a hundredth of the residual while alpha + s stays
    in the box: the face may be the right one. Once it does not, another start is cheaper than the tail: then to a
    twentieth, or until a product brings less than 2 % of what the best one brought. With more rows than columns K is
    singular, and phi falls without end along some direction: there the step ends where it meets the box, and the face
    is left with a row less (overlapping at C = 1: 450 epochs instead of 4,600).
    """
    box = alpha, face.upper
    return _minimise(face.rows, face.y, *box, face.curvature, face.diagonal, face.rho, g, d, limit)


@njit(cache=True, fastmath=FAST)
def _minimise(rows, y, alpha, upper, curvature, diagonal, rho, g, d, limit):
    s, r, p, Kp, pulled = np.zeros(g.size), np.empty(g.size), np.empty(g.size), np.empty(g.size), np.empty(d)
    rz, best, products, singular = 0.0, 0.0, 0, g.size > d
    for i in range(g.size):
        r[i], p[i] = -g[i], -g[i] / diagonal[i]
    for i in range(g.size):
        rz += r[i] * p[i]
    first = rz
    while products < limit:
        products += 1
        for j in range(d):
            pulled[j] = 0.0
        balance, pKp = combine(rows, y, p, pulled), 0.0
        margins(rows, y, pulled, rho * balance, Kp)
        for i in range(g.size):
            Kp[i] += curvature[i] * p[i]
        for i in range(g.size):
            pKp += p[i] * Kp[i]
        length, before, rz, inside = rz / pKp if pKp > 0.0 else np.inf, rz, 0.0, True
        if singular:
            room = np.inf
            for i in range(g.size):
                if p[i] != 0.0:
                    room = min(room, (upper[i] - alpha[i] - s[i] if p[i] > 0.0 else alpha[i] + s[i]) / abs(p[i]))
            if room <= length:
                for i in range(g.size):
                    s[i] += room * p[i] if room < np.inf else 0.0
                break
        if length == np.inf:
            break
        for i in range(g.size):
            s[i] += length * p[i]
            inside = inside and 0.0 <= alpha[i] + s[i] <= upper[i]
            r[i] -= length * Kp[i]
        for i in range(g.size):
            rz += r[i] * r[i] / diagonal[i]
        gain = 0.5 * length * before
        best = max(best, gain)
        if rz <= 1e-4 * first or (not inside and (gain <= 0.02 * best or rz <= 0.0025 * first)):
            break
        for i in range(g.size):
            p[i] = r[i] / diagonal[i] + rz / before * p[i]
    return s, products


def projected_search(face: Face, alpha: Array, g: Array, s: Array, d: int) -> tuple[Array, Array, float]:
    """alpha moved along s and clipped to the box, Z'(change), y'(change).

    The step is halved until the clipped path is still a descent direction of which a good part can be taken exactly.
    """
    pulled = np.empty(d)
    for _ in range(12):
        change = np.clip(alpha + s, 0.0, face.upper) - alpha
        slope = float(g @ change)
        balance = face.pull(change, pulled)
        # At a hard margin that does not exist alpha grows until its square overflows: 0 times that must be 0.
        curve = float(pulled @ pulled) + face.rho * balance * balance + float((face.curvature * change) @ change)
        part = min(1.0, -slope / curve) if curve > 0.0 else 1.0
        if slope < 0.0 and part > 0.3:
            moved = np.clip(alpha + s, 0.0, face.upper) if part == 1.0 else alpha + part * change
            return moved, part * pulled, part * balance
        s = 0.5 * s
    return alpha, np.zeros(d), 0.0
