"""Proofs that no hyperplane separates the classes: mu >= 0, not 0, with sum mu_i y_i x_i = 0 (and sum mu_i y_i = 0 for
a free bias) says that their hulls meet.

In floating point such a sum is never exactly 0, and data whose margin is 1e-10 of their rows exist. So a small sum is
no proof. Three things are, each about the data as they are stored:

- the sum is 0 exactly, by balls;
- as many rows as equations: the linear system is shown to have a solution near the computed one, which is positive;
- few rows, in any number: the relations between them, in integers.
"""

import math

import numpy as np
import scipy.sparse as sp

from marginbench.harness.cell.exact_objectives import evaluate_exactly
from marginbench.harness.cell.objectives import U, gamma
from marginbench.harness.model.feasibility import feasible
from marginbench.harness.model.problem import Array, Problem


def proven_to_meet(problem: Problem, mu: Array) -> bool:
    """Whether the rows that carry mu prove that the hard margin has no solution. mu itself may be rough."""
    hard = problem.with_(C=np.inf)
    mu = feasible(hard, mu / max(float(np.abs(mu).max(initial=0.0)), 2.0**-1000))
    if not mu.any():
        return False
    _, dual = evaluate_exactly(hard, np.zeros(problem.d), 0.0, mu)
    if dual is not None and dual.low == math.inf:
        return True
    vertex = sharpened(hard, mu)
    return solution_exists(hard, vertex) or hulls_meet(hard, vertex) or hulls_meet(hard, mu)


def equations(problem: Problem, support: Array) -> Array:
    """A of A mu = 0, mu on the rows of `support`: a row for each feature, and y for a free bias. Exact. Rows that are
    all 0 say nothing and are left out."""
    Z = problem.X[support]
    Z = problem.y[support, None] * (Z.toarray() if sp.issparse(Z) else Z)
    rows = {
        "none": [Z.T],
        "free": [Z.T, problem.y[support]],
        "augmented": [Z.T, problem.s * problem.y[support]],
    }
    A = np.vstack(rows[problem.bias])
    return A[np.abs(A).max(axis=1) > 0.0]


def _system(problem: Problem, support: Array) -> Array | None:
    """[A; 1], each row of A times a power of two that makes its largest entry about 1; None where that is not exact."""
    A = equations(problem, support)
    power = np.frexp(np.abs(A).max(axis=1))[1][:, None]
    scaled = np.ldexp(A, -power)
    if not np.array_equal(np.ldexp(scaled, power), A):
        return None
    return np.vstack([scaled, np.ones(support.size)])


def sharpened(problem: Problem, mu: Array, most: int = 2000) -> Array:
    """The same proof at a vertex: non-negative least squares on the rows that carry it. Few rows are left."""
    from scipy.optimize import nnls  # takes long to import, and few cells come here

    support = np.argsort(mu)[-min(most, problem.n) :]
    support = support[mu[support] > 0.0]
    if support.size == 0 or support.size * problem.d > 4_000_000:
        return mu
    A = _system(problem, support)
    if A is None:
        return mu
    target = np.zeros(A.shape[0])
    target[-1] = 1.0
    try:
        solution, _ = nnls(A, target)
    except RuntimeError:  # did not converge: keep what there was
        return mu
    sharp = np.zeros(problem.n)
    sharp[support] = solution
    return sharp if sharp.any() else mu


def solution_exists(problem: Problem, mu: Array, most: int = 3000) -> bool:
    """Whether a real mu > 0 on the support with A mu = 0, sum mu = 1 is proven to exist near the given one.

    Needs as many equations as rows. M = [A; 1], R near its inverse: q = ||I - R M|| < 1 shows that M has an inverse,
    and the solution is within ||R (e - M mu)|| / (1 - q) of mu, each with the rounding of its computation (maximum
    norms; Rump 2010, Verification methods, 10.1).
    """
    support = np.flatnonzero(mu > 0.0)
    k = support.size
    if not 0 < k <= min(most, problem.d + 2):
        return False
    M = _system(problem, support)
    if M is None or M.shape[0] != k:
        return False
    target = np.zeros(k)
    target[-1] = 1.0
    with np.errstate(all="ignore"):
        try:
            R = np.linalg.inv(M)
        except np.linalg.LinAlgError:
            return False
        x = mu[support] / mu[support].sum()
        x = x + R @ (target - M @ x)
        size = np.abs(R)
        off = (np.abs(np.eye(k) - R @ M) + gamma(k + 3) * (size @ np.abs(M)) + 2.0 * U).sum(axis=1).max()
        residual = np.abs(target - M @ x) + gamma(k + 4) * (np.abs(M) @ np.abs(x) + target) + k * 2.0**-1000
        distance = 1.01 * float((size @ residual).max()) / (1.0 - 1.01 * float(off))
        return bool(1.01 * off < 1.0 and x.min() > distance)


def hulls_meet(problem: Problem, mu: Array, most: int = 64) -> bool:
    """Whether it is proven that some real mu >= 0, not 0, has sum mu_i y_i x_i = 0 (and, free bias, sum mu_i y_i = 0).

    Only the support of the given mu is used, and at most `most` rows: the relations between these rows of rational
    numbers are computed in integers. One without a change of sign is the proof.
    """
    support = np.flatnonzero(mu > 0.0)
    if not 0 < support.size <= most:
        return False
    relations = _relations([_integers(row) for row in equations(problem, support)], support.size)
    return any(min(relation) >= 0 or max(relation) <= 0 for relation in relations)


def _integers(row: Array) -> list[int]:
    """The row times the power of two that makes integers of it; relations between columns stay what they are."""
    ratios = [float(x).as_integer_ratio() for x in row]
    common = max(denominator for _, denominator in ratios)
    return [numerator * (common // denominator) for numerator, denominator in ratios]


def _relations(rows: list[list[int]], size: int) -> list[list[int]]:
    """A basis of all x with sum_j row_j x_j = 0 for all rows.

    Gauss and Jordan without fractions (Bareiss 1968): every division by the previous pivot is exact.
    """
    pivots: list[int] = []
    previous = 1
    for column in range(size):
        at = next((i for i in range(len(pivots), len(rows)) if rows[i][column]), None)
        if at is None:
            continue
        k = len(pivots)
        rows[k], rows[at] = rows[at], rows[k]
        pivot, lead = rows[k], rows[k][column]
        for i, row in enumerate(rows):
            if i != k:
                rows[i] = [(lead * a - row[column] * c) // previous for a, c in zip(row, pivot, strict=True)]
        pivots.append(column)
        previous = lead
    relations = []
    for loose in sorted(set(range(size)) - set(pivots)):
        relation = [0] * size
        relation[loose] = previous
        for k, column in enumerate(pivots):
            relation[column] = -rows[k][loose]
        relations.append(relation)
    return relations
