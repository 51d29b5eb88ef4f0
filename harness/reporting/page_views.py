"""What the templates of the page show of a comparison: problems, statuses, methods, where data come from."""

import ast
import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from marginbench.harness.old_names import current_name
from marginbench.harness.records.record import Record
from marginbench.harness.records.status import status_of, worst
from marginbench.harness.reporting import tables
from marginbench.harness.reporting.comparison import (
    Comparison,
    Task,
    natural,
    number,
    refuted,
    representative,
    seconds,
    succeeded,
)
from marginbench.harness.reporting.failures import common, same

PROJECT = Path(__file__).parents[2]


def problem(task: Task) -> dict[str, Any]:
    """A problem with the run that stands for each method, and what did not succeed."""
    rows = []
    for label, runs in task.runs.items():
        chosen = representative(runs)
        rows.append(
            {
                "label": label,
                "r": chosen,
                "runs": len(runs),
                "good": task.good(runs),
                "status": worst(r.status for r in runs),
                "suboptimality": task.bounds.suboptimality(chosen.primal),
            }
        )
    return {"task": task, "rows": rows, "failures": _failed(task)}


def _failed(task: Task) -> dict[tuple[str, str, str], int]:
    """(method, status, message) -> how often; messages that differ in numbers alone are one. What never ran is last."""
    grouped: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for label, runs in task.runs.items():
        for r in runs:
            if not succeeded(r):
                grouped[label, r.status, same(r.message)].append(r.message)
    kinds = sorted(grouped, key=lambda kind: not status_of(kind[1]).ran)
    return {(*kind[:2], common(grouped[kind])): len(grouped[kind]) for kind in kinds}


# -- what became of each cell --------------------------------------------------------------------------------------


def status_rows(comparison: Comparison) -> list[dict[str, Any]]:
    """Problems grouped by data set: of each method the worst status, what to write, the message."""
    lines: list[dict[str, Any]] = []
    for k, task in enumerate(comparison.tasks):
        cells = [_status_cell(task, runs) if (runs := task.runs.get(label)) else None for label in comparison.methods]
        told = task.title[len(task.sample.dataset) + 2 :]
        lines.append(
            {
                "number": k + 1,
                "dataset": task.sample.dataset,
                "told": told,
                "cells": cells,
                "good": task.good(task.records),
                "all": len(task.records),
            }
        )
    return lines


def status_totals(comparison: Comparison) -> list[tuple[int, int]]:
    """Of each method: runs that succeeded, and all of them."""
    found = dict.fromkeys(comparison.methods, (0, 0))
    for task in comparison.tasks:
        for label, runs in task.runs.items():
            good, asked = found[label]
            found[label] = good + task.good(runs), asked + len(runs)
    return list(found.values())


def _status_cell(task: Task, runs: list[Record]) -> dict[str, Any]:
    status, chosen, good = worst(r.status for r in runs), representative(runs), task.good(runs)
    shown = "contradicted" if refuted(chosen, task.bounds) else status.replace("_", " ")
    if good == len(runs):
        shown = tables.time_text(seconds(chosen)) or status
    elif good:  # the gap of a run that succeeded would look like a failure that is none
        shown = f"{good} of {len(runs)}"
    elif status == "inaccurate" and number(chosen.gap) is not None:
        shown = f"gap {tables.short(chosen.gap)}"
    message = next((r.message for r in runs if r.message), "")
    return {"status": status, "shown": shown, "message": f"{status}: {message}" if message else status}


# -- methods -------------------------------------------------------------------------------------------------------


def glossary(comparison: Comparison) -> list[dict[str, Any]]:
    """Each method with its settings, and what its modules say of themselves."""
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
        words = {part: docstring(str(config.get("_target_", ""))) for part, config in parts.items()}
        entries.append({"label": label, "r": r, "settings": settings, "words": words})
    return entries


def docstring(target: str) -> str:
    """What the module that a record names says of itself: read, never imported, and only from this project."""
    ours = r"marginbench\.((?:harness\.formulations|solvers)(?:\.[a-z_0-9]+)+)\.\w+"
    match = re.fullmatch(ours, current_name(target))
    path = PROJECT.joinpath(*match[1].split(".")).with_suffix(".py") if match else None
    if path is None or not path.is_file():
        return ""
    return ast.get_docstring(ast.parse(path.read_text())) or ""


# -- where the numbers come from -----------------------------------------------------------------------------------


def data_sources(comparison: Comparison) -> list[dict[str, str]]:
    """Each problem with its key and the configuration of its data."""
    return [
        {
            "title": task.title,
            "key": task.key,
            "made": json.dumps(task.sample.cell.get("dataset", {}), sort_keys=True, default=str),
        }
        for task in comparison.tasks
    ]


def digest_of(records: Sequence[Record]) -> str:
    return hashlib.sha256("\n".join(sorted(r.hash for r in records)).encode()).hexdigest()
