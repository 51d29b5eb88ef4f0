"""frontier.csv read back: the same tables from the file alone, for results that are kept without their records.

Files of version 0.1 have no column `runs`: of each cell they hold the median, so that no interval from repeats follows.
"""

import math
from pathlib import Path

import numpy as np
import pandas as pd

from marginbench.harness.errors import InputError
from marginbench.harness.reporting.accuracy import ACCURACIES
from marginbench.harness.reporting.comparison import natural, show_C
from marginbench.harness.reporting.costs import Costs, Uniforms
from marginbench.harness.reporting.frontier_table import COLUMNS, Race
from marginbench.harness.reporting.ratios import BEST

LATER = ("runs", "problem", "title", "base", "question")
"""Columns that files of version 0.1 do not have."""

PROBLEM = ["dataset", "n", "d", "nnz", "C", "bias", "loss"]


def read(path: Path) -> list[Race]:
    """One race per question, in the order of the file; where it names none, per margin and bias."""
    try:
        frame = pd.read_csv(path, keep_default_na=False)
        frame = frame.astype({"C": float, "accuracy": float, "seconds": float})
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{path}: cannot be read as a frontier.csv: {error}") from None
    lacking = [name for name in COLUMNS if name not in frame.columns and name not in LATER]
    if lacking or frame.empty:
        raise InputError(
            f"{path}: is no frontier.csv of a report: " + (f"no column {lacking[0]}" if lacking else "empty")
        )
    frame = frame[frame["method"] != BEST]
    if "question" not in frame:
        margins = frame["C"].map(lambda C: "hard margin" if math.isinf(C) else "soft margin")
        frame = frame.assign(question=margins + ", bias " + frame["bias"].astype(str))
    return [_race(name, frame[frame["question"] == name]) for name in frame["question"].drop_duplicates()]


def _race(name: str, rows: pd.DataFrame) -> Race:
    methods = tuple(sorted(rows["method"].unique(), key=natural))
    kinds = dict(zip(rows["method"], rows["kind"], strict=True))
    peers = frozenset(method for method in methods if kinds[method] == "peer")
    problems = rows.drop_duplicates(PROBLEM)[PROBLEM]
    number = {key: p for p, key in enumerate(problems.itertuples(index=False, name=None))}
    places = np.array([number[key] for key in rows[PROBLEM].itertuples(index=False, name=None)])
    titles = [f"{key[0]}, C = {show_C(key[4])}, bias {key[5]}" for key in number]
    data = problems.groupby(["dataset", "n", "d", "nnz"], sort=False).ngroup().to_numpy()
    keys = list(titles)
    if "problem" in rows:
        keys = [str(key) for key in rows.drop_duplicates(PROBLEM)["problem"]]
        titles = [str(title) for title in rows.drop_duplicates(PROBLEM)["title"]]
    rows = rows.assign(p=places, s=rows["method"].map(methods.index))
    costs = {a: _costs(rows[rows["accuracy"] == a], (len(keys), len(methods)), keys, methods) for a in ACCURACIES}
    alone = "single runs" if "runs" in rows else "repeats not stored"
    base = str(rows["base"].iloc[0]) if "base" in rows else _base(methods, peers, costs[ACCURACIES[0]])
    return Race(name, methods, peers, base, tuple(titles), data, costs, alone)


def _base(methods: tuple[str, ...], peers: frozenset[str], loosest: Costs) -> str:
    """The own method that most often arrives."""
    own = [method for method in methods if method not in peers] or methods
    return max(own, key=lambda method: int(np.isfinite(loosest.t[:, methods.index(method)]).sum()))


def _costs(rows: pd.DataFrame, shape: tuple[int, int], keys: list[str], methods: tuple[str, ...]) -> Costs:
    cells: dict[tuple[int, int], list[float]] = {}
    texts = rows["runs"] if "runs" in rows else rows["seconds"]
    for p, s, text in zip(rows["p"], rows["s"], texts, strict=True):
        cells[p, s] = sorted(float(one) for one in str(text).split())
    count = np.array([[len(cells.get((p, s), [])) for s in range(shape[1])] for p in range(shape[0])])
    values = [t for p in range(shape[0]) for s in range(shape[1]) for t in cells.get((p, s), [])]
    first = (np.cumsum(count) - count.ravel()).reshape(shape)
    return Costs(np.array(values), first, count, np.full(shape, math.nan), Uniforms(keys, methods, count > 0))
