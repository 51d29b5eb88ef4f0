"""Small real data sets that come with scikit-learn; nothing is downloaded."""

import numpy as np
from sklearn import datasets as bundled

from marginbench.datasets.check import Array
from marginbench.datasets.scaling import scaled


def breast_cancer(scale: str = "standard") -> tuple[Array, Array]:
    """Wisconsin diagnostic, 569 x 30; +1 = benign (357), -1 = malignant (212), in scikit-learn's order of classes."""
    X, target = bundled.load_breast_cancer(return_X_y=True)
    return scaled(X, scale), np.where(target == 1, 1.0, -1.0)


def digits(positive: int = 8, negative: int | None = 3, scale: str = "standard") -> tuple[Array, Array]:
    """Two of the ten digits, 8 x 8 pixels of 0 to 16; about 180 rows each."""
    X, target = bundled.load_digits(return_X_y=True)
    return pair(X, target, positive, negative, scale)


def wine(positive: int = 1, negative: int | None = 0, scale: str = "standard") -> tuple[Array, Array]:
    """Two of the three cultivars (0: 59 rows, 1: 71, 2: 48), 13 chemical measurements; linearly separable pairs."""
    X, target = bundled.load_wine(return_X_y=True)
    return pair(X, target, positive, negative, scale)


def pair(X: Array, target: Array, positive: int, negative: int | None, scale: str) -> tuple[Array, Array]:
    """The rows of two classes, scaled among themselves; negative = None: one class against all others."""
    classes = np.unique(target).tolist()
    for name, label in (("positive", positive), ("negative", negative)):
        if label not in classes and not (name == "negative" and label is None):
            raise ValueError(f"dataset.{name}={label}: possible are {', '.join(map(str, classes))}")
    if positive == negative:
        raise ValueError(f"dataset.positive={positive}, dataset.negative={negative}: need two different classes")
    rows = (target == positive) | (target == negative if negative is not None else True)
    return scaled(X[rows], scale), np.where(target[rows] == positive, 1.0, -1.0)
