"""Shared by all tests: a cache of their own, and small problems with known properties."""

import os

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import settings

from harness.problem import Problem

settings.register_profile("seeded", derandomize=True)
settings.load_profile("seeded")


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """Tests neither use nor fill the user's cache."""
    os.environ["MARGINBENCH_CACHE"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture
def overlapping() -> Problem:
    return random_problem(0)


def random_problem(
    seed: int, n: int = 40, d: int = 5, C: float = 1.0, bias: str = "free", sparse: bool = False, **more
) -> Problem:
    """Two overlapping Gaussian classes, both present."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 3 == 0, -1.0, 1.0)
    X = rng.normal(size=(n, d)) + 0.7 * y[:, None] * rng.normal(size=d)
    return Problem(sp.csr_array(X) if sparse else X, y, C, bias, **more)
