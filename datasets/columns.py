"""A table of named columns, split into labels and features.

Columns of numbers are features as they are. Columns of text become one column of 0 and 1 for each of their values. The
label column is named by the user, or it is obvious; else the table is refused. What was decided is said in notes.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from marginbench.datasets.check import Array, Matrix

LABEL_NAMES = ("label", "labels", "target", "y", "class")
"""A column of such a name, in capitals or not, holds the labels."""

MISSING = ("", "na", "n/a", "nan", "null", "?")
"""Texts that stand for no value, in capitals or not."""

FEW = 20
"""Up to so many values, a column of text may have another one in each row."""


class Column(NamedTuple):
    """Numbers; or, with `words`, the place of each row's text in that sorted list."""

    title: str
    values: Array
    words: list[str] | None = None


class Split(NamedTuple):
    """Features, labels as they are written, and what to tell the user."""

    X: Matrix
    labels: Array
    notes: list[str]


def column_of(title: str, values: Sequence[Any], name: str) -> Column:
    """A column of Python's values: all of them numbers, or all of them text."""
    values = [value.decode("utf-8", "replace") if isinstance(value, bytes) else value for value in values]
    for row, value in enumerate(values):
        if value is None or value != value or (isinstance(value, str) and value.strip().lower() in MISSING):
            raise ValueError(f"{name}: row {row} (counted from 0) of column '{title}' is missing")
    kinds = {type(value) for value in values}
    if all(issubclass(kind, bool | int | float | np.bool_ | np.integer | np.floating) for kind in kinds):
        return Column(title, np.array(values, dtype=np.float64))
    if not all(issubclass(kind, str) for kind in kinds):
        shown = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise ValueError(f"{name}: column '{title}' holds {shown}; need numbers or text")
    words, codes = np.unique(np.array([value.strip() for value in values], dtype=str), return_inverse=True)
    return Column(title, codes, words.tolist())


def split(
    columns: Sequence[Column], labels: str | int | None, name: str, named: bool = True, drop: Sequence[str | int] = ()
) -> Split:
    """`named`: whether the columns have names, and are not just counted; `drop`: columns that are left out."""
    titles = [column.title for column in columns]
    dropped = {position(titles, wanted, name, "drop") for wanted in drop}
    kept = [j for j in range(len(columns)) if j not in dropped]
    if len(kept) < 2:
        raise ValueError(f"{name}: {len(kept)} column; need the labels and at least one feature")
    if labels is not None:
        at, why = position(titles, labels, name, "labels"), "as dataset.labels says"
        if at in dropped:
            raise ValueError(f"{name}: dataset.labels={labels}: dataset.drop leaves that column out")
    else:
        at, why = _obvious(columns, kept, named, name)
    what = f"column {titles[at]!r}" if named else f"column {at} (counted from 0)"
    X, notes = features([columns[j] for j in kept if j != at], name)
    label = columns[at]
    given = label.values if label.words is None else np.array(label.words)[label.values]
    return Split(X, given, [f"the labels are {what}, {why}", *notes])


def position(titles: Sequence[str], wanted: str | int, name: str, option: str) -> int:
    """Of a column that is named by its title or its number from 0."""
    if isinstance(wanted, int) and not isinstance(wanted, bool) and 0 <= wanted < len(titles):
        return wanted
    found = [j for j, title in enumerate(titles) if title == str(wanted)]
    if len(found) > 1:
        raise ValueError(
            f"{name}: dataset.{option}={wanted}: {len(found)} columns have that name; give a number from 0"
        )
    if not found:
        raise ValueError(f"{name}: dataset.{option}={wanted}: no such column; possible are {_shown(titles)}")
    return found[0]


def _obvious(columns: Sequence[Column], kept: Sequence[int], named: bool, name: str) -> tuple[int, str]:
    """The label column, and why; a ValueError that lists the columns where it is not obvious.

    By its name. Where there are no names: the first or the last column, when no other has the values -1 and +1, or
    else when no other has two values.
    """
    titles = [columns[j].title for j in kept]
    if named:
        found = [j for j in kept if columns[j].title.strip().lower() in LABEL_NAMES]
        if len(found) == 1:
            return found[0], "by its name"
    else:
        values = {j: _up_to_three(columns[j]) for j in kept}
        for fits, why in ((_is_signs, "the only one of -1 and +1"), (_is_two, "the only one of two values")):
            found = [j for j in kept if fits(values[j])]
            if len(found) == 1 and found[0] in (kept[0], kept[-1]):
                return found[0], why
            if found:
                break
    raise ValueError(
        f"{name}: which column holds the labels? Say dataset.labels=NAME (or a number from 0); "
        f"the columns are {_shown(titles)}"
    )


def _up_to_three(column: Column) -> list[Any]:
    """Its values, of which a third is not followed by a fourth."""
    if column.words is not None:
        return column.words[:3]
    values, first = column.values, column.values[:1]
    other = values[values != first][:1]
    third = values[(values != first) & (values != other)][:1] if other.size else other
    return [*first.tolist(), *other.tolist(), *third.tolist()]


def _is_signs(values: list[Any]) -> bool:
    return set(values) in ({-1.0, 1.0}, {"-1", "+1"}, {"-1", "1"})


def _is_two(values: list[Any]) -> bool:
    return len(values) == 2


def features(columns: Sequence[Column], name: str) -> tuple[Matrix, list[str]]:
    """Numbers as they are, in order; a column of text as one column for each of its values, which makes X sparse."""
    texts = [column for column in columns if column.words is not None]
    for title, values, words in columns:
        if words is None:
            if not np.isfinite(values).all():
                row = int(np.flatnonzero(~np.isfinite(values))[0])
                raise ValueError(f"{name}: row {row} (counted from 0) of column '{title}' is missing or not finite")
        elif len(words) > max(FEW, len(values) // 2):
            raise ValueError(
                f"{name}: column '{title}' has {len(words)} different texts in {len(values)} rows, which are no "
                f"categories; leave it out with dataset.drop=[{title}]"
            )
    if not texts:
        return _stacked(columns), []
    blocks: list[Any] = []
    run: list[Column] = []
    for column in columns:
        if column.words is None:
            run.append(column)
        else:
            blocks += [sp.csr_array(_stacked(run))] if run else []
            blocks.append(_one_hot(column.values, len(column.words)))
            run = []
    blocks += [sp.csr_array(_stacked(run))] if run else []
    total = sum(len(column.words or ()) for column in texts)
    shown = ", ".join(f"{column.title} ({len(column.words or ())})" for column in texts[:10])
    more = ", ..." if len(texts) > 10 else ""
    note = f"{len(texts)} columns of text became {total} columns of 0 and 1: {shown}{more}"
    return sp.hstack(blocks, format="csr"), [note]


def _stacked(columns: Sequence[Column]) -> Array:
    X = np.empty((len(columns[0].values) if columns else 0, len(columns)))
    for j, column in enumerate(columns):
        X[:, j] = column.values
    return X


def _one_hot(codes: Array, count: int) -> sp.csr_array:
    n = len(codes)
    return sp.csr_array((np.ones(n), codes, np.arange(n + 1)), shape=(n, count))


def _shown(titles: Sequence[str], limit: int = 30) -> str:
    more = f", ... ({len(titles)} in all)" if len(titles) > limit else ""
    return ", ".join(title[:40] for title in titles[:limit]) + more
