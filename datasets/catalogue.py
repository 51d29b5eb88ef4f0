"""Data sets of the field: what `catalogue.csv` knows of each, and which of its files are here.

The files are those of the LIBSVM site (Chang and Lin, LIBSVM: a library for support vector machines, ACM TIST 2011).
A checksum stands in the table only where somebody has recorded it: a sha256 is that of the unpacked text, an md5 that
of one packed file. A light module: `marginbench data` answers at once.
"""

import csv
import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from marginbench.datasets.compression import COMPRESSIONS

SITE = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary"
TABLE = Path(__file__).with_name("catalogue.csv")
ENDINGS = ("", ".libsvm", ".svm", ".svmlight", ".txt")
PACKED = ("", *COMPRESSIONS)


@dataclass(frozen=True)
class Checksum:
    """What a file must hash to: `md5` the file as it is, `sha256` its unpacked text."""

    kind: str
    digest: str


@dataclass(frozen=True)
class Source:
    """One file: its name here without an ending, its name at the site, and what is known of it."""

    file: str
    site: str
    packed: tuple[str, ...]
    n: int | None
    checksums: dict[str, str]

    def names(self) -> list[str]:
        """At the site, most likely first: it packs large files, and has changed how."""
        return [f"{self.site}{packing}" for packing in self.packed]

    def checksum(self, name: str) -> Checksum | None:
        """Of the file of this name at the site."""
        for key in (self.site, name):
            if key in self.checksums:
                return Checksum(*self.checksums[key].split(":"))
        return None

    def here(self, folder: Path) -> Path | None:
        """The file in a folder: under its name here or at the site, with or without an ending, packed or not."""
        return with_ending(folder / self.file) or with_ending(folder / self.site)

    def place(self, name: str) -> str:
        """The name under which the file `name` of the site is kept."""
        return f"{self.file}.libsvm{packing_of(name)}"


@dataclass(frozen=True)
class Entry:
    """A data set: sizes, where it comes from, and on what terms. None: not known."""

    name: str
    train: Source
    test: Source | None
    d: int | None
    nnz: int | None
    licence: str
    citation: str
    about: str

    @property
    def n(self) -> int | None:
        return self.train.n

    def sources(self) -> Iterator[Source]:
        yield self.train
        if self.test is not None:
            yield self.test


@cache
def catalogue() -> dict[str, Entry]:
    """Every data set by its name, in the order of the table."""
    with TABLE.open(newline="", encoding="utf-8") as file:
        return {row["name"]: _entry(row) for row in csv.DictReader(file)}


def _entry(row: dict[str, str]) -> Entry:
    packed = tuple("" if word == "plain" else word for word in row["packed"].split())
    sums = dict(word.split("=") for word in row["checksums"].split())
    train = Source(row["file"], row["site"], packed, _whole(row["n"]), sums)
    beside = row["test"] if row["file"] == row["site"] else f"{row['file']}.t"
    test = Source(beside, row["test"], packed, _whole(row["test_n"]), sums) if row["test"] else None
    facts = row["licence"], row["citation"], row["about"]
    return Entry(row["name"], train, test, _whole(row["d"]), _whole(row["nnz"]), *facts)


def with_ending(path: Path) -> Path | None:
    """The file of this name, or of this name with an ending and a packing."""
    names = (f"{path.name}{ending}{packing}" for ending in ENDINGS for packing in PACKED)
    return next((place for name in names if (place := path.with_name(name)).is_file()), None)


def packing_of(name: str) -> str:
    """.bz2 of ijcnn1.t.bz2; empty where a file is not packed."""
    return next((packing for packing in COMPRESSIONS if name.endswith(packing)), "")


def _whole(text: str) -> int | None:
    return int(text) if text else None


def find(name: str) -> Entry:
    """The data set of this name, its own or that of its file at the site; a ValueError names those that are near."""
    for entry in catalogue().values():
        if name in (entry.name, entry.train.file, entry.train.site):
            return entry
    known = {alias: entry.name for entry in catalogue().values() for alias in (entry.name, entry.train.site)}
    near = dict.fromkeys(known[alias] for alias in difflib.get_close_matches(name, known, n=5, cutoff=0.5))
    possible = f"near it are {', '.join(near)}" if near else "`marginbench data` lists what there is"
    raise ValueError(f"there is no data set '{name}' in the catalogue; {possible}")
