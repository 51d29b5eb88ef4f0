"""Rows block by block, for data that need not fit into memory.

    for start, end in runs(program.rows, program.n, size=2**25):
        some = run_of(program.rows, start, end)
        prefetch(some)
        ...                                   # margins, combine, take: as of all rows
        release(some)

Rows that are not pages of a file are used where they lie: `prefetch` and `release` then do nothing.
"""

import numpy as np

from marginbench.harness import pages
from marginbench.harness.rowops.passes import frozen
from marginbench.harness.rowops.rows import CSR, Dense


def runs(rows: Dense | CSR, n: int, size: int) -> list[tuple[int, int]]:
    """(start, end) of blocks of about `size` bytes, one row at least."""
    step = max(1, size * n // max(1, bytes_of(rows)))
    return [(start, min(start + step, n)) for start in range(0, n, step)]


def bytes_of(rows: Dense | CSR, index: np.ndarray | None = None) -> int:
    """What the entries take; of the rows of `index`, if there is one."""
    if isinstance(rows, Dense):
        return rows.X.itemsize * rows.X.shape[1] * (len(rows.X) if index is None else index.size)
    lengths = rows.indptr[-1] - rows.indptr[0] if index is None else (rows.indptr[index + 1] - rows.indptr[index]).sum()
    return int(lengths) * (rows.data.itemsize + rows.indices.itemsize)


def run_of(rows: Dense | CSR, start: int, end: int) -> Dense | CSR:
    """The rows from `start` to before `end`, as views; of sparse ones, where each begins is a copy."""
    if isinstance(rows, Dense):
        return Dense(rows.X[start:end])
    ends = rows.indptr[start : end + 1]
    part = slice(int(ends[0]), int(ends[-1]))
    return frozen(CSR(ends - ends[0], rows.indices[part], rows.data[part]))


def prefetch(rows: Dense | CSR) -> None:
    """Have the pages of a file brought in at once."""
    pages.prefetch(*rows)


def release(rows: Dense | CSR) -> None:
    """Give the pages of a file back."""
    pages.release(*rows)


class Gathered:
    """Rows of several blocks side by side. most: bytes that they may take; beyond, they are `overfull` and dropped.

    Memory is reserved at once and first touched where it is used.
    """

    def __init__(self, like: Dense | CSR, most: int) -> None:
        self._arrays: tuple[np.ndarray, ...]
        self.overfull, self._used, self._ends = False, 0, [np.zeros(1, np.int64)]
        if isinstance(like, Dense):
            d = like.X.shape[1]
            self._arrays = (np.empty((most // (like.X.itemsize * d), d), like.X.dtype),)
        else:
            count = most // (like.data.itemsize + like.indices.itemsize)
            self._arrays = (np.empty(count, like.indices.dtype), np.empty(count, like.data.dtype))
            self._index = like.indptr.dtype

    def add(self, rows: Dense | CSR) -> None:
        new = (rows.X,) if isinstance(rows, Dense) else (rows.indices, rows.data)
        end = self._used + len(new[0])
        self.overfull = self.overfull or end > len(self._arrays[0])
        if self.overfull:
            return
        for array, values in zip(self._arrays, new, strict=True):
            array[self._used : end] = values
        if isinstance(rows, CSR):
            self._ends.append(rows.indptr[1:] + np.int64(self._used))
        self._used = end

    def taken(self) -> Dense | CSR:
        """All that was added."""
        arrays = tuple(array[: self._used] for array in self._arrays)
        if len(arrays) == 1:
            return frozen(Dense(*arrays))
        return frozen(CSR(np.concatenate(self._ends).astype(self._index), *arrays))
