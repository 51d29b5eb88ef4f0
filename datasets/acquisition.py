"""Data sets of the field, fetched into a folder: those of the catalogue, and those of OpenML by their number."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from marginbench.datasets.catalogue import SITE, Checksum, Entry, Source
from marginbench.datasets.checksums import misfit, record
from marginbench.datasets.download import Downloader, FetchError, NotThere

OPENML = "https://www.openml.org/api/v1/json/data"
OPENML_NAME = re.compile(r"openml-([1-9]\d{0,8})")
LARGEST_DESCRIPTION = 2**22
"""Bytes. Some descriptions have long texts in them."""


def fetch_entry(entry: Entry, folder: Path, downloader: Downloader, base: str = SITE, test: bool = False) -> list[Path]:
    """The file of a data set, and its test file if that is asked for; those that are here already included."""
    if test and entry.test is None:
        raise ValueError(f"{entry.name}: no test file is published with it")
    sources = entry.sources() if test else [entry.train]
    return [fetch_source(source, folder, downloader, base) for source in sources]


def fetch_source(source: Source, folder: Path, downloader: Downloader, base: str = SITE) -> Path:
    """The file of a source; where the site has it packed in another way than it had, that one is taken."""
    here = source.here(folder)
    if here is not None:
        return here
    missing: NotThere | None = None
    for name in source.names():
        place, wanted = folder / source.place(name), source.checksum(name)
        try:
            downloader.fetch(f"{base}/{name}", place, _check(name, wanted))
        except NotThere as error:
            missing = missing or error
            continue
        record(place)
        return place
    assert missing is not None
    raise missing


def _check(name: str, wanted: Checksum | None) -> Any:
    return (lambda path: misfit(path, name, wanted)) if wanted else (lambda path: None)


# -- OpenML --------------------------------------------------------------------------------------------------------


def openml_files(number: int, folder: Path, kind: str = "arff") -> tuple[Path, Path]:
    """Where the description and the table of a data set of OpenML are kept."""
    return folder / f"openml-{number}.json", folder / f"openml-{number}.{kind}"


def fetch_openml(
    number: int, folder: Path, downloader: Downloader, base: str = OPENML, kind: str = "arff"
) -> list[Path]:
    """The description that OpenML's interface gives, and the table that it names. ARFF is checked by its md5."""
    about, table = openml_files(number, folder, kind)
    replace(downloader, largest=LARGEST_DESCRIPTION).fetch(f"{base}/{number}", about, _misread)
    said = description(about)
    if table.exists():
        return [about, table]
    key = "url" if kind == "arff" else "parquet_url"
    address = str(said.get(key) or (kind == "parquet" and said.get("minio_url")) or "")
    if not address:
        raise FetchError(f"openml-{number}: OpenML names no {kind} file of it")
    wanted = Checksum("md5", str(said["md5_checksum"])) if kind == "arff" and said.get("md5_checksum") else None
    downloader.fetch(address, table, _check(table.name, wanted))
    record(table)
    return [about, table]


def description(path: Path) -> dict[str, Any]:
    """What OpenML says of a data set; a ValueError where the file is no such description."""
    try:
        said = json.loads(path.read_bytes())["data_set_description"]
    except (ValueError, LookupError, TypeError, RecursionError):
        said = None
    if not isinstance(said, dict):
        raise ValueError(f"{path}: is no description of a data set by OpenML")
    return said


def _misread(path: Path) -> str | None:
    try:
        description(path)
    except ValueError:
        return "OpenML's answer is no description of a data set"
    return None
