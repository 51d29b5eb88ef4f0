"""Generated data that never are in memory: blocks of rows are written to disk as they are made.

As of `generators.py`, the same arguments give the same bits everywhere.
"""

import os
import tempfile
from typing import BinaryIO

import numpy as np

from marginbench.datasets.cache import data_folder
from marginbench.datasets.check import Array
from marginbench.datasets.generators import gaussians, generator, positive, whole
from marginbench.datasets.mapped import mapped_file

BLOCK = 2**21
"""Numbers that are made at a time: 16 MB."""


def overlapping_on_disk(n: int, d: int, distance: float, seed: int) -> tuple[Array, Array]:
    """`overlapping`, in a file: Gaussians N(+-distance/2 u, I) with u = (1, ..., 1) / sqrt(d).

    Rows 0, 2, 4, ... are of the first class, so that classes have equal size. X is mapped from a file without a name in
    the cache, whose space is free again when nobody uses it.
    """
    n, d, distance = whole("n", n, 2), whole("d", d, 1), positive("distance", distance)
    generator(seed)  # whether it is a seed
    step = max(2, BLOCK // d // 2 * 2)
    header = {"descr": "<f8", "fortran_order": False, "shape": (n, d)}
    with unnamed_file() as file:
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, n, step):
            rng = np.random.default_rng([int(seed), start // step])
            file.write(gaussians(rng, labels(min(step, n - start)), d, distance).data)
        file.flush()
        file.seek(0)
        return mapped_file(file, touched=False), labels(n)


def labels(n: int) -> Array:
    y = np.full(n, -1.0)
    y[::2] = 1.0
    return y


def unnamed_file() -> BinaryIO:
    """A file in the cache that is gone with its last user, unless it is linked to a name."""
    folder = data_folder()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        number = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o666)
    except (OSError, AttributeError):  # a file system without: what is made is then copied
        with tempfile.TemporaryFile(dir=folder) as file:
            number = os.dup(file.fileno())
    return os.fdopen(number, "r+b")
