"""Data sets, loaded in a process of their own (`data_process.py`): a generator or a reader may crash or hang.

What comes back is a folder on disk and a digest. The harness copies the arrays from there into its own memory. It
looks at what a function from outside the package made once more itself.
"""

import json
import re
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from marginbench.datasets.check import check
from marginbench.datasets.digest import digest
from marginbench.harness.cell.spec import Cell
from marginbench.harness.errors import StoreError
from marginbench.harness.model.problem import InputError
from marginbench.harness.old_names import current_name
from marginbench.harness.rehearsal import PACKAGE, Mishap
from marginbench.harness.running.isolation import Isolation
from marginbench.harness.running.job import Job, Limits
from marginbench.harness.running.mapped_data import Data, open_data


def data_key(cell: Cell) -> str:
    """The name of a data set among those that are loaded: its configuration as text."""
    return json.dumps(cell.dataset, sort_keys=True)


def load(cells: Sequence[Cell], folder: Path, isolation: Isolation | None = None) -> dict[str, Data | Mishap]:
    """Each distinct data set once, by its configuration as text, or the mishap that its rows tell of.

    InputError where what was asked for cannot be.
    """
    loaded: dict[str, Data | Mishap] = {}
    with ExitStack() as stack:
        isolation = isolation or stack.enter_context(Isolation())
        for cell in cells:
            config = data_key(cell)
            if config not in loaded:
                loaded[config] = _load_one(cell, folder, isolation)
    return loaded


def _load_one(cell: Cell, folder: Path, isolation: Isolation) -> Data | Mishap:
    limits = Limits(**cell.limits)
    job = Job("marginbench.harness.running.data_process.loaded", (cell.dataset, cell.dataset_name, str(folder)), limits)
    result = isolation.do(job)
    if result.status:
        return Mishap(result.status, f"loading the data set {cell.dataset_name}: {result.message}")
    for key, kind in (("bad_input", InputError), ("bad_store", StoreError)):
        if key in result.text:
            raise kind(str(result.text[key]))
    try:
        return _taken(cell, folder, str(result.text["digest"]), [str(note) for note in result.text["notes"]])
    except (ValueError, LookupError, TypeError, OSError) as error:  # foreign code ran there, and may say anything
        return Mishap("failed", f"loading the data set {cell.dataset_name}: what it made cannot be read: {error}")


def _taken(cell: Cell, folder: Path, name: str, notes: list[str]) -> Data:
    """A copy of what is on disk, which no other process can change."""
    if not re.fullmatch("[0-9a-f]{64}", name):
        raise ValueError("no digest")
    X, y = open_data(folder / name)
    X, y = X.copy() if sp.issparse(X) else np.array(X), np.array(y)
    if not current_name(str(cell.dataset["_target_"])).startswith(PACKAGE):
        X, y = check(X, y, cell.dataset_name)
        if digest(X, y) != name:
            raise ValueError("another digest")
    return Data(X, y, name, folder / name, tuple(notes))
