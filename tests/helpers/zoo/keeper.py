"""Runs the zoo as a user would run a sweep, and looks for what it leaves behind."""

import os
import time
from collections.abc import Iterable
from pathlib import Path

from marginbench.harness.cell.spec import Cell
from marginbench.harness.records.record import Record
from marginbench.harness.running.sweep import run_cells
from zoo.expectation import Expectation
from zoo.honest import KEEPERS
from zoo.pens import HARD_PRIMAL, PRIMAL

CLARABEL = {"_target_": "marginbench.solvers.clarabel_qp.ClarabelQp"}
REFERENCE = {
    "soft": {"formulation": PRIMAL, "solver": CLARABEL},
    "hard": {"formulation": HARD_PRIMAL, "solver": CLARABEL},
    "budget": {"seconds": 5.0, "gap": 1e-11},
}
"""A pair without kernels: in a new cache, compiling them would take longer than the whole zoo."""


def run(cells: Iterable[Cell], out: Path) -> list[Record]:
    """The rows of the cells, in their order; earlier runs in `out` are used."""
    config = {"out": str(out), "repeat_below": float("inf"), "fresh": False, "reference": REFERENCE, "seed": 0}
    return [row for row in run_cells(list(cells), config, "zoo", "zoo").asked if row is not None]


def run_all(expected: Iterable[Expectation], out: Path) -> dict[str, list[Record]]:
    """All in one sweep, each a neighbour of every other: name -> its rows."""
    expected = list(expected)
    cells = [(one.name, cell) for one in expected for cell in one.cells()]
    found: dict[str, list[Record]] = {}
    for (name, _), row in zip(cells, run([cell for _, cell in cells], out), strict=True):
        found.setdefault(name, []).append(row)
    return found


def survivors(token: str, patience: float = 3.0) -> set[int]:
    """Processes other than the keepers that carry the token in their environment, after some patience."""
    keepers = {int(pid) for pid in os.environ[KEEPERS].split(",")}
    end = time.monotonic() + patience
    while (found := _carriers(token) - keepers) and time.monotonic() < end:
        time.sleep(0.05)
    return found


def _carriers(token: str) -> set[int]:
    found = set()
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and token.encode() in (entry / "environ").read_bytes():
                found.add(int(entry.name))
        except OSError:
            continue
    return found
