"""-1 and +1 from labels as people write them: numbers or words."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from marginbench.datasets.check import Array, distinct, listed
from marginbench.datasets.columns import Split


def signs(
    given: Any, positive: Sequence[str] | None, name: str, advice: str = "choose with dataset.positive=..."
) -> tuple[Array, list[str]]:
    """(y, notes). `positive`: the labels that become +1; by default the larger (in text: the later) of exactly two.

    `advice`: what to do where there are more.
    """
    given = _as_numbers_or_text(given, name)
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        row = int(np.flatnonzero(~np.isfinite(given))[0])
        raise ValueError(f"{name}: row {row} (counted from 0) has the label {given[row]}; need finite numbers or text")
    found = distinct(given)
    if positive is None:
        if found.size != 2:
            raise ValueError(f"{name}: labels {listed(found)}: need exactly two classes; {advice}")
        chosen = found[1:]
    else:
        missing = [text for text in positive if not any(_same(label, text) for label in found)]
        if missing:
            raise ValueError(f"{name}: dataset.positive={missing[0]} is not among the labels {listed(found)}")
        chosen = np.array([label for label in found if any(_same(label, text) for text in positive)])
        if chosen.size == found.size:
            raise ValueError(f"{name}: dataset.positive takes every label ({listed(found)}); none is left for -1")
    taken = np.isin(given, chosen)
    notes = []
    if found.tolist() != [-1.0, 1.0] or chosen.tolist() != [1.0]:
        others = found[~np.isin(found, chosen)]
        counts = f"{np.count_nonzero(taken)} and {np.count_nonzero(~taken)} rows"
        notes = [f"+1 stands for {listed(chosen, 3)}, -1 for {listed(others, 3)} ({counts})"]
    return np.where(taken, 1.0, -1.0), notes


def of_classes(
    read: Split, positive: list[str] | None, negative: list[str] | None, name: str
) -> tuple[Split, list[str] | None]:
    """The rows of the classes that are asked for, and the labels that become +1.

    `negative`: the labels that become -1. None: all but the positive ones, and no row is left out.
    """
    if negative is None:
        return read, positive
    given = _as_numbers_or_text(read.labels, name)
    found = distinct(given)
    for text in negative:
        if not any(_same(label, text) for label in found):
            raise ValueError(f"{name}: dataset.negative={text} is not among the labels {listed(found)}")
        if positive is not None and any(_same(label, text) for label in positive):
            raise ValueError(f"{name}: {text} is both in dataset.positive and in dataset.negative")
    against = [label for label in found if any(_same(label, text) for text in negative)]
    if positive is None:
        if len(against) == found.size:
            raise ValueError(f"{name}: dataset.negative takes every label ({listed(found)}); none is left for +1")
        return read, [str(label) for label in found if label not in against]
    taken = [label for label in found if any(_same(label, text) for text in positive)]
    rows = np.isin(given, [*against, *taken])
    if rows.all():
        return read, positive
    note = f"{np.count_nonzero(~rows)} rows of other classes are left out"
    return Split(read.X[np.flatnonzero(rows)], given[rows], [*read.notes, note]), positive


def listed_labels(positive: Any) -> list[str]:
    """The option `positive`, one label or a list of them, as texts."""
    return [str(v) for v in ([positive] if isinstance(positive, str | int | float) else positive)]


def _as_numbers_or_text(given: Any, name: str) -> Array:
    """One label per row: float64 where all of them are numbers, else text."""
    given = np.asarray(given)
    if given.ndim == 2 and 1 in given.shape:
        given = given.ravel()
    if given.ndim != 1:
        raise ValueError(f"{name}: labels of shape {given.shape}; need one per row")
    if given.dtype.kind not in "biufUSO" or (given.dtype.kind == "O" and not _plain(given)):
        raise ValueError(f"{name}: labels of type {given.dtype}; need numbers or text, and none missing")
    try:
        return given.astype(np.float64, copy=False)
    except (ValueError, TypeError, OverflowError):
        if given.dtype.kind == "S":
            return np.array([label.decode("utf-8", "replace") for label in given.tolist()], dtype=str)
        return given.astype(str)


def _plain(labels: Array) -> bool:
    """All numbers, or all text."""
    kinds = {type(label) for label in labels.tolist()}
    return kinds <= {str} or kinds <= {int, float, bool}


def _same(label: Any, wanted: str) -> bool:
    """Whether the option's text means this label; 1, +1 and 1.0 are one number."""
    try:
        return float(label) == float(wanted)
    except ValueError:
        return str(label) == wanted
