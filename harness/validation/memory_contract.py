"""The contract on memory: O(nnz + n + d), measured at three sizes, each in a process of its own."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from marginbench.datasets.digest import digest
from marginbench.harness.cell.spec import Cell
from marginbench.harness.running.isolation import Isolation
from marginbench.harness.running.job import Limits
from marginbench.harness.running.mapped_data import spill
from marginbench.harness.validation.scorecard import ContractLine

CONTRACT = "memory"
SIZES = (4000, 8000, 16000)
ENTRIES = 10
"""Non-zeros in a row. With d = n / 4, a matrix of n^2 or d^2 numbers is soon larger than the data."""

FACTORS = 8
"""How much smaller the sizes are for programs that are factorised, where nothing is promised."""

NOISE_MB = 8.0
"""Growth that is not told from what the allocator does."""

LINEAR = 3.0
"""The growth from the second size to the third over that from the first to the second: 2 is linear, 4 quadratic."""


def sample(n: int) -> tuple[sp.csr_array, np.ndarray]:
    """Sparse rows, labelled by a random plane and some noise."""
    rng, d = np.random.default_rng(n), n // 4
    columns = np.sort(rng.integers(d, size=(n, ENTRIES)), axis=1)
    X = sp.csr_array((rng.normal(size=columns.size), columns.ravel(), np.arange(0, columns.size + 1, ENTRIES)), (n, d))
    X.sum_duplicates()
    y = np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 0.0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return X, y


def line(cell: Cell, held: bool, isolation: Isolation, folder: Path) -> ContractLine:
    """held: whether the promise is made; the factors of a quadratic program fill in."""
    sizes = SIZES if held else tuple(n // FACTORS for n in SIZES)
    peaks, limits = [], Limits(seconds=20.0, memory_mb=1024.0)
    for n in (sizes[0] // 20, *sizes):
        X, y = sample(n)
        name = digest(X, y)
        one = replace(cell, dataset_name=f"n = {n}", budget={"seconds": 2.0, "iterations": 3})
        record = isolation.run(one, spill(X, y, name, folder), name, None, limits, None).record
        if record.status == "skipped" or record.peak_mb is None:
            return ContractLine(
                CONTRACT, "not applicable", record.message or "this system does not say what a process uses"
            )
        peaks.append(record.peak_mb)
        if record.status == "memory" and held:
            return ContractLine(
                CONTRACT, "fail", f"more than {limits.memory_mb:g} MB at n = {n} with {X.nnz} non-zeros"
            )
    grown = np.maximum(0.0, np.diff(peaks))
    used = ", ".join(f"{peak - peaks[0]:.0f} MB at n = {n}" for peak, n in zip(peaks[1:], sizes, strict=True))
    if grown[2] <= NOISE_MB or grown[2] <= LINEAR * grown[1]:
        return ContractLine(CONTRACT, "pass", f"grows no faster than the data: {used}")
    exponent = f"like n^{np.log2(grown[2] / max(grown[1], 1.0)):.1f}"
    if not held:
        return ContractLine(
            CONTRACT, "not applicable", f"the program is a matrix to factorise; grows {exponent}: {used}"
        )
    return ContractLine(CONTRACT, "fail", f"grows {exponent}, faster than the data: {used}")
