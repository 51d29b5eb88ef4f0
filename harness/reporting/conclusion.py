"""The end of a run in words, for a terminal: the answer, the ranking behind it, and what went wrong, in a few lines."""

import textwrap
from collections.abc import Sequence

from tabulate import tabulate

from marginbench.harness.printable import printable
from marginbench.harness.reporting.accuracy import accuracy_text
from marginbench.harness.reporting.analysis import Analysis, Section
from marginbench.harness.reporting.conditions import contradicting
from marginbench.harness.reporting.failures import FailureGroup
from marginbench.harness.reporting.ranking import shift_of
from marginbench.harness.reporting.tables import time_text

MOST_SENTENCES = 6
MOST_RANKS = 12
MOST_GROUPS = 8
"""What is longer is in the report."""


def conclusion(found: Analysis, width: int = 80) -> str:
    """Paragraphs, each line at most `width` wide; empty where no two methods can be compared and nothing failed."""
    sections = [study.section(study.accuracy) for study in found.studies]
    compared = [section for section in sections if len(section.ranking) > 1 and section.coverage.problems]
    parts = []
    for section in compared:
        named = f"{section.study.question.name}:" if len(compared) > 1 else ""
        parts.append(_joined(_wrapped(named, width), _answer(section, width), [""], _ranking(section, width)))
    said = {id(r) for section in compared for row in section.study.question.runs for cell in row for r in cell}
    if unsaid := [r for r in found.comparison.contradictions if id(r) not in said]:
        parts.append(_joined(_wrapped(f"warning: {contradicting(unsaid)}", width)))
    parts.append(_joined(_failures(found.failures, width)))
    return "\n\n".join(part for part in parts if part)


def _answer(section: Section, width: int) -> list[str]:
    answer = section.answer
    lines = _wrapped(answer.headline, width)
    for sentence in answer.sentences[:MOST_SENTENCES]:
        lines += _wrapped(sentence.text, width)
    if (more := len(answer.sentences) - MOST_SENTENCES) > 0:
        lines.append(f"({more} more in the report)")
    lines += _wrapped(answer.setting, width)
    for warning in answer.warnings:
        lines += _wrapped(f"warning: {warning}", width)
    return lines


def _ranking(section: Section, width: int) -> list[str]:
    """Place, method, problems reached, problems on which it was fastest, shifted mean and its ratio to the best."""
    problems, accuracy = len(section.coverage.problems), accuracy_text(section.accuracy)
    rows = [
        [
            f"{rank.place}",
            "",
            f"{rank.reached}/{problems}",
            f"{rank.fastest}",
            time_text(rank.mean),
            f"{rank.ratio:.3g}",
        ]
        for rank in section.ranking[:MOST_RANKS]
    ]
    headers = ["", "method", accuracy, "fastest", "mean", "ratio"]
    used = [max(2 + len(head), *(len(row[k]) for row in rows)) for k, head in enumerate(headers)]  # heads are padded
    room = width - sum(used) + used[1] - 2 * (len(headers) - 1)
    for row, rank in zip(rows, section.ranking, strict=False):
        row[1] = _cut(printable(rank.method), max(8, room))
    align = ("right", "left", "right", "right", "right", "right")
    lines = tabulate(rows, headers, "simple", colalign=align, disable_numparse=True).splitlines()
    if (more := len(section.ranking) - MOST_RANKS) > 0:
        lines.append(f"({more} more in the report)")
    shift = time_text(shift_of(section.clock))
    lines += _wrapped(f"mean: geometric, shifted by {shift}; a failure counts as its cell's limit", width)
    return [line.rstrip() for line in lines]


def _failures(groups: Sequence[FailureGroup], width: int) -> list[str]:
    lines = []
    for group in groups[:MOST_GROUPS]:
        said = f": {printable(group.message)}" if group.message else ""
        methods, problems = ", ".join(map(printable, group.methods)), len(group.problems)
        where = (
            f" ({methods}; {problems} problems)" if problems > 1 else f" ({methods}; {printable(group.problems[0])})"
        )
        times = f" x{len(group.cases)}" if len(group.cases) > 1 else ""
        text = f"{group.status}{times}{said}{where}"
        lines += textwrap.wrap(text, width, subsequent_indent="    ", max_lines=3, placeholder=" …")
    if (more := len(groups) - MOST_GROUPS) > 0:
        lines.append(f"({more} more {'kind' if more == 1 else 'kinds'} of failure in the report)")
    return lines


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(printable(text), width, subsequent_indent="  ")


def _joined(*parts: Sequence[str]) -> str:
    return "\n".join(line for part in parts for line in part)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
