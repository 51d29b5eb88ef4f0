"""Tables for papers, one set per question and accuracy: times by problem and method, and the ranking of the methods.

LaTeX in the style of booktabs (the preamble needs the packages booktabs, longtable and textcomp), Markdown, and CSV
with all digits. The best of a row is bold. What was not reached is marked, and the caption explains every mark.
"""

import csv
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from marginbench.harness.files import write_atomically
from marginbench.harness.reporting.accuracy import accuracy_text
from marginbench.harness.reporting.analysis import Analysis, Section
from marginbench.harness.reporting.conditions import count
from marginbench.harness.reporting.file_names import slug
from marginbench.harness.reporting.ranking import shift_of
from marginbench.harness.reporting.ratios import Pair
from marginbench.harness.reporting.resampling import Interval
from marginbench.harness.reporting.tables import latex_number, latex_text, markdown_line, no_formula, short

FOLDER = "tables"
MOST_COLUMNS = 8
"""Methods side by side on a page; more of them continue below."""

FAILED = "—"
PREAMBLE = "% needs the packages booktabs, longtable and textcomp\n"
CLOCKS = {"wall": "seconds of wall time", "cpu": "seconds of CPU", "passes": "passes over the data"}


@dataclass(frozen=True)
class Cell:
    text: str
    value: float | str | None = None
    """With all digits, for CSV; the text where it is None."""
    bold: bool = False


@dataclass(frozen=True)
class Table:
    kind: str
    """`times` or `ranking`."""
    caption: str
    first: str
    """The head of the first column, of names."""
    columns: list[str]
    names: list[str]
    rows: list[list[Cell]]


def write(found: Analysis, folder: Path) -> None:
    """For each question and accuracy tables/NAME.tex and .md with both tables, and a CSV of each."""
    for name, pair in tables(found):
        write_atomically(folder / FOLDER / f"{name}.tex", PREAMBLE + "\n".join(map(latex, pair)))
        write_atomically(folder / FOLDER / f"{name}.md", "\n".join(map(markdown, pair)))
        for table in pair:
            write_atomically(folder / FOLDER / f"{name}_{table.kind}.csv", comma_separated(table))


def tables(found: Analysis) -> Iterator[tuple[str, list[Table]]]:
    """(name, times and ranking) of each question with two methods or more, at each accuracy that compares them."""
    for number, study in enumerate(found.studies, 1):
        if len(study.question.methods) < 2:
            continue
        for accuracy in study.accuracies:
            section = study.section(accuracy)
            if section.coverage.problems:
                name = f"{number}_{slug(study.question.name)}_{accuracy_text(accuracy).replace(' ', '_')}"
                yield name, [times(section), ranks(section)]


def times(section: Section) -> Table:
    """Problems by methods, in the order of the ranking; those that were left out of it come last."""
    question, costs = section.study.question, section.costs
    order = [*section.order, *(s for s in range(len(question.methods)) if s not in section.order)]
    rows, names = [], []
    for p, task in enumerate(question.tasks):
        t = costs.t[p, order]
        if not np.isnan(t).all():
            best = np.nanmin(t)
            names.append(task.title)
            rows.append([_time(float(x), float(best)) for x in t])
    caption = (
        f"{_head(section)}: {CLOCKS[section.clock]} on {count(len(names), 'problem')} ({question.name}). "
        f"Bold: the fastest. {FAILED}: not reached within its budget. Empty: not asked."
    )
    return Table("times", caption, "problem", [question.methods[s] for s in order], names, rows)


def _time(x: float, best: float) -> Cell:
    if math.isnan(x):
        return Cell("", "")
    return Cell(digits(x), x, x == best) if math.isfinite(x) else Cell(FAILED, "inf")


def ranks(section: Section) -> Table:
    """Methods in their order, each with its ratio to the first and how sure that is."""
    against = {pair.a: pair for pair in section.against_first}
    problems, best = len(section.problems), section.ranking[0]
    least = min(rank.mean for rank in section.ranking if rank.reached == best.reached)  # a failure may cost little
    rows = [
        [
            Cell(f"{rank.reached} / {problems}", rank.reached, rank.reached == best.reached),
            Cell(str(rank.fastest), rank.fastest),
            Cell(digits(rank.mean), rank.mean, rank.mean == least and rank.reached == best.reached),
            *_ratio(against.get(rank.method)),
            Cell(digits(rank.par2), rank.par2),
            Cell(f"{100.0 * rank.first:.0f} %", rank.first),
        ]
        for rank in section.ranking
    ]
    caption = (
        f"{_head(section)}: the methods on {count(problems, 'problem')} ({section.study.question.name}) that all of "
        f"them were asked. Bold: the best. Mean: geometric, of {CLOCKS[section.clock]} shifted by "
        f"{shift_of(section.clock):g}, a failure at the limit of its own cell{_limits(section)}. "
        "Ratio: geometric mean of times over "
        f"those of {best.method}, where both arrive, with 95 % intervals over data sets and from timing alone; empty "
        "where it cannot be told. PAR-2: mean with failures at twice the limit. First: how often it leads when data "
        "sets are drawn again."
    )
    columns = ["reached", "fastest", "mean", "ratio", "over problems", "from timing", "PAR-2", "first"]
    return Table("ranking", caption, "method", columns, [rank.method for rank in section.ranking], rows)


def _limits(section: Section) -> str:
    ends = dict.fromkeys(map(digits, section.charged))
    return f" (here {' to '.join(ends)})" if ends else ""


def _ratio(pair: Pair | None) -> list[Cell]:
    if pair is None or pair.ratio is None:
        return [Cell("", "")] * 3
    intervals = [
        Cell("", "") if interval is None else Cell(_interval(interval))
        for interval in (pair.over_problems, pair.from_timing)
    ]
    return [Cell(digits(pair.ratio), pair.ratio), *intervals]


def _interval(interval: Interval) -> str:
    return str(interval) if interval.empty else f"{digits(interval.low)} to {digits(interval.high)}"


def _head(section: Section) -> str:
    if section.accuracy is None:
        return "Each to the accuracy it was asked for"
    return f"To a relative gap of {accuracy_text(section.accuracy)}"


def digits(x: float) -> str:
    """Three of them."""
    if not math.isfinite(x):
        return FAILED
    return f"{x:.3g}" if 1e-3 <= x < 1e5 or x == 0.0 else short(x)


# -- as text -------------------------------------------------------------------------------------------------------


def latex(table: Table) -> str:
    """One longtable, or several where there are more methods than fit side by side."""
    parts = [
        _longtable(table, range(start, min(start + MOST_COLUMNS, len(table.columns))), start == 0)
        for start in range(0, len(table.columns), MOST_COLUMNS)
    ]
    return "\n".join(parts)


def _longtable(table: Table, columns: Sequence[int], first: bool) -> str:
    caption = latex_text(table.caption) if first else "Continued."
    head = " & ".join(map(latex_text, [table.first, *(table.columns[j] for j in columns)]))
    lines = [
        rf"\begin{{longtable}}{{l{'r' * len(columns)}}}",
        rf"\caption{{{caption}}}\\",
        r"\toprule", rf"{head} \\", r"\midrule", r"\endfirsthead",
        r"\toprule", rf"{head} \\", r"\midrule", r"\endhead", r"\bottomrule", r"\endlastfoot",
    ]  # fmt: skip
    for name, row in zip(table.names, table.rows, strict=True):
        lines.append(" & ".join([latex_text(name), *(_latex_cell(row[j]) for j in columns)]) + r" \\")
    return "\n".join([*lines, r"\end{longtable}", ""])


def _latex_cell(cell: Cell) -> str:
    made = latex_number(latex_text(cell.text))
    if not cell.bold:
        return made
    return rf"\boldmath\textbf{{{made}}}" if "$" in made else rf"\textbf{{{made}}}"


def markdown(table: Table) -> str:
    """A pipe table below its caption."""
    head = markdown_line([table.first, *table.columns])
    rule = f"| --- |{' ---: |' * len(table.columns)}\n"
    lines = [_markdown_row(name, row) for name, row in zip(table.names, table.rows, strict=True)]
    return f"{markdown_text(table.caption)}\n\n{head}{rule}{''.join(lines)}"


def markdown_text(text: str) -> str:
    return markdown_line([text]).removeprefix("| ").removesuffix(" |\n")


def _markdown_row(name: str, row: Sequence[Cell]) -> str:
    cells = [f"**{markdown_text(cell.text)}**" if cell.bold else markdown_text(cell.text) for cell in row]
    return f"| {' | '.join([markdown_text(name), *cells])} |\n"


def comma_separated(table: Table) -> str:
    """With all digits; text that a spreadsheet would take for a formula begins with an apostrophe."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([table.first, *map(no_formula, table.columns)])
    for name, row in zip(table.names, table.rows, strict=True):
        values = [cell.text if cell.value is None else cell.value for cell in row]
        writer.writerow([no_formula(name), *values])
    return file.getvalue()
