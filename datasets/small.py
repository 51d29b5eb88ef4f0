"""Small problems, each with one difficulty, for the question whether all methods agree."""

import numpy as np

from marginbench.datasets.check import Array, Matrix
from marginbench.datasets.generators import duplicates, overlapping, rare, separable, text


def small(name: str) -> tuple[Matrix, Array]:
    """One of twelve problems of at most 102 rows: overlapping, separable, few_rows (12 x 200), one_feature, duplicates,
    zero_rows, constant_column, imbalanced (1 : 50), badly_scaled (columns from 1e-3 to 1e3), sparse (CSR), two_points,
    toy (the six points of scikit-learn's manual)."""
    if name not in PROBLEMS:
        raise ValueError(f"dataset.name={name}: possible are {', '.join(PROBLEMS)}")
    return PROBLEMS[name]()


def constant_column() -> tuple[Array, Array]:
    X, y = overlapping(60, 3, 1.5, 3)
    return np.column_stack([X, np.full(y.size, 3.0)]), y


def badly_scaled() -> tuple[Array, Array]:
    X, y = overlapping(60, 4, 1.5, 5)
    return X * np.array([1e-3, 1.0, 1e3, 10.0]), y


def two_points() -> tuple[Array, Array]:
    return np.array([[1.0, 2.0], [-1.0, 0.5]]), np.array([1.0, -1.0])


def toy() -> tuple[Array, Array]:
    """With C = 1 and a free bias the multipliers are 0.25 at the points (-1, -1) and (1, 1), and 0 at the others."""
    X = np.array([[-2.0, -1.0], [-1.0, -1.0], [-1.0, -2.0], [1.0, 1.0], [1.0, 2.0], [2.0, 1.0]])
    return X, np.array([-1.0, -1.0, -1.0, 1.0, 1.0, 1.0])


PROBLEMS = {
    "overlapping": lambda: overlapping(60, 4, 1.5, 1),
    "separable": lambda: separable(40, 3, 0.3, 1),
    "few_rows": lambda: overlapping(12, 200, 2.0, 2),
    "one_feature": lambda: overlapping(40, 1, 1.5, 4),
    "duplicates": lambda: duplicates(60, 3, 1.5, 0.4, 0.0, 6),
    "zero_rows": lambda: duplicates(60, 3, 1.5, 0.0, 0.15, 7),
    "constant_column": constant_column,
    "imbalanced": lambda: rare(102, 3, 2.0, 2 / 102, 8),
    "badly_scaled": badly_scaled,
    "sparse": lambda: text(60, 40, 8, 0.3, 9),
    "two_points": two_points,
    "toy": toy,
}
