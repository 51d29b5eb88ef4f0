"""What is done to a data set after it is read: two classes, rows held out, a subsample, scaling, and rounding.

In this order: so the held-out rows are the same for every size of the subsample, the scale of columns is learnt from
the training rows alone, and rows that shall have norm 1 have it in the end. Everything random comes from `seed`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from marginbench.datasets import scaling
from marginbench.datasets.catalogue import with_ending
from marginbench.datasets.check import Array, check
from marginbench.datasets.samples import Samples, samples
from marginbench.harness.matrices import all_finite

ROWS = ("none", "unit")
PRECISIONS = ("float64", "float32")
PUBLISHED = "published"
"""The word for the test file that comes with a data set."""


class Parts(NamedTuple):
    """The rows to learn from, and those that were held out; None: all rows are to learn from."""

    train: Samples
    test: Samples | None = None


@dataclass(frozen=True)
class Preprocessing:
    """The options `preprocess.*`, checked; see conf/run.yaml."""

    positive: Any = None
    negative: Any = None
    rows: str = "none"
    columns: str = "none"
    precision: str = "float64"
    subsample: int | float | None = None
    test: int | float | str | None = None
    stratified: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        for name, possible in (("rows", ROWS), ("columns", scaling.COLUMNS), ("precision", PRECISIONS)):
            if getattr(self, name) not in possible:
                raise ValueError(f"preprocess.{name}={getattr(self, name)}: possible are {', '.join(possible)}")
        _check_amount("subsample", self.subsample)
        if not isinstance(self.test, str):
            _check_amount("test", self.test, f", {PUBLISHED}, or a file")
        if not isinstance(self.stratified, bool):
            raise ValueError(f"preprocess.stratified={self.stratified}: possible are true, false")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise ValueError(f"preprocess.seed={self.seed}: need a whole number, 0 or more")

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> "Preprocessing":
        known = [field.name for field in fields(cls)]
        for name in options:
            if name not in known:
                raise ValueError(f"preprocess.{name}: there is no such option; possible are {', '.join(known)}")
        return cls(**options)

    def with_classes(self, dataset: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The configuration with the classes that are asked for; or, where it has no such options, these apart."""
        asked = {"positive": self.positive, "negative": self.negative}
        asked = {key: value for key, value in asked.items() if value is not None}
        inside = {key: value for key, value in asked.items() if key in dataset}
        return {**dataset, **inside}, {key: value for key, value in asked.items() if key not in dataset}

    def test_config(self, dataset: Mapping[str, Any]) -> dict[str, Any] | None:
        """The configuration that reads the held-out rows from a file of their own; None where there is none."""
        if not isinstance(self.test, str):
            return None
        if self.test == PUBLISHED:
            if not str(dataset.get("_target_", "")).endswith(".field_set"):
                raise ValueError(
                    f"preprocess.test={PUBLISHED}: only data sets that `marginbench data` lists have a test file; "
                    "possible are a share below 1, a number of rows, or a file"
                )
            return {**dataset, "part": "test"}
        if "path" not in dataset:
            raise ValueError(f"preprocess.test={self.test}: this data set is no file; need a share or a number of rows")
        if with_ending(Path(self.test)) is None:
            raise ValueError(f"preprocess.test={self.test}: no such file")
        plain = {key: value for key, value in dataset.items() if key != "name"}
        return {**plain, "_target_": "marginbench.datasets.files.file", "path": self.test}

    def parts(self, whole: Samples, held_out: Samples | None, name: str) -> Parts:
        """`held_out`: what was read by `test_config`."""
        if self == Preprocessing(self.positive, self.negative, seed=self.seed, stratified=self.stratified):
            return Parts(whole)
        train, test, notes = whole, held_out, list(whole.notes)
        if self.test is not None and test is None:
            train, test = self._split(whole)
        if test is not None:
            train, test = _same_width(train, test)
            notes.append(f"{test[0].shape[0]} rows are held out")
        if self.subsample is not None:
            before = train[0].shape[0]
            kept = self._drawn(train[1], self.subsample, "subsample", 2)
            train = _taken(train, kept)
            notes.append(f"a subsample of {kept.size} of {before} rows")
        train, test = self._scaled(train, test)
        if np.unique(train[1]).size < 2:
            raise ValueError(
                f"{name}: the rows that are left have one class only; preprocess.stratified=true keeps both"
            )
        held = None if test is None else samples(*check(*test, f"{name}, held-out rows"))
        train = samples(*check(*train, name), notes)
        if self.precision == "float32":
            train, held = _rounded(train), None if held is None else _rounded(held)
        return Parts(train, held)

    def _scaled(self, train: Samples, test: Samples | None) -> tuple[Samples, Samples | None]:
        changes: list[Any] = []
        if self.columns != "none":
            columns = scaling.fitted(train[0], self.columns, f"preprocess.columns={self.columns}")
            changes.append(columns.applied)
        if self.rows == "unit":
            changes.append(scaling.unit_rows)
        for change in changes:
            train = samples(change(train[0]), train[1])
            test = samples(change(test[0]), test[1]) if test is not None else None
        return train, test

    def _split(self, whole: Samples) -> tuple[Samples, Samples]:
        assert isinstance(self.test, int | float)
        held = self._drawn(whole[1], self.test, "test", 1)
        kept = np.setdiff1d(np.arange(whole[1].size), held)
        return _taken(whole, kept), _taken(whole, held)

    def _drawn(self, y: Array, amount: int | float, option: str, stream: int) -> Array:
        """Some rows in their order: of each class its share, or any."""
        n = y.size
        count = round(amount * n) if amount < 1 else int(amount)
        if not 1 <= count < n + (option == "subsample"):
            raise ValueError(f"preprocess.{option}={amount}: comes to {count} of {n} rows")
        rng = np.random.default_rng([self.seed, stream])
        if not self.stratified:
            return np.sort(rng.choice(n, count, replace=False))
        classes = [np.flatnonzero(y < 0), np.flatnonzero(y > 0)]
        first = _share(count, classes[0].size, classes[1].size)
        drawn = [rng.choice(rows, k, replace=False) for rows, k in zip(classes, (first, count - first), strict=True)]
        return np.sort(np.concatenate(drawn))


def _share(count: int, a: int, b: int) -> int:
    """How many of `count` rows are of the first class, of a and b rows: its share, but one of each where that goes."""
    share = round(count * a / (a + b))
    return min(max(share, min(1, count - 1), count - b), a, max(count - 1, 1))


def _check_amount(name: str, value: Any, more: str = "") -> None:
    if value is None:
        return
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not (0 < value < 1 or (value >= 1 and float(value).is_integer())):
        raise ValueError(f"preprocess.{name}={value}: need a share between 0 and 1, or a number of rows{more}")


def _taken(whole: Samples, rows: Array) -> Samples:
    return samples(whole[0][rows], whole[1][rows])


def _rounded(part: Samples) -> Samples:
    """Entries rounded to float32, and stored so; the problem is the one with the rounded entries."""
    X, y = part
    with np.errstate(over="ignore"):
        X = X.astype(np.float32)
    if not all_finite(X):
        raise ValueError(
            f"preprocess.precision=float32: has entries beyond {np.finfo(np.float32).max:.1e}; use float64"
        )
    return samples(X, y, [*part.notes, "entries are rounded to float32"])


def _same_width(train: Samples, test: Samples) -> tuple[Samples, Samples]:
    """Files may lack their last columns."""
    d = max(train[0].shape[1], test[0].shape[1])
    return _widened(train, d), _widened(test, d)


def _widened(part: Samples, d: int) -> Samples:
    X, y = part
    if X.shape[1] == d:
        return part
    if isinstance(X, np.ndarray):
        return samples(np.hstack([X, np.zeros((X.shape[0], d - X.shape[1]))]), y)
    return samples(type(X)((X.data, X.indices, X.indptr), shape=(X.shape[0], d)), y)
