"""Data sets, loaded in a process of their own (`data_process.py`): a generator or a reader may crash or hang.

What comes back is a folder on disk and a digest. The harness computes the digest of the files itself, once per run, and
again when a file was touched; it keeps no copy of them.
"""

import json
import re
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from marginbench.datasets.eviction import hold
from marginbench.datasets.mapped import SINGLE
from marginbench.harness.cell.spec import Cell
from marginbench.harness.errors import StoreError
from marginbench.harness.model.problem import InputError
from marginbench.harness.rehearsal import Mishap
from marginbench.harness.running.isolation import Isolation
from marginbench.harness.running.job import Job, Limits
from marginbench.harness.running.mapped_data import Data, verified


def data_key(cell: Cell) -> str:
    """The name of a data set among those that are loaded: its configuration as text."""
    return json.dumps([cell.dataset, cell.preprocess], sort_keys=True)


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
    asked = (cell.dataset, cell.preprocess, cell.dataset_name, str(folder))
    job = Job("marginbench.harness.running.data_process.loaded", asked, limits)
    result = isolation.do(job)
    if result.status:
        return Mishap(result.status, f"loading the data set {cell.dataset_name}: {result.message}")
    for key, kind in (("bad_input", InputError), ("bad_store", StoreError)):
        if key in result.text:
            raise kind(str(result.text[key]))
    try:
        held_out = result.text["held_out"]
        beside = None if held_out is None else _named(folder, held_out, [])
        return replace(_named(folder, result.text["train"], result.text["notes"]), held_out=beside)
    except (ValueError, LookupError, TypeError, OSError) as error:  # foreign code ran there, and may say anything
        return Mishap("failed", f"loading the data set {cell.dataset_name}: what it made cannot be read: {error}")


def _named(folder: Path, said: Any, notes: Sequence[Any]) -> Data:
    """The data that are in the folder under the name that the process said."""
    name, place = str(said["digest"]), str(said["folder"])
    if not re.fullmatch("[0-9a-f]{64}", name) or not re.fullmatch(f"{name}(-csr)?({SINGLE})?", place):
        raise ValueError("no digest")
    return verified(folder / place, name, [str(note) for note in notes])


def refreshed(data: Data, cell: Cell, isolation: Isolation) -> Data | Mishap:
    """The data of a cell as they are to be used now: verified again if a file was touched, made again if damaged."""
    if data.unchanged:
        for one in (data, data.held_out):
            if one is not None:
                hold(one.path)  # it may have been verified in another process
        return data
    try:
        held_out = None if data.held_out is None else verified(data.held_out.path, data.held_out.digest)
        return replace(verified(data.path, data.digest, data.notes), held_out=held_out)
    except ValueError:
        try:
            made = _load_one(cell, data.path.parent, isolation)
        except (InputError, StoreError) as error:
            made = Mishap("failed", str(error))
    if isinstance(made, Data) and made.digest != data.digest:
        return Mishap("failed", f"the data set {cell.dataset_name} is not made of the same data any more")
    return made
