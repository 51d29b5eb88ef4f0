"""The page: one HTML file that works offline and without scripts, from records alone.

Reports of few cells have everything in the page. Those of many have the details of each problem in a page of its own
beside it, `report_files/problem-1.html`, so that the page itself stays small.

Every string of a record reaches a page escaped: by the template where it is text, by `inline_json` where it is data.
Should one slip through, the page's own policy lets no script run but those whose hashes it names.
"""

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
from markupsafe import Markup, escape

from marginbench.harness.printable import printable_lines
from marginbench.harness.records.machine import machines
from marginbench.harness.records.status import STATUSES, status_of
from marginbench.harness.reporting import numbers, page_data, page_views, path_table, tables
from marginbench.harness.reporting import page_studies as studies
from marginbench.harness.reporting.accuracy import CHOICES, CLOCK_NAMES, accuracy_text
from marginbench.harness.reporting.analysis import Analysis
from marginbench.harness.reporting.comparison import Comparison, Task, show_C
from marginbench.harness.reporting.effects import SPECIAL, Panel, panels
from marginbench.harness.reporting.heat import FEATURES
from marginbench.harness.reporting.page_planes import pictures
from marginbench.harness.reporting.palette import COLOURS, Look, look, looks_of
from marginbench.harness.reporting.planes import Plane
from marginbench.harness.reporting.ranking import SHIFTS
from marginbench.harness.reporting.ratios import BEST
from marginbench.harness.reporting.series import X_AXES, Y_AXES

ASSETS = Path(__file__).parent / "assets"
INSIDE = 500
"""Cells up to which the details of all problems are in the page itself."""

ROWS = 200
"""Rows of the table of all cells that are shown at a time."""

OPEN = 3
"""Problems that are open from the start."""

MOST = 300
"""Rows of a table of proofs or separations, and `MOST_CASES` of one kind of failure."""

MOST_CASES = 30


class Page:
    """The files of a report's page. The same records give the same text."""

    def __init__(
        self,
        comparison: Comparison,
        analysis: Analysis,
        frame: pd.DataFrame,
        title: str,
        command: str,
        drawn: Sequence[Plane] = (),
        figures: bool = False,
    ):
        """comparison: rows that differ in budget apart. analysis: of the same records. drawn: problems as pictures.
        figures: whether there are any beside the page."""
        self.comparison, self.analysis, self.frame = comparison, analysis, frame
        self.title, self.command, self.drawn, self.figures = title, command, drawn, figures
        self.inside = len(comparison.records) <= INSIDE

    def files(self, name: str = "report.html") -> Iterator[tuple[str, str]]:
        """Name and text of each file: the page, and the problems beside it."""
        yield name, self.text(name)
        if not self.inside:
            for k, task in enumerate(self.comparison.tasks, 1):
                yield f"{folder_beside(name)}/problem-{k}.html", self._problem(k, task, name)

    def text(self, name: str = "report.html") -> str:
        comparison, analysis = self.comparison, self.analysis
        script = _script("dom", "state", "charts", "tables", "problem", "studies", "cells", "start")
        columns = page_data.cell_columns(comparison, self.frame, every=self.inside)
        links = self._links(name)
        accuracy = studies.first_accuracy(analysis)
        found = studies.studies(analysis, links)
        problem = self._problem_numbers()
        return self._environment.get_template("report.html.j2").render(
            **self._frame(script),
            data=inline_json(self._data(found, columns, problem, links)),
            comparison=comparison,
            studies=[one | {"shown": studies.shown(one, accuracy, "wall")} for one in found],
            columns_of=studies.TABLES,
            accuracy=accuracy,
            counts=_counts(comparison),
            failed_statuses={group.status for group in analysis.failures},
            statuses=STATUSES.values(),
            machines=machines(comparison.records),
            false_claims=sum(bool(r.false_claim) for r in comparison.records),
            loosest=max(
                (r.gap for r in comparison.records if r.status == "solved" and r.gap is not None), default=None
            ),
            pictures=pictures(self.drawn, self._look_of),
            proofs=analysis.proofs,
            separations=analysis.separations,
            failures=analysis.failures,
            most=MOST,
            most_cases=MOST_CASES,
            link_of={task.title: link for task, link in zip(comparison.tasks, links, strict=True)},
            links=links,
            folder=folder_beside(name),
            inside=self.inside,
            opened=OPEN,
            problems=[page_views.problem(task) for task in comparison.tasks] if self.inside else [],
            curves=[self._curves(task) for task in comparison.tasks] if self.inside else [],
            walks=path_table.walks(comparison),
            path_heads=path_table.HEADS,
            special=self._special,
            headings=SPECIAL,
            status_rows=page_views.status_rows(comparison),
            status_totals=page_views.status_totals(comparison),
            columns=columns,
            cell_links=[links[k] for k in problem[:ROWS]],
            rows=min(ROWS, len(comparison.records)),
            glossary=page_views.glossary(comparison),
            provenance=analysis.provenance,
            sources=page_views.data_sources(comparison),
            digest=page_views.digest_of(comparison.records),
            downloads=self._downloads(),
        )

    def _problem(self, k: int, task: Task, home: str) -> str:
        script = _script("dom", "state", "charts", "tables", "problem", "start")
        return self._environment.get_template("problem.html.j2").render(
            **self._frame(script),
            data=inline_json(self._looks),
            item=page_views.problem(task),
            number=k,
            curves=self._curves(task),
            home=home,
        )

    # -- parts of both -------------------------------------------------------------------------------------------------

    @cached_property
    def _environment(self) -> jinja2.Environment:
        environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(ASSETS),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            finalize=_visible,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.filters |= {
            "num": tables.short,
            "time": tables.time_text,
            "count": numbers.count,
            "digits": numbers.digits,
            "percent": numbers.percent,
            "C": show_C,
            "breaks": _breaks,
        }
        environment.globals |= {"status_of": status_of, "written": numbers.written, "sort_value": _sort_value}
        return environment

    def _frame(self, script: str) -> dict[str, Any]:
        """What every page has: its title, style, scripts, and the policy that lets no other script run."""
        theme = (ASSETS / "theme.js").read_text()
        hashes = " ".join(f"'sha256-{_sha256(text)}'" for text in (theme, script))
        return {
            "title": self.title,
            "command": self.command,
            "figures": self.figures,
            "style": (ASSETS / "report.css").read_text(),
            "theme": theme,
            "script": script,
            "policy": f"default-src 'none'; style-src 'unsafe-inline'; script-src {hashes}; img-src data:; "
            "base-uri 'none'; form-action 'none'",
        }

    def _links(self, name: str) -> list[str]:
        """Of each problem, where its details are."""
        beside = f"{folder_beside(name)}/problem-{{}}.html"
        return [
            (f"#problem-{k}" if self.inside else beside.format(k)) for k in range(1, len(self.comparison.tasks) + 1)
        ]

    def _problem_numbers(self) -> list[int]:
        places = {id(r): k for k, task in enumerate(self.comparison.tasks) for r in task.records}
        return [places[id(r)] for r in self.comparison.records]

    @cached_property
    def _special(self) -> dict[str, list[Panel]]:
        return panels(self.comparison)

    @cached_property
    def _look_of(self) -> dict[str, Look]:
        return looks_of(self.comparison)

    @cached_property
    def _looks(self) -> dict[str, Any]:
        """Axes, and the look of each method: the same in all charts and figures."""
        found = {label: _look(one) for label, one in self._look_of.items()}
        return {"x": X_AXES, "y": Y_AXES, "looks": found, "more": [_look(look(k)) for k in range(32)]}

    def _curves(self, task: Task) -> Markup | None:
        found = page_data.problem_curves(task)
        return inline_json(found) if found["curves"] else None

    def _data(
        self,
        found: Sequence[Mapping[str, Any]],
        columns: Sequence[dict[str, Any]],
        problem: Sequence[int],
        links: Sequence[str],
    ) -> dict[str, Any]:
        return {
            **self._looks,
            "statuses": {s.name: [s.sign, s.tone] for s in STATUSES.values()},
            "cells": page_data.cells(columns, problem, links, ROWS) if problem else None,
            "special": {name: [page_data.panel(p) for p in charts] for name, charts in self._special.items()},
            "studies": found,
            "accuracies": [accuracy_text(a) for a in CHOICES],
            "offered": studies.offered(self.analysis),
            "first": studies.first_accuracy(self.analysis),
            "clocks": CLOCK_NAMES,
            "shifts": SHIFTS,
            "tables": studies.TABLES,
            "features": FEATURES,
            "steps": studies.STEPS,
            "best": BEST,
        }

    def _downloads(self) -> dict[str, tuple[str, str]]:
        """Name -> file and where it is: in the page itself, or beside it where it is large."""
        made = {"CSV": ("table.csv", "text/csv", tables.csv), "LaTeX": ("table.tex", "application/x-tex", tables.latex)}
        made["Markdown"] = ("table.md", "text/markdown", tables.markdown)
        return {
            name: (file, _data_link(kind, write(self.frame)) if self.inside else file)
            for name, (file, kind, write) in made.items()
        }


def folder_beside(name: str) -> str:
    """`report_files` for report.html."""
    return f"{Path(name).stem}_files"


def _look(one: Look) -> tuple[str, str, str]:
    """Colour (of the palette by its number, which the style sheet has for light and dark), dash, marker."""
    colour = f"c{COLOURS.index(one.colour)}" if one.colour in COLOURS else one.colour
    return colour, " ".join(f"{2.0 * x:g}" for x in one.dash), one.marker


def _sort_value(value: Any) -> Any:
    """What a cell is sorted by: of several numbers the first."""
    first = value[0] if isinstance(value, list | tuple) else value
    return "" if first is None else first


def _counts(comparison: Comparison) -> dict[str, int]:
    found = Counter(r.status for r in comparison.records)
    return {status: found[status] for status in [*STATUSES, *sorted(set(found) - set(STATUSES))] if found[status]}


def _script(*names: str) -> str:
    return "".join((ASSETS / f"{name}.js").read_text() for name in names)


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _visible(value: Any) -> Any:
    """What an expression of the template gives: text without characters that a terminal would obey."""
    return printable_lines(value) if type(value) is str else value


def _breaks(text: str) -> Markup:
    """A long name may be broken behind an underscore."""
    return escape(printable_lines(text)).replace("_", Markup("_<wbr>"))


def inline_json(value: Any) -> Markup:
    """JSON that may stand inside a script element: nothing in it can end the element or open a comment."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"), ensure_ascii=True)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _data_link(kind: str, text: str) -> str:
    return f"data:{kind};charset=utf-8;base64,{base64.b64encode(text.encode()).decode()}"
