"""Columns brought to a common scale."""

import numpy as np

from marginbench.datasets.check import Array


def scaled(X: Array, scale: str) -> Array:
    """standard: each column to mean 0 and variance 1, constant columns to 0; none: as it is."""
    X = np.array(X, dtype=np.float64, order="C")
    if scale == "none":
        return X
    if scale != "standard":
        raise ValueError(f"dataset.scale={scale}: possible are standard, none")
    spread = X.std(axis=0)
    constant = spread <= 1e-12 * np.abs(X).max(axis=0)  # rounding may leave a constant column a tiny spread
    return np.where(constant, 0.0, (X - X.mean(axis=0)) / np.where(constant, 1.0, spread))
