"""Blocks of rows on the workers of a Dask cluster: each is sent there once, and what is computed of it is a task.

Per task and read, w and the block's multipliers go out; margins, sums and the rows near the margin come back. Where a
worker is lost its blocks are sent again, from here. Workers need this package and the versions that are used here.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import numpy as np

from marginbench.harness.model.problem import InputError
from marginbench.harness.rowops import ALONE, Dense, read_only, release, runs
from marginbench.solvers.newton.block_source import Form, Share, Task, share_of

CONNECT_SECONDS = 30
AHEAD = 3
"""Tasks that are given for each thread of the cluster, so that none waits for us."""
ATTEMPTS = 3
"""How often a block is sent before what went wrong with it is said."""


class DaskSource:
    def __init__(self, whole: Share, form: Form, size: int, address: str) -> None:
        self.whole, self.form, self.address = whole, form, address
        self.runs = runs(whole.rows, whole.y.size, size)
        self._client: Any = None
        self._blocks: list[Any] = []

    def __enter__(self) -> Self:
        from distributed import Client  # 2 s, for this source alone

        try:
            self._client = Client(self.address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            said = " ".join(str(error).split())
            raise InputError(f"solver.scheduler={self.address}: no Dask scheduler answers: {said}") from None
        self._blocks = [self._sent(k) for k in range(len(self.runs))]
        return self

    def __exit__(self, *_: object) -> None:
        self._blocks.clear()
        self._client.close()

    def each(self, do: Task, arguments: Callable[[int, int], Sequence[Any]]) -> Iterator[tuple[slice, Any]]:
        ahead = AHEAD * max(1, sum(self._client.nthreads().values()))
        waiting: deque[tuple[int, Any]] = deque()
        for k in range(len(self.runs)):
            waiting.append((k, self._given(k, do, arguments)))
            if len(waiting) >= ahead:
                yield self._result(*waiting.popleft(), do, arguments)
        while waiting:
            yield self._result(*waiting.popleft(), do, arguments)

    def _given(self, k: int, do: Task, arguments: Callable[[int, int], Sequence[Any]]) -> Any:
        return self._client.submit(computed, do, self._blocks[k], self.form, *arguments(*self.runs[k]), pure=False)

    def _result(self, k: int, task: Any, do: Task, arguments: Callable[[int, int], Sequence[Any]]) -> tuple[slice, Any]:
        for attempt in range(ATTEMPTS):
            try:
                return slice(*self.runs[k]), task.result()
            except Exception:  # the worker that had the block is gone, or the task raised: which one, the last tells
                if attempt + 1 == ATTEMPTS:
                    raise
                self._blocks[k] = self._sent(k)
                task = self._given(k, do, arguments)
        raise AssertionError("there is at least one attempt")

    def _sent(self, k: int) -> Any:
        share = share_of(self.whole, *self.runs[k])
        block = self._client.scatter(share, hash=False)
        release(share.rows)
        release(Dense(share.y))
        return block


def computed(do: Task, share: Share, form: Form, *arguments: Any) -> Any:
    """On a worker. Arrays that have travelled are made what kernels are compiled for: data read-only, others not."""
    rows = type(share.rows)(*map(read_only, share.rows))
    here = Share(rows, *(read_only(array) for array in share[1:]))
    ours = (np.array(one) if isinstance(one, np.ndarray) else one for one in arguments)
    return do(here, form, ALONE, *ours)
