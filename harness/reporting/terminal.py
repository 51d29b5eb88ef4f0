"""The table on the terminal: one block per problem, one line per method, repetitions of a cell in one line."""

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence

from tabulate import tabulate

from marginbench.harness.model.bounds import Bounds
from marginbench.harness.printable import printable
from marginbench.harness.records.record import Record
from marginbench.harness.reporting import variation
from marginbench.harness.reporting.comparison import (
    Comparison,
    Task,
    kernel_words,
    number,
    representative,
    seconds,
    show_C,
    succeeded,
)
from marginbench.harness.reporting.tables import count, short, time_text

HEAD = "formulation / solver"
NUMBERS = ["gap", "subopt.", "time", "passes", "iter."]


def terminal(records: Sequence[Record], references: Mapping[str, Bounds] | None = None, width: int = 110) -> str:
    """At most `width` wide. Of repetitions the run of median time is shown, with the worst gap of all."""
    comparison = Comparison.of(records, references)
    if not comparison.records:
        return "no cells"
    asked = {id(r): values for r, values in zip(comparison.records, comparison.settings, strict=True)}
    blocks = []
    for task in comparison.tasks:
        lines = [_Line(task, runs, asked[id(runs[0])]) for runs in task.runs.values()]
        blocks.append("\n".join([*_wrapped(_title(task), width, ""), *_table(lines, width)]))
    return "\n\n".join(blocks)


def _title(task: Task) -> str:
    r = task.sample
    sparse = "" if r.nnz == r.n * r.d else f", {r.nnz} nonzeros"
    more = "" if r.loss == "hinge" else f", {r.loss}"
    told = f", {task.told}" if task.told else ""
    return f"{r.dataset}: {r.n} x {r.d}{sparse}, C = {show_C(r.C)}, bias {r.bias}{more}{kernel_words(r)}{told}"


class _Line:
    """What is shown of the repetitions of one cell."""

    def __init__(self, task: Task, runs: list[Record], settings: Mapping[str, object]) -> None:
        statuses = Counter(r.status for r in runs)
        times = f" x{len(runs)}" if len(runs) > 1 else ""
        median = representative(runs)
        gaps = [gap for r in runs if (gap := number(r.gap)) is not None]
        far = [error for r in runs if (error := task.bounds.suboptimality(r.primal)) is not None]
        self.name = f"{runs[0].formulation} / {runs[0].solver}"
        self.settings = {path: variation.brief(value) for path, value in settings.items()}
        several = ", ".join(f"{status} {k}" for status, k in statuses.items())
        self.status = several if len(statuses) > 1 else runs[0].status + times
        self.numbers = [short(max(gaps, default=None)), short(max(far, default=None)), time_text(seconds(median))]
        self.numbers += [count(median.passes), count(median.iterations)]
        said = [r.message for r in [*(r for r in runs if not succeeded(r)), *runs]]
        self.message = printable(next((message for message in said if message), ""))

    def cells(self, paths: Sequence[str]) -> list[str]:
        """Of each column but the first."""
        return [*(self.settings.get(path, "") for path in paths), self.status, *self.numbers]


def _table(lines: list[_Line], width: int) -> list[str]:
    """Settings are columns where there is room for them. What has no room, as a message may, goes below its line."""
    paths = list(dict.fromkeys(path for line in lines for path in line.settings))
    columns = paths if _room(lines, paths, width) >= 0 else []
    room = _room(lines, columns, width)
    beside = room - 2 >= max(len(line.message) for line in lines) > 0
    named = max(12, width - _width(lines, columns))
    headers = [HEAD if room >= 0 else "method", *columns, "status", *NUMBERS, *(["message"] if beside else [])]
    cells = [[_cut(line.name, named), *line.cells(columns), *([line.message] if beside else [])] for line in lines]
    align = ["right" if name in NUMBERS else "left" for name in headers]
    head, rule, *rows = tabulate(cells, headers, "simple", colalign=align, disable_numparse=True).splitlines()
    out = [_cut(line.rstrip(), width) for line in (head, rule)]
    for row, line in zip(rows, lines, strict=True):
        out.append(_cut(row.rstrip(), width))
        below = [line.name] if len(line.name) > named else []
        below += [f"{path}={value}" for path, value in line.settings.items() if not columns]
        out += _wrapped(" ".join(below), width)
        out += [] if beside else _wrapped(line.message, width, most=3)
    return out


def _room(lines: list[_Line], paths: Sequence[str], width: int) -> int:
    """Characters that the table leaves of the width; below 0 where it needs more."""
    return width - _width(lines, paths) - max(len(HEAD) + 2, *(len(line.name) for line in lines))


def _width(lines: list[_Line], paths: Sequence[str]) -> int:
    """Of all columns but the first. tabulate pads headers by two, and puts two blanks between columns."""
    headers = [*paths, "status", *NUMBERS]
    cells = [line.cells(paths) for line in lines]
    return sum(2 + max(len(header) + 2, *(len(row[k]) for row in cells)) for k, header in enumerate(headers))


def _wrapped(text: str, width: int, indent: str = "    ", most: int | None = None) -> list[str]:
    return textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent, max_lines=most, placeholder=" …")


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
