"""Shared by all tests: a cache of their own, and small problems with known properties."""

import os

import pytest
from hypothesis import settings
from problems import random_problem

from marginbench.harness.model.problem import Problem

settings.register_profile("seeded", derandomize=True)
settings.load_profile("seeded")


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """Tests neither use nor fill the user's cache."""
    os.environ["MARGINBENCH_CACHE"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture
def overlapping() -> Problem:
    return random_problem(0)
