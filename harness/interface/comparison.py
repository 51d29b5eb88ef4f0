"""compare: many methods on one data set, each run in a process of its own, as table, figures and report."""

import io
import shutil
import tempfile
import weakref
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from marginbench.datasets.digest import digest
from marginbench.datasets.mapped import folder_name
from marginbench.harness.cell.path import path_of, starts
from marginbench.harness.cell.spec import make_problem
from marginbench.harness.interface import engine, html
from marginbench.harness.interface.data import Classes, samples, stored
from marginbench.harness.interface.methods import Method, pair_of
from marginbench.harness.model.problem import Bias, InputError, Loss
from marginbench.harness.records.record import Record
from marginbench.harness.running.sweep import Finished

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

T = TypeVar("T")


class Figures(dict[str, "Figure"]):
    """Figures by name; in a notebook, all of them one below the other."""

    def _repr_html_(self) -> str:
        return "".join(_svg(figure) for figure in self.values())


def _svg(figure: "Figure") -> str:
    text = io.StringIO()
    figure.savefig(text, format="svg")
    return f"<div style='overflow-x:auto'>{text.getvalue()[text.getvalue().index('<svg') :]}</div>"


class Comparison:
    """What `compare` found. Every cell that was asked for is a row of `frame`, with its status and message.

    records, folder: the rows and where they are stored; positive: the label that counts as +1; interrupted: whether it
    was stopped before the last cell.
    """

    def __init__(self, finished: Finished, classes: Classes, command: str) -> None:
        self.records: list[Record] = finished.records
        self.folder: Path = finished.folder
        self.interrupted: bool = finished.interrupted
        self.classes = classes
        self.command = command

    @property
    def positive(self) -> Any:
        return self.classes.positive

    @cached_property
    def _references(self) -> Any:
        return engine.references_of(self.records, self.folder)

    @cached_property
    def frame(self) -> "pd.DataFrame":
        """One row per cell, with the columns of table.csv."""
        from marginbench.harness.reporting import tables

        return tables.table(self.records, self._references)

    @cached_property
    def figures(self) -> Figures:
        """The figures of the report by name, drawn by matplotlib; a notebook shows all of them."""
        from marginbench.harness.reporting import figures

        return Figures(figures.drawn(self.records, self._references, self.folder))

    def report(self, path: str | Path | None = None) -> Path:
        """Write the report, one HTML page that works offline; its path.

        Without `path` it goes into `folder`, with tables and figures beside it.
        """
        from marginbench.harness.reporting import report

        title = self.records[0].dataset
        if path is None:
            return report.write(self.records, self.folder, title, self.command, self._references)
        page = Path(path)
        if page.suffix != ".html":
            raise InputError(f"report({str(path)!r}): needs the name of a file that ends in .html")
        if not page.parent.is_dir():
            raise InputError(f"report({str(path)!r}): there is no folder {page.parent}")
        return report.write_page(report.page(self.records, title, self.command, self._references), page)

    def _title(self) -> str:
        counts = Counter(record.status for record in self.records).most_common()
        return f"{len(self.records)} cells: " + ", ".join(f"{count} {status}" for status, count in counts)

    def _notes(self) -> list[str]:
        stopped = ["stopped before the last cell; with out=FOLDER, the same call goes on from there"]
        return [f"positive class: {self.positive!r}", *(stopped if self.interrupted else [])]

    def __repr__(self) -> str:
        from marginbench.harness.reporting.terminal import terminal

        return "\n".join([terminal(self.records, self._references), self._title(), *self._notes()])

    def _repr_html_(self) -> str:
        from marginbench.harness.reporting import tables

        return html.table(self._title(), tables.page_headers(self.frame), tables.page_rows(self.frame), self._notes())


def compare(
    X: object,
    y: object,
    methods: Iterable[Method] = ("auto", "coordinate_descent"),
    C: float | Iterable[float] = 1.0,
    bias: Bias | Iterable[Bias] | None = None,
    *,
    path: Iterable[float] | None = None,
    loss: Loss = "hinge",
    weight: Any = None,
    s: float = 1.0,
    kernel: str = "linear",
    gamma: float | None = None,
    sigma: float | None = None,
    coef0: float | None = None,
    degree: int | None = None,
    budget: Mapping[str, float] | float | None = None,
    limits: Mapping[str, float] | float | None = None,
    repeats: int = 1,
    threads: int = 1,
    seed: int = 0,
    positive: object = None,
    name: str = "data",
    out: str | Path | None = None,
    fresh: bool = False,
) -> Comparison:
    """Run every method on (X, y) for every C and bias, each cell in a process of its own, and certify every answer.

    methods, bias, weight, kernel with its parameters, budget, limits, threads: as for `solve`.
    repeats: how often each cell is run.
    path: values of C to solve one after another, instead of C: each from nothing and, in rows with start = "warm", from
    the method's own answer at the value before.
    out: a folder for the results, in which finished cells of an earlier call are found again, unless `fresh`; None is a
    temporary one, deleted with the Comparison. name: of the data, in the table and the report.
    The data are written to the cache of marginbench once, for all processes to map.

    >>> import marginbench as mb
    >>> X, y = mb.load("separable")
    >>> found = mb.compare(X, y, methods=["auto", "liblinear"], C=[0.1, 1.0], bias="none")
    >>> found.frame[["C", "solver", "status"]].value_counts().sum(), set(found.frame["status"])
    (np.int64(4), {'solved'})
    >>> found.report().name
    'report.html'
    """
    given = samples(X, y, positive)
    chosen = _each(methods, (str, type))
    name_of_data = digest(given.X, given.y)
    dataset = {"_target_": f"{stored.__module__}.{stored.__name__}", "digest": folder_name(given.X, name_of_data)}
    budgets, limit = engine.options("budget", budget, seed), engine.options("limits", limits, seed)
    walk = [] if path is None else path_of(np.asarray(path).tolist())
    if walk and _each(C, (str,)) != [1.0]:
        raise InputError("compare: C beside path: the path gives every C; leave one of the two out")
    cells = []
    for price, start in starts(walk) if walk else [(price, "cold") for price in _each(C, (str,))]:
        for kind in _each(bias, (str,)):
            of_kernel = {"gamma": gamma, "sigma": sigma, "coef0": coef0, "degree": degree}
            problem = engine.problem_config(price, kind, loss, weight, s, kernel, **of_kernel)
            stated = make_problem(given.X, given.y, problem)
            pairs = [pair_of(method, stated, seed) for method in chosen]
            made = engine.cells(given, pairs, problem, dataset, name, budgets, limit, seed, repeats, threads)
            cells += [replace(cell, path=walk, start=start) for cell in made]
    if not cells:
        raise InputError("compare: no cells; needs at least one method, one C and one bias")
    folder = Path(tempfile.mkdtemp(prefix="marginbench-")) if out is None else Path(out)
    shown = ", ".join(str(method) for method in chosen)
    command = f"marginbench.compare(X, y, methods=[{shown}])"
    finished = engine.run_all(cells, given, folder, fresh, command, seed)
    if finished.interrupted and not finished.records:
        raise KeyboardInterrupt
    found = Comparison(finished, given.classes, command)
    if out is None:
        weakref.finalize(found, shutil.rmtree, folder, ignore_errors=True)
    return found


def _each(values: Any, single: tuple[type, ...]) -> Sequence[Any]:
    """The values of a list or array; one value alone is a list of one."""
    if values is None or isinstance(values, single) or not isinstance(values, Iterable):
        return [values]
    return list(values)
