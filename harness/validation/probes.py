"""What can be seen of a solver from outside: its bits, its arrays, the random state, threads and children it leaves."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from marginbench.harness.model.programs import Program

TASKS = Path("/proc/self/task")
"""One folder for each thread, with a list of the children it started; Linux only."""


def same(a: list[bytes], b: list[bytes]) -> bool:
    """As far as both go."""
    return all(left == right for left, right in zip(a, b, strict=False))


def arrays(program: Program) -> Iterator[tuple[str, np.ndarray]]:
    for name, value in vars(program).items():
        if isinstance(value, np.ndarray):
            yield name, value
        elif sp.issparse(value):
            yield from ((f"{name}.{part}", getattr(value, part)) for part in ("data", "indices", "indptr"))


def children() -> set[str]:
    return {pid for task in TASKS.iterdir() for pid in (task / "children").read_text().split()}


@contextmanager
def global_random_state(value: int) -> Iterator[None]:
    """Set for a while; a solver that draws from it must not notice, one that does is to be found out."""
    before: tuple[Any, Any] = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(value)
    np.random.seed(value)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])  # noqa: NPY002


def fingerprint() -> tuple[Any, ...]:
    state: Any = np.random.get_state(legacy=False)  # noqa: NPY002
    return random.getstate(), state["state"]["key"].tobytes(), state["state"]["pos"], state["has_gauss"]


def first_line(error: Exception) -> str:
    words = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {words[0][:200]}"
