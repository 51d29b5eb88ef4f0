"""The cells of stored records, made again from what the reader has.

Nothing of the stored folder is executed or followed. A cell is made from the configurations of this installation, by
name, and from solver files that the user names. From the record come plain settings (numbers, words) for options that
exist here. A data file is read only where the user says, and only if its content is that of then. Limits are those of
the record, but never above the reader's own.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from marginbench.harness.cell.spec import Cell
from marginbench.harness.model.problem import InputError
from marginbench.harness.records.record import Record
from marginbench.harness.rehearsal import Mishap
from marginbench.harness.running.loading import data_key, load
from marginbench.harness.running.mapped_data import Data
from marginbench.harness.running.planning import Planned, plan

Config = dict[str, Any]
PLAIN = (int, float, str, bool, type(None))


@dataclass(frozen=True)
class OwnSolver:
    """A solver file that the user named. `word`: what tables call it, `mine.py:Mine`."""

    word: str
    config: Config


@dataclass(frozen=True)
class Means:
    """What the reader has and allows."""

    local: Callable[[str, str], Config | None]
    """Group and name -> configuration of this installation, None where there is none."""
    limits: Config = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    """Data set -> the file that the user says it is in."""
    folders: Sequence[Path] = ()
    """Where data files are looked for by name."""
    by_digest: Path | None = None
    """Of a bundle: a folder with a folder for each data digest."""
    solvers: Sequence[OwnSolver] = ()


@dataclass(frozen=True)
class Again:
    """A record and its cell of now; or `reason`, the sentence why there is none."""

    then: Record
    planned: Planned | None = None
    reason: str = ""
    capped: str = ""
    """Which limits are lower than then."""


class Loaded:
    """Data sets by their configuration, each loaded once; what cannot be loaded is tried once, too."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data: dict[str, Data] = {}
        self.failed: dict[str, str] = {}

    def of(self, cell: Cell) -> Data:
        key = data_key(cell)
        if key in self.failed:
            raise InputError(self.failed[key])
        if key not in self.data:
            try:
                (found,) = load([cell], self.folder).values()
                if isinstance(found, Mishap):
                    raise InputError(found.message)
                self.data[key] = found
            except (ValueError, TypeError, ArithmeticError, MemoryError, LookupError, AttributeError, OSError) as error:
                self.failed[key] = f"its data cannot be made: {type(error).__name__}: {str(error)[:300]}"
                if isinstance(error, InputError):
                    self.failed[key] = str(error)
                raise InputError(self.failed[key]) from None
        return self.data[key]


def again(record: Record, means: Means, loaded: Loaded) -> Again:
    """The cell of a record, checked as far as can be without running it."""
    try:
        cell, capped = cell_again(record, means)
        data = loaded.of(cell)
        needed = record.problem.partition("-")[0]
        if data.digest[:16] != needed:
            where = f"the file {cell.dataset['path']}" if "path" in cell.dataset else f"data set {record.dataset}"
            raise InputError(f"{where} holds other data here: digest {data.digest[:16]}, needed {needed[:16]}")
        (planned,) = plan([cell], loaded.data)
        if planned.failure is not None:
            raise InputError(planned.failure.message)
    except InputError as error:
        return Again(record, reason=str(error))
    except (ValueError, TypeError, ArithmeticError, LookupError, AttributeError) as error:
        return Again(record, reason=f"its settings make no cell: {type(error).__name__}: {str(error)[:200]}")
    return Again(record, planned, capped=capped)


def cell_again(record: Record, means: Means) -> tuple[Cell, str]:
    """The cell of a record from what the reader has, and which of its limits are lower; InputError where none is."""
    said, parts, lacking = record.cell, dict[str, Config](), []
    for group, made in (("formulation", _formulation), ("solver", _solver), ("dataset", _dataset)):
        try:
            parts[group] = made(record, means)
        except InputError as error:
            lacking.append(str(error))
    if lacking:
        raise InputError("; ".join(lacking))
    limits, capped = _capped(_numbers(said.get("limits")), means.limits)
    cell = Cell(
        **parts,
        problem=_numbers(said.get("problem")),
        budget=_numbers(said.get("budget")),
        limits=limits,
        dataset_name=record.dataset,
        formulation_name=record.formulation,
        solver_name=record.solver,
        method=record.method,
        seed=record.seed,
        repeat=record.repeat,
        threads=record.threads,
        path=record.path,
        start=record.start,
        preprocess=_preprocess(record, means, parts["dataset"]),
    )
    return cell, capped


def _preprocess(record: Record, means: Means, dataset: Config) -> Config:
    """As then. Arrays of a bundle are what came of it, without held-out rows; a test file is named by its reader."""
    stored = _numbers(record.cell.get("preprocess"))
    if means.by_digest is not None and means.by_digest in Path(str(dataset.get("path", ""))).parents:
        return {}
    if isinstance(stored.get("test"), str) and stored["test"] != "published":
        return {**stored, "test": None}
    return stored


def _capped(stored: Config, own: Config) -> tuple[Config, str]:
    limits, notes = dict(own), []
    for name, most in own.items():
        value = stored.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            limits[name] = min(value, most)
            if value > most:
                notes.append(f"limits.{name}={value:g} then, at most {most:g} here")
    return limits, "; ".join(notes)


def _formulation(record: Record, means: Means) -> Config:
    local = means.local("formulation", record.formulation)
    if local is None:
        raise InputError(f"there is no formulation '{record.formulation}' in this installation")
    return _with_settings(local, _dict(record.cell.get("formulation")))


def _dataset(record: Record, means: Means) -> Config:
    name, stored = record.dataset, _dict(record.cell.get("dataset"))
    local = means.local("dataset", name)
    if name not in means.files and "path" not in stored:
        if local is None:
            raise InputError(f"there is no data set '{name}' in this installation: --config-dir DIR adds your own")
        asked = _with_settings(local, stored)
        if _size(asked) > max(_size(local), 2**17 * means.limits.get("memory_mb", math.inf)):
            raise InputError(f"its data have n = {asked['n']}, d = {asked['d']}: beyond limits.memory_mb")
        return asked
    as_file = local if local is not None and "path" in local else means.local("dataset", "file") or {}
    if name not in means.files and (arrays := _bundled(record, means)) is not None:
        return {**(means.local("dataset", "file") or {}), "path": str(arrays)}
    path = means.files.get(name) or _found(record, means) or (local or {}).get("path")
    if not path:
        raise InputError(f"its data file is not part of the results: give it as {name}=FILE, or its folder as data=DIR")
    return {**_with_settings(as_file, stored), "path": str(path)}


def _size(config: Config) -> float:
    """Entries of a generated matrix, as far as its settings tell; 2^17 of them take 1 MB."""
    n, d = config.get("n"), config.get("d")
    return float(min(n * d, 10**300)) if isinstance(n, int) and isinstance(d, int) else 0.0


def _bundled(record: Record, means: Means) -> Path | None:
    """The arrays of the data in a bundle, by their digest: what was read from a file is not read again as it was."""
    digest = record.problem.partition("-")[0]
    if means.by_digest is None or not digest.isalnum():
        return None
    return next(iter(sorted((means.by_digest / digest).glob("*.npz"))), None)


def _found(record: Record, means: Means) -> Path | None:
    """A file of the reader's with the name that the record gives, without its folders."""
    said = str(_dict(record.cell.get("dataset")).get("path", ""))
    base = PureWindowsPath(PurePosixPath(said).name).name
    if not base or base.startswith("."):
        return None
    return next((folder / base for folder in means.folders if (folder / base).is_file()), None)


def _solver(record: Record, means: Means) -> Config:
    stored = _dict(record.cell.get("solver"))
    for own in means.solvers:
        if own.word == record.solver or own.config["_target_"] == stored.get("_target_"):
            config = _with_settings(own.config, stored)
            return config | ({"seed": record.seed} if config.get("seed") == "${seed}" else {})
    local = means.local("solver", record.solver)
    if local is None:
        how = "give its file, as in PATH/mine.py:Class" if ":" in record.solver else "--config-dir DIR adds your own"
        raise InputError(f"there is no solver '{record.solver}' in this installation: {how}")
    return _with_settings(local, stored)


def _dict(value: Any) -> Config:
    return value if isinstance(value, dict) else {}


def _numbers(value: Any) -> Config:
    return {str(key): entry for key, entry in _dict(value).items() if isinstance(entry, PLAIN)}


def _with_settings(config: Config, stored: Config) -> Config:
    """The local configuration with the stored settings of the same name, where they are plain. Paths stay local."""
    plain = {k: v for k, v in stored.items() if k in config and k not in ("_target_", "path") and _is_plain(v)}
    return {**config, **plain}


def _is_plain(value: Any) -> bool:
    return isinstance(value, PLAIN) or (isinstance(value, list) and all(isinstance(entry, PLAIN) for entry in value))
