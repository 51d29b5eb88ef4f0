"""The report: tables, figures, and the page, from stored records alone."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from marginbench.harness.files import write_atomically
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.records.record import Record
from marginbench.harness.reporting import frontier_table, paper, path_table, scaling, tables
from marginbench.harness.reporting.analysis import Analysis
from marginbench.harness.reporting.comparison import Comparison
from marginbench.harness.reporting.page import Page, folder_beside
from marginbench.harness.reporting.planes import planes

PAGE = "report.html"


def write(
    records: Sequence[Record],
    folder: Path,
    title: str,
    command: str,
    references: Mapping[str, Bounds] | None = None,
    figures: str = "svg",
    about: Iterable[dict[str, Any]] = (),
) -> Path:
    """table.*, tables/*, frontier.*, scaling.*, paths.*, figures/*, report.html and its files; the path of the page.

    figures: none, svg or all. about: the run.json of each run that the records come from.
    """
    return write_all(Comparison.of(records, references), folder, title, command, figures, about)[0]


def write_all(
    comparison: Comparison,
    folder: Path,
    title: str,
    command: str,
    figures: str = "svg",
    about: Iterable[dict[str, Any]] = (),
) -> tuple[Path, Analysis]:
    """The same; and what was concluded, which takes a while to compute."""
    found = Analysis(comparison.merged, tuple(about))
    frame = tables.frame_of(comparison)
    tables.write(frame, folder)
    with threadpool_limits(1):  # small matrices: threads would wait for each other
        write_atomically(folder / "frontier.csv", tables.csv(frontier_table.frame(found.studies)))
        write_atomically(folder / "frontier.md", frontier_table.markdown(frontier_table.races(found.studies)))
        paper.write(found, folder)
        if grown := scaling.ladders(comparison):
            write_atomically(folder / "scaling.csv", tables.csv(scaling.frame(grown)))
            write_atomically(folder / "scaling.md", scaling.markdown(grown))
        if walks := path_table.walks(comparison):
            write_atomically(folder / "paths.csv", tables.csv(path_table.frame(walks)))
            write_atomically(folder / "paths.md", path_table.markdown(walks))
    if figures != "none":
        from marginbench.harness.reporting.figures import write as draw  # it loads matplotlib

        draw(comparison, found, folder, every=figures == "all")
    made = Page(comparison, found, frame, title, command, planes(comparison, folder), figures != "none")
    return write_page(made, folder / PAGE), found


def page(records: Sequence[Record], title: str, command: str, references: Mapping[str, Bounds] | None = None) -> Page:
    """The page alone."""
    comparison = Comparison.of(records, references)
    return Page(comparison, Analysis(comparison.merged), tables.frame_of(comparison), title, command)


def write_page(made: Page, path: Path) -> Path:
    """The page at `path` and its other files beside it; those of an earlier page are gone."""
    written = set()
    with threadpool_limits(1):
        for name, text in _page_first_written_last(made.files(path.name)):
            write_atomically(path.parent / name, text, synced=name == path.name)  # the others can be made again
            written.add(path.parent / name)
    for old in (path.parent / folder_beside(path.name)).glob("problem-*.html"):
        if old not in written and old.is_file() and not old.is_symlink():
            old.unlink()
    return path


def _page_first_written_last(files: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """A page never points to what is not there yet."""
    first = next(files)
    yield from files
    yield first
