"""A run as one file that a colleague or an archive can take: a zip with everything that is needed to run it again.

README.md                  what it is, and the one command that reproduces it
ro-crate-metadata.json     the same for machines
run/                       the results folder: records, configurations, references, report, sources of own solvers
references/                proven optima of the library that the report used
data/sources.json          every data set: digest, where it came from, whether it is included
data/DIGEST/NAME.npz       its arrays, if asked for
"""

import io
import json
import os
import re
import shlex
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse as sp

from marginbench.harness.errors import InputError
from marginbench.harness.files import write_atomically
from marginbench.harness.printable import printable_lines
from marginbench.harness.records.archive import RUN
from marginbench.harness.records.record import Record
from marginbench.harness.records.run_folder import ENVIRONMENT
from marginbench.harness.records.store import Store
from marginbench.harness.references.library import Library
from marginbench.harness.running.crate import crate
from marginbench.harness.running.environment import environment
from marginbench.harness.running.mapped_data import open_data
from marginbench.harness.running.sources import FOLDER as SOURCES

DIGEST = re.compile(r"[0-9a-f]{16}")

README = """# {name}

A run of marginbench {version}: {cells} cells, {statuses}.

    {command}

This runs every cell again with a marginbench of your own and says, claim by claim, which verdicts, values and rankings
hold. `marginbench report {file}` rebuilds the report.
{notes}
`run/report.html` is the report. `run/cells/` holds one record per cell, `run/environment.json` all versions,
`data/sources.json` the digest and the source of each data set. The run was made by

    {made_by}
"""


@dataclass(frozen=True)
class DataSet:
    """A data set of a run: its name, the beginning of its digest, and what it was made from."""

    name: str
    digest: str
    config: Mapping[str, Any]

    @property
    def file(self) -> str:
        """Its name alone, empty where it was not read from a file."""
        return PureWindowsPath(PurePosixPath(str(self.config.get("path", ""))).name).name


def bundle(run: Path, out: Path, name: str, cache: Path, include_data: bool = False) -> Path:
    """Write the bundle of a results folder. `cache`: where data lie by their digest, as `load` puts them."""
    store = Store(run)
    records = store.records()
    if not records:
        raise InputError(f"{run}: no record there can be read")
    files = {f"{RUN}/{path}": content for path, content in _tree(run).items()}
    about = _json(files.get(f"{RUN}/run.json", b""))
    files.setdefault(f"{RUN}/{ENVIRONMENT}", _text(environment() | {"note": "of the time when the bundle was made"}))
    files |= _references(records)
    sets = data_sets(records)
    included = {one.digest: _arrays(one, cache) for one in sets if one.file} if include_data else {}
    files |= dict(included.values())
    files["data/sources.json"] = _text(
        [
            {
                "name": one.name,
                "digest": one.digest,
                "source": dict(one.config),
                "included": included[one.digest][0] if one.digest in included else None,
            }
            for one in sets
        ]
    )
    missing = [one for one in sets if one.file and one.digest not in included]
    files["README.md"] = _readme(name, out.name, records, about, files, missing).encode()
    ended = datetime.fromtimestamp(max(path.stat().st_mtime for path in store.cells.iterdir())).astimezone()
    metadata = crate(name, about, version("marginbench"), files, ended.isoformat(timespec="seconds"))
    return write_atomically(out, lambda file: _zip(file, {"ro-crate-metadata.json": _text(metadata), **files}))


def data_sets(records: Sequence[Record]) -> list[DataSet]:
    """Each data set once, by its digest."""
    found: dict[str, DataSet] = {}
    for record in records:
        digest, config = record.problem.partition("-")[0], record.cell.get("dataset")
        if DIGEST.fullmatch(digest):
            found.setdefault(digest, DataSet(record.dataset, digest, config if isinstance(config, dict) else {}))
    return list(found.values())


def _tree(folder: Path) -> dict[str, bytes]:
    """All files of a results folder. Links are not followed, hidden files are somebody's temporary ones."""
    found = {}
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(one for one in folders if not one.startswith("."))
        for name in sorted(names):
            path = Path(place) / name
            if not name.startswith(".") and path.is_file() and not path.is_symlink():
                found[path.relative_to(folder).as_posix()] = path.read_bytes()
    return found


def _references(records: Sequence[Record]) -> dict[str, bytes]:
    """The files of the library behind these problems."""
    found: dict[str, bytes] = {}
    for folder in Library().folders:
        for key in sorted({record.problem for record in records}):
            if "/" not in key and (folder / f"{key}.json").is_file():
                for path in (folder / f"{key}.json", *sorted(folder.glob(f"{key}-????????.npz"))):
                    found.setdefault(f"references/{path.name}", path.read_bytes())
    return found


def _arrays(one: DataSet, cache: Path) -> tuple[str, bytes]:
    """Name and content of the file with a data set's arrays, from the cache. No path of a record is opened."""
    place = next((path for path in sorted(cache.glob(f"{one.digest}*")) if (path / "y.npy").is_file()), None)
    if place is None:
        raise InputError(
            f"--include-data: the data of {one.name} are not in the cache any more; run one of its cells again"
        )
    X, y = open_data(place)
    if sp.issparse(X):
        arrays: dict[str, Any] = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
    else:
        arrays = {"X": X}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, y=y, **arrays)
    return f"data/{one.digest}/{re.sub(r'[^A-Za-z0-9_-]', '_', one.name) or 'data'}.npz", buffer.getvalue()


def _readme(
    name: str,
    file: str,
    records: Sequence[Record],
    about: Mapping[str, Any],
    files: Mapping[str, bytes],
    missing: Sequence[DataSet],
) -> str:
    words, notes = ["marginbench", "reproduce", file], []
    for path in sorted(path for path in files if path.startswith(f"{RUN}/{SOURCES}/")):
        module = path.rpartition("/")[2].removesuffix(".py")
        made = {str((r.cell.get("solver") or {}).get("_target_", "")) for r in records}
        words += [
            f"@{module}.py:{target.rpartition('.')[2]}"
            for target in sorted(made)
            if target.rpartition(".")[0] == module
        ]
    if any(word.startswith("@") for word in words):
        notes.append(
            "`@` names a solver whose source is in `run/sources/`: read it before you let it run on your machine."
        )
    for one in missing:
        words.append(f"{one.name}={one.file}")
        notes.append(
            f"`{printable_lines(one.file, '')}` is not part of this bundle: its data have the digest {one.digest}."
        )
    statuses = ", ".join(sorted({record.status for record in records}))
    return README.format(
        name=printable_lines(name, ""),
        file=file,
        version=version("marginbench"),
        cells=len(records),
        statuses=statuses,
        command=printable_lines(
            " ".join(shlex.quote(word) if not word.startswith("@") else word for word in dict.fromkeys(words)),
            "",
        ),
        notes="".join(f"{note}\n" for note in notes),
        made_by=printable_lines(str(about.get("command", "a command that was not recorded")), ""),
    )


def _json(content: bytes) -> dict[str, Any]:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _text(value: Any) -> bytes:
    return (json.dumps(value, indent=1, default=str) + "\n").encode()


def _zip(file: BinaryIO, files: Mapping[str, bytes]) -> None:
    """The same files give the same bytes."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
