"""Synthetic data with properties known in advance; each function's docstring states them, and a test checks them.

The digest of the data names a stored optimum, so the same arguments should give the same bits everywhere: beyond
numpy's Generator (PCG64) only sums, products, quotients and square roots are used, which IEEE arithmetic fixes, in an
order that no BLAS decides.
"""

from collections.abc import Callable
from decimal import Decimal

import numpy as np
import scipy.sparse as sp

from marginbench.datasets.check import Array, Matrix


def separable(n: int, d: int, margin: float, seed: int) -> tuple[Array, Array]:
    """Two classes whose largest geometric margin is `margin`, for each of the three biases.

    With a random unit vector u, x_i = y_i (margin + e_i) u + z_i, e_i >= 0 and z_i orthogonal to u. A tenth of the
    rows, and at least two, come in pairs y = +1 and y = -1 with the same z and e = 0. For such a pair
    y(w.x + b) = margin w.u +- (w.z + b): the smaller of the two is at most margin ||w||. So u attains the largest
    margin; the hard-margin optimum is w* = u / margin, b* = 0, and as b* = 0 also with an augmented bias.
    """
    n, d, rng = whole("n", n, 2), whole("d", d, 1), generator(seed)
    margin = positive("margin", margin)
    u = rng.standard_normal(d)
    u /= np.sqrt((u * u).sum())
    y = alternating(n)
    Z = rng.standard_normal((n, d))
    excess = np.abs(rng.standard_normal(n))
    pairs = max(1, n // 20)
    Z[1 : 2 * pairs : 2] = Z[0 : 2 * pairs : 2]
    excess[: 2 * pairs] = 0.0
    for _ in range(2):  # once more removes the rounding of the first projection
        Z -= (Z * u).sum(axis=1)[:, None] * u
    return shuffled(rng, (y * (margin + excess))[:, None] * u + Z, y)


def overlapping(n: int, d: int, distance: float, seed: int) -> tuple[Array, Array]:
    """Two Gaussians N(+-distance/2 u, I) with u = (1, ..., 1) / sqrt(d); classes of equal size.

    No rule errs less often than sign(u.x), which errs with probability Phi(-distance / 2).
    """
    n, d, rng = whole("n", n, 2), whole("d", d, 1), generator(seed)
    distance = positive("distance", distance)
    y = alternating(n)
    return shuffled(rng, gaussians(rng, y, d, distance), y)


def units(n: int, d: int, distance: float, scale: float, seed: int) -> tuple[Array, Array]:
    """`overlapping` in other units: every entry times `scale`. With a power of two for it, and C / scale^2 for C, every
    number of the problem is that of `overlapping` times a power of two: nothing has become harder."""
    X, y = overlapping(n, d, distance, seed)
    return positive("scale", scale) * X, y


def label_noise(n: int, d: int, margin: float, flip: float, seed: int) -> tuple[Array, Array]:
    """`separable` with the labels of round(flip n_c) rows of each class c turned; 0 <= flip < 0.5."""
    flip = real("flip", flip, lambda v: 0 <= v < 0.5, "a share of at least 0 and below 0.5")
    X, y = separable(n, d, margin, seed)
    rng = np.random.default_rng([int(seed), 1])
    classes = np.flatnonzero(y > 0), np.flatnonzero(y < 0)
    turned = np.concatenate([rng.permutation(rows)[: round(flip * rows.size)] for rows in classes])
    y[turned] = -y[turned]
    return X, y


def ill_conditioned(n: int, d: int, condition: float, noise: float, seed: int) -> tuple[Array, Array]:
    """X = sqrt(n) Q diag(s), Q'Q = I, with s geometric from 1 to 1/condition: the condition number of X is `condition`.

    y = +1 for the larger half of Q v + noise g, with v of signs and g normal of the spread of Q v: all columns
    matter, those of small scale too.
    """
    n, d, rng = whole("n", n, 2), whole("d", d, 2), generator(seed)
    if n < d:
        raise ValueError(f"dataset.n={n}, dataset.d={d}: a chosen condition number needs n >= d")
    condition, noise = at_least("condition", condition, 1), at_least("noise", noise, 0)
    Q = orthonormal(rng.standard_normal((n, d)))
    v = np.where(rng.random(d) < 0.5, -1.0, 1.0)
    score = (Q * v).sum(axis=1) + noise * np.sqrt(d / n) * rng.standard_normal(n)
    scale = [float(Decimal(condition) ** (Decimal(-j) / (d - 1))) for j in range(d)]
    return np.sqrt(n) * Q * rng.permutation(scale), top(score, n // 2)


def text(n: int, d: int, length: int, topic: float, seed: int) -> tuple[Matrix, Array]:
    """Sparse rows of unit norm: word counts of documents, weighted by sqrt(n / documents that hold the word).

    Documents have 1 to 2 length - 1 words. The word of rank k is drawn in proportion to 1 / (k + 1). A share `topic`
    of the draws is replaced by the word of the class from the pair of neighbours 2j, 2j + 1.
    """
    n, d, length, rng = whole("n", n, 2), whole("d", d, 2), whole("length", length, 1), generator(seed)
    y = alternating(n)
    counts = bag_of_words(rng, rng.integers(1, 2 * length, n), y, d, topic)
    documents = np.bincount(counts.indices, minlength=d)
    values = counts.data * np.sqrt(n / documents[counts.indices])
    row = np.repeat(np.arange(n), np.diff(counts.indptr))
    norm = np.sqrt(np.bincount(row, weights=values * values, minlength=n))
    return shuffled(rng, sp.csr_array((values / norm[row], counts.indices, counts.indptr), shape=(n, d)), y)


def raw_counts(n: int, d: int, shortest: int, spread: float, topic: float, seed: int) -> tuple[Matrix, Array]:
    """Word counts as they are, with lengths from `shortest` to exactly `spread` times that, both present.

    The length is shortest / u with u uniform in [1/spread, 1]: a few rows have norms in the hundreds or thousands.
    Words are drawn as in `text`.
    """
    n, d, shortest, rng = whole("n", n, 2), whole("d", d, 2), whole("shortest", shortest, 1), generator(seed)
    spread = at_least("spread", spread, 1)
    y = alternating(n)
    u = 1 / spread + (1 - 1 / spread) * rng.random(n)
    lengths = np.floor(shortest / u + 0.5).astype(np.int64)
    lengths[:2] = round(shortest * spread), shortest
    return shuffled(rng, bag_of_words(rng, lengths, y, d, topic), y)


def duplicates(n: int, d: int, distance: float, repeats: float, zeros: float, seed: int) -> tuple[Array, Array]:
    """`overlapping` with exactly round(zeros n) rows of zeros and round(repeats n) exact copies, labels included.

    The zero rows carry both labels in turn, so that with two of them no hyperplane separates the data.
    """
    n, d, rng = whole("n", n, 2), whole("d", d, 1), generator(seed)
    distance = positive("distance", distance)
    copies = round(n * at_least("repeats", repeats, 0))
    empty = round(n * at_least("zeros", zeros, 0))
    if copies + empty > n - 2:
        given = f"dataset.repeats={repeats}, dataset.zeros={zeros}"
        raise ValueError(f"{given}: need shares that leave at least 2 of the n={n} rows")
    y = alternating(n - copies - empty)
    X = gaussians(rng, y, d, distance)
    source = rng.integers(0, y.size, copies)
    X = np.concatenate([X, X[source], np.zeros((empty, d))])
    return shuffled(rng, X, np.concatenate([y, y[source], alternating(empty)]))


def rare(n: int, d: int, distance: float, ratio: float, seed: int) -> tuple[Array, Array]:
    """`overlapping` with exactly max(1, round(ratio n)) rows of class +1; 0 < ratio <= 0.5."""
    n, d, rng = whole("n", n, 2), whole("d", d, 1), generator(seed)
    distance = positive("distance", distance)
    ratio = real("ratio", ratio, lambda v: 0 < v <= 0.5, "a share above 0 and at most 0.5")
    y = np.where(np.arange(n) < max(1, round(ratio * n)), 1.0, -1.0)
    return shuffled(rng, gaussians(rng, y, d, distance), y)


def one_hot(n: int, d: int, variables: int, ratio: float, noise: float, seed: int) -> tuple[Matrix, Array]:
    """Categorical variables, one column per category: each row has exactly `variables` ones, one per variable.

    The d columns are dealt to the variables at random, at least two each, in consecutive blocks; category k of a
    variable is drawn in proportion to 1 / (k + 1). Exactly max(1, round(ratio n)) rows are +1: those with the
    largest sum of their categories' effects and noise.
    """
    n, variables, rng = whole("n", n, 2), whole("variables", variables, 1), generator(seed)
    d = whole("d", d, 2 * variables)
    ratio = real("ratio", ratio, lambda v: v > 0 and round(v * n) < n, "a share above 0 that leaves a row to -1")
    noise = at_least("noise", noise, 0)
    sizes = 2 + np.bincount(rng.integers(0, variables, d - 2 * variables), minlength=variables)
    starts = np.cumsum(sizes) - sizes
    columns = np.stack([first + zipf(rng, size, n) for first, size in zip(starts, sizes, strict=True)], axis=1)
    effect = rng.standard_normal(d)
    score = effect[columns].sum(axis=1) + noise * np.sqrt(variables) * rng.standard_normal(n)
    indices = columns.astype(np.int32).ravel()
    indptr = np.arange(0, n * variables + 1, variables, dtype=np.int32)
    X = sp.csr_array((np.ones(indices.size), indices, indptr), shape=(n, d))
    return X, top(score, max(1, round(ratio * n)))


# -- parts -------------------------------------------------------------------------------------------------------


def gaussians(rng: np.random.Generator, y: Array, d: int, distance: float) -> Array:
    return rng.standard_normal((y.size, d)) + (y * (distance / 2 / np.sqrt(d)))[:, None]


def bag_of_words(rng: np.random.Generator, lengths: Array, y: Array, d: int, topic: float) -> sp.csr_array:
    topic = real("topic", topic, lambda v: 0 <= v <= 1, "a share from 0 to 1")
    row = np.repeat(np.arange(y.size), lengths)
    word = zipf(rng, d, row.size)
    of_class = np.minimum(word // 2 * 2 + (y[row] > 0), d - 1)
    word = np.where(rng.random(row.size) < topic, of_class, word)
    counts = sp.coo_array((np.ones(row.size), (row, word)), shape=(y.size, d)).tocsr()
    counts.sum_duplicates()
    return counts


def zipf(rng: np.random.Generator, size: int, n: int) -> Array:
    """n ranks 0, ..., size - 1, rank k with probability proportional to 1 / (k + 1)."""
    total = np.cumsum(1.0 / np.arange(1, size + 1))
    return np.minimum(np.searchsorted(total, rng.random(n) * total[-1], side="right"), size - 1)


def orthonormal(A: Array) -> Array:
    """Gram and Schmidt's columns, each step twice ("twice is enough"); sums of fixed order, unlike LAPACK's QR."""
    Q = np.array(A.T, order="C")
    for j in range(len(Q)):
        for _ in range(2):
            for i in range(j):
                Q[j] -= (Q[i] * Q[j]).sum() * Q[i]
        Q[j] /= np.sqrt((Q[j] * Q[j]).sum())
    return np.ascontiguousarray(Q.T)


def alternating(n: int) -> Array:
    """+1, -1, +1, ...: classes of equal size, one more +1 if n is odd."""
    return np.where(np.arange(n) % 2 == 0, 1.0, -1.0)


def top(score: Array, k: int) -> Array:
    """+1 for the k largest scores, -1 for the others."""
    y = np.full(score.size, -1.0)
    y[np.argsort(-score, kind="stable")[:k]] = 1.0
    return y


def shuffled(rng: np.random.Generator, X: Matrix, y: Array) -> tuple[Matrix, Array]:
    order = rng.permutation(y.size)
    if isinstance(X, np.ndarray):
        return X[order], y[order]
    X = X[order]
    X.sort_indices()
    X = sp.csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
    return X, y[order]


def whole(name: str, value: int, least: int) -> int:
    """A whole number; 1e5 is one too."""
    try:
        if int(value) == value and value >= least:
            return int(value)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError(f"dataset.{name}={value}: need a whole number of at least {least}")


def real(name: str, value: float, fits: Callable[[float], bool], says: str) -> float:
    """A finite number that fits."""
    try:
        if np.isfinite(value) and fits(value):
            return float(value)
    except TypeError:
        pass
    raise ValueError(f"dataset.{name}={value}: need {says}")


def positive(name: str, value: float) -> float:
    return real(name, value, lambda v: v > 0, "a finite number above 0")


def at_least(name: str, value: float, least: float) -> float:
    return real(name, value, lambda v: v >= least, f"a finite number of at least {least}")


def generator(seed: int) -> np.random.Generator:
    return np.random.default_rng(whole("seed", seed, 0))
