"""Tables as text: one row per line, fields between commas, semicolons or tabs, with a line of names or without."""

import csv
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from marginbench.datasets.check import Array
from marginbench.datasets.columns import MISSING, Column, Split, position, split

SEPARATORS = {"\t": "tabs", ";": "semicolons", ",": "commas"}
"""In the order in which they are tried: a comma between fields is less likely than one inside a number or a text."""

HEAD = 50
"""Lines that tell how the others are separated."""


def read_csv(
    raw: bytes,
    name: str,
    labels: str | int | None = None,
    header: bool | None = None,
    drop: Sequence[str | int] = (),
) -> Split:
    """UTF-8, blank lines passed over; numbers are rounded as float() rounds them. A column holds numbers or text.

    A first line without a number is a header when a number stands below it, or when none of its fields stands in its
    column again; `header` says otherwise. Between semicolons or tabs, 1,5 is a number.
    """
    try:
        lines = [line for line in raw.decode("utf-8-sig").splitlines() if line.strip()]
    except UnicodeDecodeError:
        raise ValueError(f"{name}: not UTF-8 text") from None
    if not lines:
        raise ValueError(f"{name}: no rows")
    try:
        table = _Table(raw, name, lines, True if header is None and isinstance(labels, str) else header)
        columns = table.columns(labels, drop)
    except csv.Error as error:
        raise ValueError(f"{name}: not a table that can be read: {error}") from None
    found = split(columns, labels, name, table.header, drop)
    names = "a line of names" if table.header else "no line of names"
    return Split(
        found.X, found.labels, [f"read as a table with {SEPARATORS[table.separator]} and {names}", *found.notes]
    )


class _Table:
    """The lines of a file, and how they are to be read."""

    def __init__(self, raw: bytes, name: str, lines: list[str], header: bool | None) -> None:
        self.raw, self.name = raw, name
        self.separator = _separator(lines[:HEAD])
        head = [_fields(line, self.separator) for line in lines[:HEAD]]
        self.first = head[0]
        self.decimal_comma = self.separator != "," and any("," in field for row in head for field in row)
        self.header = self._has_header(head) if header is None else header
        self.titles = self.first if self.header else [str(j) for j in range(len(self.first))]
        self.rows = lines[self.header :]
        if len(self.first) < 2:
            raise ValueError(f"{name}: 1 column; need the labels and at least one feature")
        if not self.rows:
            raise ValueError(f"{name}: no rows")

    def number(self, field: str) -> float | None:
        """The finite number that a field is; None where it is none."""
        try:
            text = field.replace(",", ".") if self.decimal_comma and field.count(",") == 1 else field
            value = float(text)
        except ValueError:
            return None
        return value if np.isfinite(value) and "_" not in field else None

    def _has_header(self, head: list[list[str]]) -> bool:
        first, below = head[0], head[1:]
        if any(self.number(field) is not None for field in first):
            return False
        if any(self.number(field) is not None for row in below for field in row):
            return True
        again = any(row[j : j + 1] == [field] for row in below for j, field in enumerate(first))
        return not again and len(set(first)) == len(first)

    def columns(self, labels: str | int | None, drop: Sequence[str | int]) -> list[Column]:
        """Columns whose first field is a number hold numbers, all others text; the labels are read as text."""
        out = {position(self.titles, wanted, self.name, "drop") for wanted in drop}
        text = {j for j, field in enumerate(_fields(self.rows[0], self.separator)) if self.number(field) is None} - out
        at = None if labels is None else position(self.titles, labels, self.name, "labels")
        text |= set() if at is None else {at}
        codes: dict[int, dict[str, int]] = {j: {} for j in text if j < len(self.first)}
        table = self._read(codes, out)
        found = []
        for j, title in enumerate(self.titles):
            words = codes.get(j)
            found.append(Column(title, table[:, j]) if words is None else _sorted(title, words, table[:, j]))
        for j, words in codes.items():
            if j != at:
                self._check_words(j, list(words))
        return found

    def _read(self, codes: dict[int, dict[str, int]], out: set[int]) -> Array:
        """The table as numbers; a text is its place in `codes`, a column that is left out is 0."""

        def coder(known: dict[str, int]) -> Any:
            return lambda field: known.setdefault(field.strip(), len(known))

        converters: dict[Any, Any] = {j: coder(known) for j, known in codes.items()}
        converters |= dict.fromkeys(out, lambda field: 0.0)
        if self.decimal_comma:
            converters = dict.fromkeys(range(len(self.first)), _with_comma) | converters
        options: dict[str, Any] = {"delimiter": self.separator, "comments": None, "quotechar": '"', "ndmin": 2}
        try:
            table = np.loadtxt(self.rows, converters=converters, encoding=None, **options)
        except ValueError as error:
            self._blame(set(codes) | out, (str(error).splitlines() or [""])[0])
        empty = any("" in known for known in codes.values())
        if table.shape[1] != len(self.first) or empty or not np.isfinite(table).all():
            self._blame(set(codes) | out, "a value is missing")
        return table

    def _check_words(self, column: int, words: list[str]) -> None:
        """A column of text has neither numbers among its texts nor texts that stand for nothing."""
        numbers = [word for word in words if self.number(word) is not None]
        missing = [word for word in words if word.lower() in MISSING]
        other = [word for word in words if word not in numbers]
        if numbers and other:
            what, word = f"expected a finite number as in other rows, got '{other[0][:40]}'", other[0]
        elif missing:
            what, word = f"'{missing[0]}' stands for a missing value; fill it in, or leave the column out", missing[0]
        else:
            return
        raise ValueError(f"{self.name}: line {self._line_of(column, word)}: {self._title(column)}: {what}")

    def _line_of(self, column: int, word: str) -> int:
        for number, row in self._numbered():
            if len(row) > column and row[column] == word:
                return number
        return 0

    def _numbered(self) -> list[tuple[int, list[str]]]:
        """Line numbers and fields of the rows."""
        text = self.raw.decode("utf-8-sig").splitlines()
        numbered = [(k, line) for k, line in enumerate(text, start=1) if line.strip()]
        return [(k, _fields(line, self.separator)) for k, line in numbered[self.header :]]

    def _title(self, column: int) -> str:
        return f"column '{self.first[column]}'" if self.header else f"column {column} (counted from 0)"

    def _blame(self, free: set[int], otherwise: str) -> NoReturn:
        """Find the line that was refused, slowly, and name it. `free`: columns that may hold any text."""
        for number, row in self._numbered():
            line = f"{self.name}: line {number}"
            if len(row) != len(self.first):
                raise ValueError(f"{line}: {len(row)} fields, but the first line has {len(self.first)}")
            for j, field in enumerate(row):
                if j in free and not field:
                    raise ValueError(f"{line}: {self._title(j)}: expected a label or a text, got nothing")
                if j not in free and self.number(field) is None:
                    raise ValueError(f"{line}: {self._title(j)}: expected a finite number, got '{field[:40]}'")
        raise ValueError(f"{self.name}: not a table that can be read: {otherwise}")


def _sorted(title: str, words: dict[str, int], values: Array) -> Column:
    """Texts in alphabetical order, so that the order of rows decides nothing."""
    order = sorted(words)
    place = np.empty(len(words), dtype=np.int64)
    place[[words[word] for word in order]] = np.arange(len(words))
    return Column(title, place[values.astype(np.int64)], order)


def _separator(lines: list[str]) -> str:
    """The first that splits all lines into the same number of fields, more than one; else the most frequent one."""
    for separator in SEPARATORS:
        counts = {len(_fields(line, separator)) for line in lines}
        if len(counts) == 1 and counts.pop() > 1:
            return separator
    return max(SEPARATORS, key=lambda separator: (lines[0].count(separator), separator == ","))


def _fields(line: str, separator: str) -> list[str]:
    return [field.strip() for field in next(csv.reader([line], delimiter=separator))]


def _with_comma(field: str) -> float:
    if "_" in field:
        raise ValueError(field)
    return float(field.replace(",", ".") if field.count(",") == 1 else field)
