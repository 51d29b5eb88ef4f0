"""Published data sets, read from the files that `marginbench data fetch` puts into the folder data=DIR."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from marginbench.datasets.acquisition import OPENML, description, openml_files
from marginbench.datasets.catalogue import SITE, Source, find, with_ending
from marginbench.datasets.files import file
from marginbench.datasets.samples import Samples


def field_set(
    name: str, path: str, d: int | None = None, part: str = "train", largest_mb: float = 2048.0, **options: Any
) -> Samples:
    """(X, y) of a data set of the catalogue, whose sizes it must have. `options`: those of `files.file`.

    path   where the file is, without an ending; it may have one, and the file's name at the site is found, too.
    d      the number of features; by default that of the catalogue.
    part   train, or test: the file of held-out rows that is published beside.
    """
    entry = find(name)
    source = entry.train if part == "train" else entry.test
    if source is None:
        raise ValueError(
            f"{name}: no test file is published with it; preprocess.test=0.2 holds out a share of its rows"
        )
    found = _found(Path(path), source, entry.train)
    if found is None:
        flag, folder = "" if source is entry.train else " --test", Path(path).parent
        command = f"`marginbench data fetch {name}{flag} data={folder}`"
        address = f"{SITE}/{source.names()[0]}"
        raise ValueError(
            f"its file is not in {folder}: {command} gets it from {address}; data=DIR names another folder"
        )
    made = file(str(found), d=d or entry.d, largest_mb=largest_mb, **options)
    rows = made[0].shape[0]
    if source.n is not None and rows != source.n and not options.get("negative"):
        raise ValueError(f"{found}: has {rows} rows, but {name} has {source.n}: it is cut off, or another file")
    return made


def _found(path: Path, source: Source, train: Source) -> Path | None:
    """The file at `path`, which may have an ending; or what is in its folder under the names of the source."""
    return (with_ending(path) if source is train else None) or source.here(path.parent)


def openml(
    id: int | None,
    folder: str,
    format: str = "arff",
    labels: str | int | None = None,
    drop: Sequence[str | int] | None = None,
    **options: Any,
) -> Samples:
    """(X, y) of a data set of OpenML, by its number there. Other options are those of `files.file`.

    format   arff, whose md5 OpenML tells, or parquet.
    labels   by default the target that OpenML names.
    drop     by default what OpenML says is no feature: row numbers and ignored columns.
    """
    if isinstance(id, bool) or not isinstance(id, int) or id < 1:
        raise ValueError(
            f"dataset.id={'null' if id is None else id}: need the number of a data set at openml.org, as 1494"
        )
    if format not in ("arff", "parquet"):
        raise ValueError(f"dataset.format={format}: possible are arff, parquet")
    about, table = openml_files(id, Path(folder), format)
    if not about.is_file() or not table.is_file():
        kind = " --parquet" if format == "parquet" else ""
        command = f"`marginbench data fetch openml-{id}{kind} data={folder}`"
        raise ValueError(f"{table} is not there: {command} gets it from {OPENML}/{id}; data=DIR names another folder")
    said = description(about)
    target = said.get("default_target_attribute")
    if labels is None and not isinstance(target, str):
        raise ValueError(f"openml-{id}: OpenML names no target; say dataset.labels=COLUMN")
    chosen = target if labels is None else labels
    ignored = [*_listed(said.get("row_id_attribute")), *_listed(said.get("ignore_attribute"))]
    return file(
        str(table), format, chosen, drop=[one for one in ignored if one != chosen] if drop is None else drop, **options
    )


def _listed(value: Any) -> list[str]:
    """OpenML gives one name, a list of them, or several with commas."""
    found = value if isinstance(value, list) else str(value or "").split(",")
    return [str(name).strip() for name in found if str(name).strip()]
