"""The report: tables, figures, and one HTML page that works without a network, from stored records alone.

Every string of a record reaches the page escaped: by the template where it is text, by `inline_json` where it is data.
Should one slip through, the page's own policy lets no script run but the one whose hash it names.
"""

import ast
import base64
import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd

from marginbench.harness.files import write_atomically
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.old_names import current_name
from marginbench.harness.printable import printable_lines
from marginbench.harness.records.machine import machines
from marginbench.harness.records.record import Record
from marginbench.harness.records.status import STATUSES, named, status_of, worst
from marginbench.harness.reporting import figures, frontier, statistics, tables
from marginbench.harness.reporting.comparison import (
    Comparison,
    Family,
    Task,
    natural,
    number,
    representative,
    seconds,
    show_C,
    succeeded,
)
from marginbench.harness.reporting.series import SPECIAL, X_AXES, Y_AXES, Curve, Panel, curves, panels

HERE = Path(__file__).parent
FIRST = [
    "status",
    "primal",
    "gap",
    "suboptimality",
    "build_seconds",
    "solve_seconds",
    "passes",
    "iterations",
    "message",
]
"""Columns that the table of all cells goes on with after names and varied values; the others follow in their order."""


def write(
    records: Sequence[Record], folder: Path, title: str, command: str, references: Mapping[str, Bounds] | None = None
) -> Path:
    """table.*, frontier.*, figures/* and report.html in `folder`; the path of the page."""
    frame = tables.table(records, references)
    tables.write(frame, folder)
    found = frontier.frontiers(Comparison.of(records, references))
    write_atomically(folder / "frontier.csv", tables.csv(frontier.frame(found)))
    write_atomically(folder / "frontier.md", frontier.markdown(found))
    figures.write(records, frame, folder, references)
    return write_atomically(folder / "report.html", page(records, frame, title, command, references))


def page(
    records: Sequence[Record],
    frame: pd.DataFrame,
    title: str,
    command: str,
    references: Mapping[str, Bounds] | None = None,
) -> str:
    """The page as text; the same records give the same text."""
    comparison = Comparison.of(records, references)
    races = frontier.frontiers(comparison)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "num": tables.short,
        "time": tables.time_text,
        "count": tables.count,
        "digits": _digits,
        "percent": _percent,
        "C": show_C,
    }
    script = (HERE / "report.js").read_text()
    return environment.get_template("report.html.j2").render(
        title=title,
        command=command,
        style=(HERE / "report.css").read_text(),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        data=inline_json(_data(comparison, races)),
        comparison=comparison,
        style_of={label: k for k, label in enumerate(comparison.methods)},
        counts={status: k for status in STATUSES if (k := Counter(r.status for r in comparison.records)[status])},
        statuses=STATUSES.values(),
        status_of=status_of,
        named=named,
        bad=sum(status_of(r.status).bad for r in comparison.records),
        machines=machines(comparison.records),
        false_claims=sum(bool(r.false_claim) for r in comparison.records),
        solved=sum(succeeded(r) for r in comparison.records),
        loosest=max((r.gap for r in comparison.records if r.status == "solved" and r.gap is not None), default=None),
        floor=statistics.noise_floor(comparison.tasks),
        shift=statistics.SHIFT,
        families=[_family(family, comparison.separators) for family in comparison.families if family.methods],
        races=races,
        accuracies=frontier.ACCURACIES,
        tasks=[_task(task) for task in comparison.tasks],
        special=panels(comparison),
        headings=SPECIAL,
        matrix=_matrix(comparison),
        rows=frame.astype(object).where(frame.notna(), None).to_dict("records"),
        labels=comparison.labels,
        columns=_columns(frame),
        glossary=_glossary(comparison),
        provenance=_provenance(comparison),
        downloads={
            "CSV": ("table.csv", _link("text/csv", tables.csv(frame))),
            "LaTeX": ("table.tex", _link("application/x-tex", tables.latex(frame))),
            "Markdown": ("table.md", _link("text/markdown", tables.markdown(frame))),
        },
    )


def _visible(value: Any) -> Any:
    """What an expression of the template gives: text without characters that a terminal would obey."""
    return printable_lines(value) if type(value) is str else value


def inline_json(value: Any) -> jinja2.utils.markupsafe.Markup:
    """JSON that may stand inside a script element: nothing in it can end the element or open a comment."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"), ensure_ascii=True)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return jinja2.utils.markupsafe.Markup(text)


def _link(kind: str, text: str) -> str:
    return f"data:{kind};charset=utf-8;base64,{base64.b64encode(text.encode()).decode()}"


def _digits(value: Any, digits: int = 8) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    x = number(value)
    return "" if x is None else f"{x:.{digits}g}"


def _percent(value: Any) -> str:
    x = number(value)
    return "" if x is None else f"{100.0 * x:.3g} %"


def _columns(frame: pd.DataFrame) -> list[str]:
    """Of the table of all cells, after the names: what was varied first, so that a row can be told from the next."""
    varied = [path for path in frame.attrs.get("shown", []) if path in frame.columns]
    return list(dict.fromkeys([*varied, *FIRST, *(name for name in frame.columns if name not in tables.NAMES)]))


# -- what the template shows ---------------------------------------------------------------------------------------


def _family(family: Family, separators: set[str]) -> dict[str, Any]:
    t, limit = statistics.times(family), statistics.limits(family)
    means = statistics.shifted_geometric_mean(t, limit)
    rows: list[dict[str, Any]] = [
        {"label": label, "mean": mean, "solved": int(sum(math.isfinite(x) for x in t[:, k]))}
        for k, (label, mean) in enumerate(zip(family.methods, means, strict=True))
    ]
    rows.sort(key=lambda row: (row["mean"], row["label"]))
    best = rows[0]["mean"] if rows else 0.0
    return {
        "name": family.name,
        "problems": len(family.tasks),
        "limits": [tables.time_text(x) for x in sorted(set(limit))],
        "never": [row["label"] for row in rows if not row["solved"]],
        "rows": [row | {"ratio": row["mean"] / best if best > 0.0 else None} for row in rows],
        "methods": family.methods,
        "separators": sorted(separators & {label for task in family.tasks for label in task.runs}),
    }


def _task(task: Task) -> dict[str, Any]:
    rows = []
    for label, runs in task.runs.items():
        chosen = representative(runs)
        subopt = task.bounds.suboptimality(chosen.primal)
        row = {
            "label": label,
            "r": chosen,
            "runs": len(runs),
            "good": sum(map(succeeded, runs)),
            "status": worst(r.status for r in runs),
        }
        rows.append(row | {"seconds": seconds(chosen), "suboptimality": subopt})
    failed = [(label, r.status, r.message) for label, runs in task.runs.items() for r in runs if not succeeded(r)]
    failed.sort(key=lambda failure: not status_of(failure[1]).ran)  # what never ran comes last
    return {"task": task, "rows": rows, "failures": Counter(failed), "drawn": bool(curves(task))}


def _matrix(comparison: Comparison) -> list[dict[str, Any]]:
    """Of each method, in each problem: worst status, what to write, the message."""
    lines = []
    for label in comparison.methods:
        cells: list[dict[str, Any] | None] = []
        for task in comparison.tasks:
            runs = task.runs.get(label)
            cells.append(_matrix_cell(runs) if runs else None)
        asked = [runs for task in comparison.tasks if (runs := task.runs.get(label))]
        lines.append(
            {
                "label": label,
                "cells": cells,
                "good": sum(succeeded(r) for runs in asked for r in runs),
                "all": sum(map(len, asked)),
            }
        )
    return lines


def _matrix_cell(runs: list[Record]) -> dict[str, Any]:
    status, chosen, good = worst(r.status for r in runs), representative(runs), sum(map(succeeded, runs))
    shown = status.replace("_", " ")
    if status == "inaccurate" and number(chosen.gap) is not None:
        shown = f"gap {tables.short(chosen.gap)}"
    elif good == len(runs):
        shown = tables.time_text(seconds(chosen)) or status
    elif good:
        shown = f"{good} of {len(runs)}"
    message = next((r.message for r in runs if r.message), "")
    return {"status": status, "shown": shown, "message": f"{status}: {message}" if message else status}


def _glossary(comparison: Comparison) -> list[dict[str, Any]]:
    first: dict[str, Record] = {}
    for r, label in zip(comparison.records, comparison.labels, strict=True):
        first.setdefault(label, r)
    entries = []
    for label, r in sorted(first.items(), key=lambda item: natural(item[0])):
        parts = {
            part: config if isinstance(config := r.cell.get(part), dict) else {} for part in ("formulation", "solver")
        }
        settings = {
            f"{part}.{key}": json.dumps(value, default=str)
            for part, config in parts.items()
            for key, value in config.items()
            if key != "_target_"
        }
        words = {part: _docstring(str(config.get("_target_", ""))) for part, config in parts.items()}
        entries.append({"label": label, "r": r, "settings": settings, "words": words})
    return entries


def _docstring(target: str) -> str:
    """What the module that a record names says of itself: read, never imported, and only from this project."""
    ours = r"marginbench\.((?:harness\.formulations|solvers)(?:\.[a-z_0-9]+)+)\.\w+"
    match = re.fullmatch(ours, current_name(target))
    path = HERE.parents[1].joinpath(*match[1].split(".")).with_suffix(".py") if match else None
    if path is None or not path.is_file():
        return ""
    return ast.get_docstring(ast.parse(path.read_text())) or ""


def _provenance(comparison: Comparison) -> dict[str, Any]:
    """Versions and machines, each with the number of cells that had them; problems with their keys."""
    versions: dict[str, Counter[str]] = {}
    machines: Counter[str] = Counter()
    for r in comparison.records:
        for name, version in r.versions.items():
            versions.setdefault(str(name), Counter())[str(version)] += 1
        if r.machine:
            machines[json.dumps(r.machine, sort_keys=True, default=str)] += 1
    data = {
        task.key: json.dumps(task.sample.cell.get("dataset", {}), sort_keys=True, default=str)
        for task in comparison.tasks
    }
    hashes = hashlib.sha256("\n".join(sorted(r.hash for r in comparison.records)).encode()).hexdigest()
    return {
        "versions": {name: sorted(seen.items()) for name, seen in sorted(versions.items())},
        "machines": [(json.loads(text), k) for text, k in sorted(machines.items())],
        "data": data,
        "hashes": hashes,
    }


# -- what the script draws -----------------------------------------------------------------------------------------


def _data(comparison: Comparison, races: Sequence[frontier.Frontier]) -> dict[str, Any]:
    floor = statistics.noise_floor(comparison.tasks)
    return {
        "methods": comparison.methods,
        "colours": len(figures.COLOURS),
        "x": X_AXES,
        "y": Y_AXES,
        "tasks": [[_curve(c) for c in curves(task)] for task in comparison.tasks],
        "families": [_profiles(family, floor) for family in comparison.families if family.methods],
        "frontiers": [frontier.plain(f) for f in races],
        "accuracies": [tables.short(a) for a in frontier.ACCURACIES],
        "special": {name: [_panel(p) for p in charts] for name, charts in panels(comparison).items()},
    }


def _curve(c: Curve) -> dict[str, Any]:
    values = {name: [_round(v) for v in column] for name, column in {**c.x, **c.y, "bound": c.bound}.items()}
    return {"label": c.label, "main": c.main, "ladder": c.ladder, **values}


def _profiles(family: Family, floor: float | None) -> dict[str, Any]:
    t = statistics.times(family)
    pairs = [
        [r.a, r.b, _round(r.ratio), _round(r.low), _round(r.high), r.both, r.only_a, r.only_b, r.verdict(floor)]
        for r in statistics.ratios(family)
    ]
    stairs = [[[_round(x), _round(y)] for x, y in steps] for steps in statistics.profile(t)]
    absolute = [[[_round(x), _round(y)] for x, y in steps] for steps in statistics.absolute_profile(t)]
    return {"name": family.name, "methods": family.methods, "ratio": stairs, "seconds": absolute, "pairs": pairs}


def _panel(p: Panel) -> dict[str, Any]:
    lines = [
        {"label": line.label, "kind": line.kind, "x": [_round(x) for x in line.x], "y": [_round(y) for y in line.y]}
        for line in p.lines
    ]
    return {"title": p.title, "x": p.x_label, "y": p.y_label, "lines": lines}


def _round(value: float | None) -> float | None:
    """Four digits are more than a chart shows."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.4g}")
