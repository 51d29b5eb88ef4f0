"""marginbench report PATH...: tables, figures and report again from stored records, in a folder of their own.

The folders that are read stay as they are. The new one holds the report and a copy of the records and references that
it was made from, so that it can itself be reported, merged and reproduced.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from marginbench.harness.commands.options import split_flags
from marginbench.harness.commands.stored import Stored, opened, stored_records
from marginbench.harness.commands.summary import POSSIBLE, Shown, finish
from marginbench.harness.errors import InputError, StoreError
from marginbench.harness.printable import printable
from marginbench.harness.records.points import FOLDER as POINTS
from marginbench.harness.records.points import MOST_FEATURES, read_points, write_points
from marginbench.harness.records.record import Record
from marginbench.harness.records.run_folder import about_run, new_folder, read_json, write_provenance
from marginbench.harness.records.store import NAME, Store
from marginbench.harness.references.computed import FOLDER, read_bounds, write_bounds
from marginbench.harness.reporting import frontier_csv, frontier_table


def main(arguments: Sequence[str]) -> int:
    flags, words = split_flags(arguments, {"--out": "DIR"})
    options = [word for word in words if word.partition("=")[0] in POSSIBLE and "=" in word]
    paths = [word for word in words if word not in options]
    shown = Shown.of(dict(word.split("=", 1) for word in options))
    if not paths:
        raise InputError("report: which results? Give one folder or more, as in results/comparison/2026-01-31_12-00-00")
    if all(path.endswith(".csv") for path in paths):
        return _tables_again([Path(path) for path in paths])
    if "--out" in flags:
        _check_out(Path(flags["--out"]), [Path(path) for path in paths])
    command = " ".join(["marginbench", "report", *arguments])
    with ExitStack() as stack:
        sources = [stack.enter_context(opened(path)) for path in paths]
        found = [stored_records(source) for source in sources]
        records = {record.hash: record for one in found for record in one.records if _has_key(record)}
        folder = _made(Path(flags["--out"])) if "--out" in flags else new_folder(Path("results"), "report", link=False)
        write_provenance(folder, command, [r.cell for r in records.values()], {}, {}, [Path(path) for path in paths])
        _copy(records, dict(zip(sources, found, strict=True)), folder)
        about = [about_run(source) for source in sources]
    title = " + ".join(dict.fromkeys(_title(Path(path)) for path in paths))
    code = finish(list(records.values()), folder, command, title=title, shown=shown, about=about)
    return code or int(any(one.unreadable for one in found))


def _tables_again(paths: Sequence[Path]) -> int:
    """The tables of a frontier.csv that was kept without its records, as Markdown."""
    for path in paths:
        print(frontier_table.markdown(frontier_csv.read(path)))
    return 0


def _title(path: Path) -> str:
    """The experiment of a run's folder, the name of a bundle."""
    return path.stem if path.is_file() else path.resolve().parent.name


def _check_out(out: Path, sources: Sequence[Path]) -> None:
    """A folder for a report: new, empty, or that of an earlier report."""
    if any(out.resolve() == path.resolve() for path in sources):
        raise InputError(f"--out {out}: is one of the folders to read, which stay as they are; give another one")
    for name in ("cells", FOLDER, POINTS, "figures", "report_files"):
        if (out / name).is_symlink():
            raise InputError(f"--out {out}: {out / name} is a link; results are not written through links")
    if (out / "cells").exists() and "sources" not in read_json(out / "run.json"):
        raise InputError(f"--out {out}: holds the results of a run; give a folder that does not")


def _has_key(record: Record) -> bool:
    """Whether a record is named as a run names it; others are left out, and said."""
    if NAME.fullmatch(record.hash):
        return True
    print(printable(f"left out: {record.hash[:80]!r} is not the key of a cell"), file=sys.stderr)
    return False


def _made(out: Path) -> Path:
    """The folder, without the records of the report that it held before."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name in ("cells", FOLDER, POINTS):
            for entry in os.scandir(out / name) if (out / name).is_dir() else ():
                if entry.is_file(follow_symlinks=False):
                    os.unlink(entry.path)
    except OSError as error:
        raise StoreError(f"cannot write {out}: {error.strerror}") from None
    return out


def _copy(records: dict[str, Record], sources: dict[Path, Stored], folder: Path) -> None:
    """The files of the records, and what the runs computed of their problems."""
    for key in {record.problem for record in records.values()}:
        bounds = next((bounds for path in sources if (bounds := read_bounds(path, key)) is not None), None)
        if bounds is not None:
            write_bounds(folder, key, bounds)
    for digest in {record.problem.partition("-")[0] for record in records.values() if record.d <= MOST_FEATURES}:
        points = next((points for path in sources if (points := read_points(path, digest)) is not None), None)
        if points is not None:
            write_points(folder, digest, points)
    store = Store(folder)
    for path, stored in sources.items():
        source = Store(path)
        for record in stored.records:
            if records.get(record.hash) is record:  # of several runs that hold a cell, the last one counts
                store.copy(record, source)
