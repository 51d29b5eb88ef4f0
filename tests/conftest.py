"""Shared by all tests: a cache of their own, and small problems with known properties."""

import os
import resource
import signal
import subprocess

import pytest
from hypothesis import settings
from problems import random_problem
from zoo.score import pytest_terminal_summary  # noqa: F401 - pytest calls it

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


@pytest.fixture(params=["small files", "small disk"])
def full_disk(request, tmp_path):
    """A folder with room for 64 KB: a file system of that size; where none may be mounted, a limit on each file."""
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(tmp_path)]
    if request.param == "small disk" and subprocess.run(command, capture_output=True).returncode == 0:
        yield tmp_path
        subprocess.run(["umount", str(tmp_path)], check=True)
        return
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**16, before[1]))
    yield tmp_path
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, handler)
