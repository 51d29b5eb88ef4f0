"""Problems of every awkward shape, and how far a solver comes on them by the certificate."""

from itertools import islice

import numpy as np
import pytest
import scipy.sparse as sp

from marginbench.harness.cell.certificate import certify
from marginbench.harness.model.problem import Point, Problem
from marginbench.harness.model.programs import BoxDual
from marginbench.solvers.auto import Auto
from marginbench.solvers.coordinate_descent.solver import CoordinateDescent
from marginbench.solvers.newton.augmented import NewtonAugmented

BIASES = ("none", "free", "augmented")
ALL = pytest.mark.parametrize(
    "solver", [CoordinateDescent(), NewtonAugmented(), Auto()], ids=lambda s: type(s).__name__
)
NEWTON = pytest.mark.parametrize(
    "solver", [NewtonAugmented(), NewtonAugmented(direct=0), Auto()], ids=["Newton", "Newton by products", "Auto"]
)


def program_of(problem: Problem) -> BoxDual:
    return BoxDual(problem.features, problem.y, problem.upper, problem.curvature, problem.bias == "free")


def gap(problem: Problem, iterate) -> float:
    """(P - D) / max(1, P): at a huge C and a small P, rounding of margins alone leaves more than 1e-9 of P."""
    if iterate.dual is None:
        point = problem.point(problem.feasible_dual(iterate.x))
    elif problem.bias == "free":
        point = Point(iterate.dual[:-1], float(iterate.dual[-1]), iterate.x)
    else:
        point = Point(*problem.split(iterate.dual), iterate.x)
    found = certify(problem, point)
    return np.inf if found.gap is None else found.gap * min(1.0, found.primal)


def reached(problem: Problem, solver, target=1e-9, limit=3000) -> bool:
    return any(gap(problem, iterate) <= target for iterate in islice(solver.iterates(program_of(problem)), limit))


def awkward(seed: int) -> Problem:
    """Random size, scale, C, bias, layout and weights; duplicates, zero rows, collinear columns, rare classes."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 300)), int(rng.integers(1, 30))
    X = rng.normal(size=(n, d))
    kind = seed % 8
    if kind == 1:
        X *= 10.0 ** rng.uniform(-3, 3, d)
    elif kind == 2:
        X = np.round(X)
    elif kind == 3:
        X = (rng.random((n, d)) < 0.2).astype(float)
    elif kind == 4:
        X = X[rng.integers(0, max(1, n // 3), n)]
    elif kind == 5:
        X[rng.random(n) < 0.2] = 0.0
    elif kind == 6:
        X[0] *= 1e3
    elif kind == 7:
        X[:, -1] = X[:, 0] * (1.0 + 1e-7 * rng.normal(size=n))
    noise = rng.choice([0.0, 0.1, 1.0, 5.0])
    y = np.where(X @ rng.normal(size=d) + noise * rng.normal(size=n) + rng.choice([0.0, 2.0]) > 0, 1.0, -1.0)
    if rng.random() < 0.15:
        y[:] = np.where(np.arange(n) < max(1, n // 100), 1.0, -1.0)
    if abs(y.sum()) == n:
        y[0] = -y[0]
    weight = rng.uniform(0.1, 3.0, n) if rng.random() < 0.3 else None
    C, bias = 10.0 ** rng.uniform(-4, 4), BIASES[int(rng.integers(3))]
    return Problem(sp.csr_array(X) if rng.random() < 0.4 else X, y, C, bias, weight=weight)
