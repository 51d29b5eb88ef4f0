"""marginbench runs [DIR]: the runs below a folder of results, with date, cells, state and size."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from marginbench.harness.commands.options import split_flags
from marginbench.harness.errors import InputError
from marginbench.harness.records.run_folder import RunFolder, run_folders


def main(arguments: Sequence[str]) -> int:
    _, words = split_flags(arguments, {})
    if len(words) > 1:
        raise InputError(f"runs {' '.join(words)}: takes one folder, as in `marginbench runs results`")
    out = Path(words[0].removeprefix("out=") if words else "results")
    if not out.is_dir():
        raise InputError(f"runs: there is no folder {out}; give the one that `run` wrote to, as in out=DIR")
    rows = [_row(run, out) for run in run_folders(out)]
    print(table_text([("name", "started", "cells", "state", "size"), *rows]) if rows else f"no runs in {out}")
    return 0


def _row(run: RunFolder, out: Path) -> tuple[str, ...]:
    cells = str(run.cells) if run.cells >= run.planned else f"{run.cells} of {run.planned}"
    state = f"{run.state} (report of {run.sources})" if run.sources else run.state
    return str(run.path.relative_to(out)), _date(run.started), cells, state, size_text(run.bytes)


def _date(started: str) -> str:
    try:
        return datetime.fromisoformat(started).strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return ""


def size_text(count: int) -> str:
    """In the unit that leaves one to three digits before the point."""
    size = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000.0:
            return f"{size:.3g} {unit}"
        size /= 1000.0
    return f"{size:.3g} TB"


def table_text(rows: Sequence[tuple[str, ...]]) -> str:
    """Columns side by side, numbers to the right; the first row has their names."""
    columns = list(zip(*rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    numbers = [all(cell.isdigit() or not cell for cell in column[1:]) for column in columns]
    lines = (
        [
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(row, widths, numbers, strict=True)
        ]
        for row in rows
    )
    return "\n".join("  ".join(line).rstrip() for line in lines)
