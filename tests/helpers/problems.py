"""Small problems with known properties."""

import numpy as np
import scipy.sparse as sp

from marginbench.harness.model.problem import Problem


def random_problem(
    seed: int, n: int = 40, d: int = 5, C: float = 1.0, bias: str = "free", sparse: bool = False, **more
) -> Problem:
    """Two overlapping Gaussian classes, both present."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 3 == 0, -1.0, 1.0)
    X = rng.normal(size=(n, d)) + 0.7 * y[:, None] * rng.normal(size=d)
    return Problem(sp.csr_array(X) if sparse else X, y, C, bias, **more)
