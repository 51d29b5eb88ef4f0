"""Kernels as linear problems: rows phi(x_i) with phi(x_i).phi(x_j) = K(x_i, x_j), so that everything linear applies.

    polynomial  K(x, z) = (x.z + c)^2                        phi is explicit: all products of two coordinates
    gaussian    K(x, z) = exp(-||x - z||^2 / (2 sigma^2))    phi(x_i) is row i of the Cholesky factor of K + 2^-20 I

The dual of the linear problem on phi is the kernel dual; w is the same function, written in phi. Only + - * / and the
square root are used on top of numpy's generator, and exp is rounded to 40 binary digits, so that the data, and with
them their digest, are the same on every machine.
"""

import math

import numpy as np

from marginbench.datasets.check import Array, Matrix


def polynomial(n: int = 100, d: int = 4, c: float = 1.0, seed: int = 0) -> tuple[Matrix, Array]:
    """Points inside and outside of a sphere, which no plane separates and a quadric does; the map of (x.z + c)^2."""
    if not (n >= 2 and d >= 1 and c >= 0.0):
        raise ValueError(f"polynomial: n={n}, d={d}, c={c}: need n >= 2, d >= 1, c >= 0")
    X, y = _shells(n, d, seed)
    X = np.hstack([X, np.full((n, 1), math.sqrt(c))])
    columns = [X[:, i] * X[:, j] * (1.0 if i == j else math.sqrt(2.0)) for i in range(d + 1) for j in range(i, d + 1)]
    return np.ascontiguousarray(np.column_stack(columns)), y


def gaussian(n: int = 80, d: int = 2, sigma: float = 1.0, seed: int = 0) -> tuple[Matrix, Array]:
    """The same points; rows of the Cholesky factor of their Gaussian Gram matrix."""
    if not (n >= 2 and d >= 1 and sigma > 0.0):
        raise ValueError(f"gaussian: n={n}, d={d}, sigma={sigma}: need n >= 2, d >= 1, sigma > 0")
    X, y = _shells(n, d, seed)
    K = [[_rounded(math.exp(-_distance2(a, b) / (2.0 * sigma * sigma))) for b in X.tolist()] for a in X.tolist()]
    for i in range(n):
        K[i][i] += 2.0**-20
    return np.array(_cholesky(K)), y


def _shells(n: int, d: int, seed: int) -> tuple[Array, Array]:
    """Alternately a point of a small and of a larger shell around 0, with some overlap."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    direction = rng.uniform(-1.0, 1.0, size=(n, d))
    length = np.array([math.sqrt(sum(v * v for v in row)) for row in direction.tolist()])
    radius = rng.uniform(0.2, 1.2, size=n) + np.where(y > 0, 0.0, 0.6)
    return direction / length[:, None] * radius[:, None], y


def _distance2(a: list[float], b: list[float]) -> float:
    return sum((u - v) * (u - v) for u, v in zip(a, b, strict=True))


def _rounded(value: float) -> float:
    """To a multiple of 2^-40: where libraries differ in the last digit of exp, the result does not."""
    return round(value * 2.0**40) * 2.0**-40


def _cholesky(K: list[list[float]]) -> list[list[float]]:
    """L with L L' = K, by plain sums in a fixed order."""
    n = len(K)
    L = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            rest = K[i][j]
            for k in range(j):
                rest -= L[i][k] * L[j][k]
            L[i][j] = math.sqrt(rest) if i == j else rest / L[j][j]
    return L
