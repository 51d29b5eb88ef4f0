"""A seeded family of random problems, so that a choice between solvers is fitted on some and judged on others.

    member(k), k = 0, 1, 2, ...: dense, one-hot, text and counts in turn; all else is drawn from the seed k

n 200 to 1e6, d 2 to 50000, at most 4e6 entries; columns of one scale or of many, and counts as skewed as words are;
the smaller class 2 to 50 % of the rows, 0 to 30 % of the labels turned; C n from 1e-4 to 1e6, that is over ten decades.

C is in the data: the rows are sqrt(C) x_i, and C = 1 is to be asked for. For C' = 1 and x' = sqrt(C) x, without a bias,
P(w) = 1/2 ||w||^2 + C sum_i max(0, 1 - y_i w.x_i) is C times P'(w / sqrt(C)): the same problem to every relative gap.
As in `generators.py` the same k gives the same bits everywhere.
"""

import numpy as np
import scipy.sparse as sp

from marginbench.datasets.check import Array, Matrix
from marginbench.datasets.generators import shuffled, top, whole, zipf

LARGEST = 4_000_000
"""Entries of the matrix."""
KINDS = ("dense", "one-hot", "text", "counts")


def member(number: int) -> tuple[Matrix, Array]:
    """Problem `number` of the family, for C = 1 without a bias."""
    number = whole("number", number, 0)
    rng = np.random.default_rng([number, 300])
    kind = KINDS[number % len(KINDS)]
    if kind == "dense":
        X = _dense(rng)
    elif kind == "one-hot":
        X = _one_hot(rng)
    else:
        X = _words(rng, raw=kind == "counts")
    C = _spread(rng, 1e-4, 1e6) / X.shape[0]
    X, y = shuffled(rng, X, _labels(rng, X))
    X *= np.sqrt(C)
    return X, y


def _dense(rng: np.random.Generator) -> Array:
    """Normal entries around a shift; columns of one scale, or of scales over 1, 2 or 4 decades."""
    d = int(_spread(rng, 2, 2000))
    n = int(_spread(rng, 200, min(1e6, LARGEST / d)))
    decades = rng.choice([0, 1, 2, 4])
    scales = np.array([_spread(rng, 1.0, 10.0**decades) for _ in range(d)]) if decades else np.ones(d)
    shift = rng.standard_normal(d) * rng.choice([0.0, 1.0])
    return (rng.standard_normal((n, d)) + shift) * scales / np.sqrt(d)


def _one_hot(rng: np.random.Generator) -> Matrix:
    """Each row has a 1 for each of a few variables; the k-th category is drawn in proportion to 1 / (k + 1)."""
    variables = int(_spread(rng, 2, 60))
    n = int(_spread(rng, 200, min(1e6, LARGEST / variables)))
    sizes = np.array([int(_spread(rng, 2, 300)) for _ in range(variables)])
    starts = np.cumsum(sizes) - sizes
    columns = np.stack([first + zipf(rng, size, n) for first, size in zip(starts, sizes, strict=True)], axis=1)
    indptr = np.arange(0, n * variables + 1, variables, dtype=np.int32)
    indices = columns.astype(np.int32).ravel()
    return sp.csr_array((np.ones(indices.size), indices, indptr), shape=(n, int(sizes.sum())))


def _words(rng: np.random.Generator, raw: bool) -> Matrix:
    """Documents of 1 to 2 length - 1 words: counts as they are, or in rows of norm 1, rare words weighing more."""
    d, length = int(_spread(rng, 500, 50_000)), int(_spread(rng, 5, 200))
    n = int(_spread(rng, 200, min(1e6, LARGEST / length)))
    row = np.repeat(np.arange(n), rng.integers(1, 2 * length, n))
    counts = sp.coo_array((np.ones(row.size), (row, zipf(rng, d, row.size))), shape=(n, d)).tocsr()
    counts.sum_duplicates()
    if raw:
        return counts
    documents = np.bincount(counts.indices, minlength=d)
    values = counts.data * np.sqrt(n / documents[counts.indices])
    row = np.repeat(np.arange(n), np.diff(counts.indptr))
    norm = np.sqrt(np.bincount(row, weights=values * values, minlength=n))
    return sp.csr_array((values / norm[row], counts.indices, counts.indptr), shape=(n, d))


def _labels(rng: np.random.Generator, X: Matrix) -> Array:
    """By a random hyperplane through a share of the columns, noise beside it, and a share of the labels turned."""
    n, d = X.shape
    effect = rng.standard_normal(d) * (rng.random(d) < rng.choice([0.1, 1.0]))
    score = (X * effect).sum(axis=1)
    spread = np.sqrt(((score - score.mean()) ** 2).mean())
    score = score + rng.choice([0.0, 0.3, 1.0]) * spread * rng.standard_normal(n)
    y = top(score, max(1, round(_spread(rng, 0.02, 0.5) * n)))
    turned = rng.random(n) < rng.choice([0.0, 0.0, 0.05, 0.3])
    y[turned] = -y[turned]
    y[0], y[1] = 1.0, -1.0  # both classes, whatever was turned
    return y


def _spread(rng: np.random.Generator, low: float, high: float) -> float:
    """A number between `low` and `high`, every octave as likely as any other."""
    octaves = int(np.frexp(high / low)[1])
    while True:
        drawn = low * 2.0 ** int(rng.integers(0, octaves)) * (1.0 + rng.random())
        if drawn <= high:
            return float(drawn)
