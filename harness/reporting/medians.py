"""The two medians of tables and report: of runs, and of ratios."""

import math
from typing import Any

import numpy as np


def median(values: Any) -> Any:
    """The median of runs, everywhere in tables and report: of an even number the upper one, so that half of the runs is
    not enough; of none infinity. Of an array, along its last axis. Ratios have a `median_ratio`."""
    found = np.sort(np.asarray(values, dtype=float), axis=-1)
    if not found.shape[-1]:
        return math.inf
    middle = found[..., found.shape[-1] // 2]
    return float(middle) if found.ndim == 1 else middle


def median_ratio(ratios: Any) -> Any:
    """The median of ratios, everywhere in tables and report: of an even number the geometric mean of the middle two, so
    that a over b is 1 / (b over a). Infinity where one of the two is; of none infinity. Along the last axis."""
    found = np.sort(np.asarray(ratios, dtype=float), axis=-1)
    size = found.shape[-1]
    if not size:
        return math.inf
    middle = np.sqrt(found[..., (size - 1) // 2] * found[..., size // 2])
    return float(middle) if found.ndim == 1 else middle
