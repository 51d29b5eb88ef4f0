"""Where a text for the terminal names a status: in a column of statuses, in front of failures, in the last count.

The same words inside a message are the words of a solver, and have no colour.
"""

import re
from collections.abc import Iterator

from marginbench.harness.records.status import STATUSES, TONES

STATUS = "|".join(STATUSES)
WORD = re.compile(rf"(?<![\w-])(?:{STATUS})(?![\w-])")
CELL = re.compile(rf"\s*(?:(?:{STATUS})(?: x?\d+)?(?:, )?)+\s*")
"""`solved`, `solved x3`, `solved 2, timeout 1`."""
FAILURE = re.compile(rf"({STATUS})(?: x\d+)?(?:: | \(|$)")
COUNT = re.compile(rf"\d+ cells?: (?:\d+ (?:{STATUS})(?:, |$))+")
HEADS = {"status", "cold", "warm"}
"""Columns that hold statuses; the last two of the table of paths, where a run did not succeed."""

Span = tuple[int, int, str]


def spans(text: str) -> Iterator[Span]:
    """(begin, end, colour) of every status, and of the word `warning:` in front of a line."""
    begin, above, columns = 0, "", list[tuple[int, int]]()
    for line in text.split("\n"):
        if re.fullmatch(r"-+(  -+)* *…?", line):
            columns = [m.span() for m in re.finditer("-+", line) if above[slice(*m.span())].strip() in HEADS]
        elif not line:
            columns = []
        elif columns and not line.startswith("    "):
            yield from _moved((s for a, b in columns if CELL.fullmatch(line, a, b) for s in _words(line, a, b)), begin)
        elif not columns:
            yield from _moved(_of_line(line), begin)
        begin, above = begin + len(line) + 1, line


def _of_line(line: str) -> Iterator[Span]:
    if line.startswith("warning:"):
        yield 0, len("warning:"), TONES["short"]
    elif found := FAILURE.match(line):
        yield from _words(line, *found.span(1))
    elif COUNT.fullmatch(line):
        yield from _words(line, 0, len(line))


def _words(line: str, begin: int, end: int) -> Iterator[Span]:
    for word in WORD.finditer(line, begin, end):
        yield *word.span(), TONES[STATUSES[word[0]].tone]


def _moved(found: Iterator[Span], by: int) -> Iterator[Span]:
    return ((begin + by, end + by, colour) for begin, end, colour in found)
