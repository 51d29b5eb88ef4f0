"""What the scripts of the page draw and filter, as plain data for JSON: curves, panels, the cells as columns."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from marginbench.harness.reporting import tables
from marginbench.harness.reporting.comparison import Comparison, Task
from marginbench.harness.reporting.effects import Panel
from marginbench.harness.reporting.numbers import written
from marginbench.harness.reporting.series import Curve, curves, targets

FIRST = ["status", "gap", "suboptimality", "build_seconds", "solve_seconds", "passes", "iterations"]
"""Columns of the table of all cells after names and varied values."""


def rounded(value: float | None, digits: int = 4) -> float | None:
    """Four digits are more than a chart shows; None for what is no finite number."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.{digits}g}")


def kept(value: float | None) -> float | None:
    """For tables, which show three digits: rounded to four before, 708.498 would be written as 709."""
    return rounded(value, 9)


def all_rounded(values: Iterable[float | None]) -> list[float | None]:
    return [rounded(value) for value in values]


# -- charts --------------------------------------------------------------------------------------------------------


def problem_curves(task: Task) -> dict[str, Any]:
    return {"curves": [_curve(c) for c in curves(task)], "targets": targets(task)}


def _curve(c: Curve) -> dict[str, Any]:
    """Columns without a value are left out."""
    columns = {
        "seconds": c.x["seconds"],
        "iterations": c.x["iterations"],
        **c.y,
        "bound": c.bound,
        "dual_bound": c.dual_bound,
    }
    kept: dict[str, Any] = {
        name: all_rounded(column) for name, column in columns.items() if any(v is not None for v in column)
    }
    if c.fit is not None:
        kept["fit"] = {"factor": c.fit.factor, "x": all_rounded(c.fit.x), "y": all_rounded(c.fit.y)}
    return {"label": c.label, "main": c.main, "ladder": c.ladder, "seconds": [], "unit": _unit(c), **kept}


def _unit(c: Curve) -> float | None:
    """Seconds of a pass."""
    pairs = zip(c.x["seconds"], c.x["passes"], strict=True)
    return next((s / p for s, p in pairs if s is not None and p is not None and p > 0.0), None)


def panel(p: Panel) -> dict[str, Any]:
    lines = [
        {"label": line.label, "kind": line.kind, "x": all_rounded(line.x), "y": all_rounded(line.y)} for line in p.lines
    ]
    return {"title": p.title, "x": p.x_label, "y": p.y_label, "linear": not p.logarithmic, "lines": lines}


# -- the table of all cells ----------------------------------------------------------------------------------------


def cell_columns(comparison: Comparison, frame: pd.DataFrame, every: bool) -> list[dict[str, Any]]:
    """Name, kind and values of each column: the names of a row, what was varied, FIRST; then the rest, if `every`, and
    the message. Columns without a value are left out."""
    shown = [path for path in frame.attrs.get("shown", []) if path in frame.columns]
    chosen = [*tables.NAMES, *shown, *FIRST]
    rest = [name for name in frame.columns if name not in (*chosen, "message", "method", "problem")]
    names = dict.fromkeys([*chosen, *(rest if every else []), "message"])
    columns = [{"name": "method", "kind": "text", "values": list(comparison.labels)}]
    for name in names:
        values = frame[name].astype(object).where(frame[name].notna(), None).tolist()
        if any(value not in (None, "") for value in values) or name in FIRST:
            columns.append({"name": COLUMN_NAMES.get(name, name.replace("_", " ")), **_column(name, values)})
    return columns


COLUMN_NAMES = {"dataset": "data set", "build_seconds": "build", "solve_seconds": "solve"}


def _column(name: str, values: list[Any]) -> dict[str, Any]:
    texts = all(value is None or isinstance(value, str) for value in values)
    kind = "text" if texts else _kind(name)
    if not texts and any(isinstance(value, bool) for value in values):
        return {"kind": "text", "values": [written(value, "number") for value in values]}
    return {"kind": kind, "values": ["" if texts and value is None else value for value in values]}


def _kind(name: str) -> str:
    if "seconds" in name:
        return "time"
    if name == "C" or name == "problem.C":
        return "C"
    if name in ("primal", "dual", "own_dual"):
        return "objective"
    if name.startswith("kkt") or name.endswith("_error") or name in ("gap", "suboptimality", "own_residual"):
        return "gap"
    return "count" if name in ("passes", "iterations") else "number"


def cells(
    columns: Sequence[Mapping[str, Any]], problem: Sequence[int], links: Sequence[str], page: int
) -> dict[str, Any]:
    """For the script: texts by number of a list of distinct ones, numbers with as many digits as are shown."""
    found = []
    for column in columns:
        if column["kind"] == "text":
            names = list(dict.fromkeys(column["values"]))
            number = {name: k for k, name in enumerate(names)}
            packed = {"names": names, "values": [number[value] for value in column["values"]]}
        else:
            packed = {"values": [_finite(value, column["kind"]) for value in column["values"]]}
        found.append({"name": column["name"], "kind": column["kind"], **packed})
    return {"columns": found, "count": len(problem), "page": page, "problem": list(problem), "problems": list(links)}


def _finite(value: Any, kind: str) -> float | int | None:
    """JSON has no infinity: a C without bound is written as the largest double."""
    if value is None or isinstance(value, int):
        return value
    if math.isinf(value) and kind == "C":
        return math.copysign(1.7e308, value)
    return float(f"{value:.{9 if kind == 'objective' else 6}g}") if math.isfinite(value) else None
