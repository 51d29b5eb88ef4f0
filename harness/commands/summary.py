"""The end of `run` and `report`: tables, figures and page are written, and the terminal says what came out."""

import shutil
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from marginbench.harness.commands.colours import spans
from marginbench.harness.errors import InputError
from marginbench.harness.interruption import undisturbed
from marginbench.harness.printable import behind, printable_lines
from marginbench.harness.records.machine import machines
from marginbench.harness.records.record import Record
from marginbench.harness.records.run_folder import about_run, write_state
from marginbench.harness.records.status import status_of
from marginbench.harness.references.library import bounds_of

POSSIBLE = {"figures": ("none", "svg", "all"), "table": ("short", "full")}
"""Of the options of `Shown`, the values; see conf/run.yaml."""

FEW_ROWS = 24
"""Rows that the terminal shows without being asked."""


@dataclass(frozen=True)
class Shown:
    """How much a run or a report draws and prints.

    figures: none; svg: 7 inches wide, as SVG, of the first few problems; all: of every problem, also as PDF and PNG,
    and all of it once more 3.5 inches wide. table: short: rows on the terminal only where they are few; full: all.
    """

    figures: str = "svg"
    table: str = "short"

    @classmethod
    def of(cls, options: Mapping[str, object]) -> "Shown":
        """From the options of a command; those that are not given keep their defaults."""
        given = {name: str(options[name]) for name in POSSIBLE if name in options}
        for name, value in given.items():
            if value not in POSSIBLE[name]:
                raise InputError(f"{name}={value}: possible are {', '.join(POSSIBLE[name])}")
        return cls(**given)


def finish(
    records: Sequence[Record],
    folder: Path,
    command: str,
    notes: Sequence[str] = (),
    title: str = "",
    interrupted: bool = False,
    shown: Shown = Shown(),  # noqa: B008 - it is frozen
    about: Sequence[dict[str, Any]] = (),
) -> int:
    """Write tables, figures and report; print what came out and, last, where the report is. The exit code.

    title: of the page; by default the name of the folder above. about: the run.json of each run that the records come
    from; by default that of the folder. SIGTERM and SIGHUP wait until everything is written.
    """
    from marginbench.harness.reporting import (  # they load pandas and matplotlib, which the cells do not wait for
        path_table,
        report,
    )
    from marginbench.harness.reporting.comparison import Comparison
    from marginbench.harness.reporting.conclusion import conclusion
    from marginbench.harness.reporting.terminal import terminal

    keys = {record.problem for record in records}
    known = bounds_of(keys, [folder])
    runs = about or [about_run(folder)]
    with undisturbed():
        named, compared = title or folder.parent.name, Comparison.of(records, known)
        page, concluded = report.write_all(compared, folder, named, command, shown.figures, runs)
        write_state(folder, interrupted)
    width = shutil.get_terminal_size((120, 40)).columns
    if shown.table == "full" or len(records) <= FEW_ROWS:
        show(terminal(records, known, width), "")
    if walks := path_table.walks(compared):
        every = shown.table == "full" or sum(len(walk.stops) for walk in walks) <= FEW_ROWS
        show(path_table.terminal(walks, every), "")
    if found := conclusion(concluded, width):
        show(found, "")
    counts = Counter(record.status for record in records)
    number = "1 cell" if len(records) == 1 else f"{len(records)} cells"
    show(f"{number}: " + ", ".join(f"{n} {status}" for status, n in counts.most_common()))
    if false := sum(bool(record.false_claim) for record in records):
        print(f"{false} claimed convergence at a larger gap than was asked for (column false_claim)")
    for note in (*notes, _left_out(len(keys), len(records), shown.figures), machines(records)):
        if note:
            print(note)
    sys.stdout.flush()
    print(f"report: {page}")
    if interrupted:
        return 130
    return 1 if any(status_of(record.status).bad for record in records) else 0


def show(*texts: str) -> None:
    """Print texts of several lines; on a terminal that can, every status in the colour of its tone."""
    from rich.console import Console
    from rich.text import Text

    console = Console(file=behind(sys.stdout), highlight=False, soft_wrap=True, emoji=False)
    for text in texts:
        line = Text(printable_lines(text))
        if console.is_terminal:
            for begin, end, colour in spans(line.plain):
                line.stylize(colour, begin, end)
        console.print(line)


def _left_out(problems: int, cells: int, figures: str) -> str:
    """Which figures were not drawn, where some were not."""
    if figures != "svg":
        return ""
    from marginbench.harness.reporting.figures import shown_problems

    most = shown_problems(cells)
    if problems <= most:
        return ""
    return f"figures of the first {most} of {problems} problems; figures=all draws all, figures=none none"
