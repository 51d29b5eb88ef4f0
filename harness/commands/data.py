"""marginbench data: the data sets of the field: which there are, which are here; fetched, verified, removed."""

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from marginbench.datasets import acquisition, checksums
from marginbench.datasets.catalogue import SITE, Entry, Source, catalogue, find, with_ending
from marginbench.datasets.download import HOSTS, Downloader, FetchError, host_of, leftovers
from marginbench.harness.commands.options import split_flags
from marginbench.harness.commands.runs import size_text, table_text
from marginbench.harness.errors import InputError

FLAGS = {"--from": "ADDRESS", "--allow": "HOST", "--test": "", "--parquet": ""}
ACTIONS = ("list", "fetch", "verify", "remove")


def main(arguments: Sequence[str]) -> int:
    flags, words = split_flags(arguments, FLAGS)
    folder, names = _folder([word for word in words if "=" in word]), [word for word in words if "=" not in word]
    action = names.pop(0) if names[:1] and names[0] in ACTIONS else "list"
    if action != "fetch" and flags:
        raise InputError(f"data {action}: {next(iter(flags))} goes with `data fetch`")
    if action in ("fetch", "remove") and not names:
        raise InputError(f"data {action}: which data set? Give names, as in `marginbench data {action} a9a`")
    chosen = [_chosen(name) for name in names]
    if action == "fetch":
        return _fetch(chosen, folder, flags)
    if action == "list":
        print("\n\n".join(_details(one, folder) for one in chosen) if chosen else _table(folder))
        return 0
    return (_verify if action == "verify" else _remove)(chosen or _everything(folder), folder)


def _folder(options: Sequence[str]) -> Path:
    """The folder of data files, as `run` takes it."""
    given = [word.removeprefix("data=") for word in options if word.startswith("data=")]
    if len(given) < len(options) or not all(given):
        other = next((word for word in options if not word.startswith("data=")), "data=")
        raise InputError(f"{other}: the only option here is data=DIR")
    return Path(given[-1] if given else os.environ.get("MARGINBENCH_DATA", "data"))


def _chosen(name: str) -> Entry | int:
    """A data set of the catalogue, or the number of one at OpenML."""
    number = acquisition.OPENML_NAME.fullmatch(name)
    if number:
        return int(number[1])
    try:
        return find(name)
    except ValueError as error:
        raise InputError(f"data {name}: {error}; openml-NUMBER is one of openml.org") from None


def _everything(folder: Path) -> list[Entry | int]:
    """All data sets that have a file here."""
    numbers = [
        found for path in folder.glob("openml-*.json") if (found := acquisition.OPENML_NAME.fullmatch(path.stem))
    ]
    here = [entry for entry in catalogue().values() if any(source.here(folder) for source in entry.sources())]
    return [*here, *sorted(int(number[1]) for number in numbers)]


def _files(one: Entry | int, folder: Path) -> list[tuple[Path, Source | None]]:
    """The files of a data set that are here."""
    if isinstance(one, Entry):
        return [(path, source) for source in one.sources() if (path := source.here(folder)) is not None]
    places = [acquisition.openml_files(one, folder)[0]]
    places += [acquisition.openml_files(one, folder, kind)[1] for kind in ("arff", "parquet")]
    return [(path, None) for path in places if path.is_file()]


def _name(one: Entry | int) -> str:
    return one.name if isinstance(one, Entry) else f"openml-{one}"


# -- list ----------------------------------------------------------------------------------------------------------


def _table(folder: Path) -> str:
    rows: list[tuple[str, ...]] = [("name", "n", "d", "non-zeros", "test rows", "size", "here", "licence")]
    every: list[Entry | int] = [*catalogue().values(), *(n for n in _everything(folder) if not isinstance(n, Entry))]
    for one in every:
        found = _files(one, folder)
        size = size_text(sum(path.stat().st_size for path, _ in found)) if found else ""
        here = ", ".join(path.name for path, _ in found)
        if isinstance(one, Entry):
            sizes = [one.n, one.d, one.nnz, one.test.n if one.test else None]
            rows.append((one.name, *("" if k is None else str(k) for k in sizes), size, here, one.licence))
        else:
            rows.append((_name(one), "", "", "", "", size, here, "see openml.org"))
    advice = "`marginbench data fetch NAME` gets one, `marginbench data NAME` tells more; also openml-NUMBER"
    return f"{table_text(rows)}\n\nhere: in the folder {folder} (data=DIR names another)\n{advice}"


def _details(one: Entry | int, folder: Path) -> str:
    lines = [_name(one)]
    if isinstance(one, Entry):
        known = [
            f"{value} {unit}" for value, unit in ((one.n, "rows"), (one.d, "columns"), (one.nnz, "non-zeros")) if value
        ]
        lines += [f"  {one.about}", f"  {', '.join(known)}", f"  from      {SITE}/{one.train.names()[0]}"]
        if one.test is not None:
            lines.append(f"  test      {SITE}/{one.test.names()[0]}, {one.test.n} rows (preprocess.test=published)")
        for source in one.sources():
            sums = [found for name in source.names() if (found := source.checksum(name))]
            said = (
                f"{sums[0].kind} {sums[0].digest}"
                if sums
                else "not known: that of the first download is kept and compared"
            )
            lines.append(f"  checksum  {source.site}: {said}")
        lines += [f"  licence   {one.licence}", f"  citation  {one.citation}", f"  use       dataset={one.name}"]
    else:
        lines += [f"  from      {acquisition.OPENML}/{one}", f"  use       dataset=openml dataset.id={one}"]
    here = [f"  here      {path}, {size_text(path.stat().st_size)}" for path, _ in _files(one, folder)]
    return "\n".join([*lines, *(here or [f"  here      no file in {folder}"])])


# -- fetch, verify, remove -----------------------------------------------------------------------------------------


def _fetch(chosen: Sequence[Entry | int], folder: Path, flags: dict[str, str]) -> int:
    base = flags.get("--from", "").rstrip("/")
    hosts = [*_hosts("--from ", base), *([flags["--allow"]] if "--allow" in flags else [])]
    for one in chosen:
        if "--test" in flags and (not isinstance(one, Entry) or one.test is None):
            raise InputError(f"data fetch {_name(one)} --test: no test file is published with it")
    for one in chosen:
        _fetch_one(one, folder, hosts, base, "--test" in flags, "parquet" if "--parquet" in flags else "arff")
    return 0


def _hosts(option: str, base: str) -> list[str]:
    """Those that are listed, and that of a mirror which the user names."""
    try:
        return [*HOSTS, *([host_of(base)] if base else [])]
    except FetchError as error:
        raise InputError(f"{option}{error}") from None


def fetch_missing(asked: Iterable[tuple[dict[str, Any], dict[str, Any]]], mirror: str = "") -> None:
    """What the data sets of a run need and do not have. `asked`: their configurations, with those of preprocessing."""
    hosts, mirror = _hosts("fetch=", mirror), mirror.rstrip("/")
    for dataset, preprocess in asked:
        target = str(dataset.get("_target_", ""))
        if target.endswith(".field_sets.field_set"):
            entry, path = find(str(dataset["name"])), Path(str(dataset["path"]))
            test = preprocess.get("test") == "published" and entry.test is not None
            needed = [source for source in entry.sources() if test or source is entry.train]
            own = with_ending(path) is not None
            if any(source.here(path.parent) is None for source in needed if not (own and source is entry.train)):
                _fetch_one(entry, path.parent, hosts, mirror, test)
        elif target.endswith(".field_sets.openml") and isinstance(dataset.get("id"), int):
            number, folder, kind = dataset["id"], Path(str(dataset["folder"])), str(dataset["format"])
            if not all(path.is_file() for path in acquisition.openml_files(number, folder, kind)):
                _fetch_one(number, folder, hosts, mirror, kind=kind)


def _fetch_one(
    one: Entry | int,
    folder: Path,
    hosts: Sequence[str] = HOSTS,
    base: str = "",
    test: bool = False,
    kind: str = "arff",
) -> None:
    """Fetch a data set with a bar on the terminal, and say where it is."""
    before = {path for path, _ in _files(one, folder)}
    with tqdm(unit="B", unit_scale=True, unit_divisor=1000, desc=_name(one), disable=None, leave=False) as bar:

        def progress(done: int, total: int | None) -> None:
            bar.total, bar.n = total, done
            bar.update(0)
            bar.refresh() if done == total else None

        downloader = Downloader(hosts, progress=progress, say=lambda line: print(line, file=sys.stderr))
        if isinstance(one, Entry):
            paths = acquisition.fetch_entry(one, folder, downloader, base or SITE, test)
        else:
            paths = acquisition.fetch_openml(one, folder, downloader, base or acquisition.OPENML, kind)
    for path in paths:
        print(f"{_name(one)}: {path}, {size_text(path.stat().st_size)}{', was there' if path in before else ''}")


def _verify(chosen: Sequence[Entry | int], folder: Path) -> int:
    """Each file against the checksum of the catalogue and the one that was kept when it was fetched."""
    bad = 0
    for one in chosen:
        found = _files(one, folder)
        if not found:
            raise InputError(f"data verify {_name(one)}: no file of it in {folder}; data=DIR names another folder")
        for path, source in found:
            if path.suffix == ".json":
                continue
            good, why = checksums.verdict(path, source)
            bad += good is False
            word = {True: "good", False: "BAD", None: "unknown"}[good]
            print(f"{word}: {_name(one)}: {path}: {why}", flush=True)
    if not chosen:
        print(f"no data set of the catalogue is in {folder}")
    return int(bad > 0)


def _remove(chosen: Sequence[Entry | int], folder: Path) -> int:
    """What `fetch` brought. Files that the user put there are left."""
    for one in chosen:
        gone, kept = 0, 0
        for path, _ in _files(one, folder):
            if path.suffix != ".json" and checksums.recorded(path) is None:
                print(f"{_name(one)}: {path} was not fetched by `marginbench data`: left where it is")
                kept += 1
                continue
            for file in (path, checksums.beside(path)):
                gone += file.stat().st_size if file.exists() else 0
                file.unlink(missing_ok=True)
        for place in _places(one, folder):
            for file in leftovers(place):
                gone += file.stat().st_size
                file.unlink()
        if gone or not kept:
            print(f"{_name(one)}: {size_text(gone)} removed" if gone else f"{_name(one)}: nothing of it in {folder}")
    return 0


def _places(one: Entry | int, folder: Path) -> list[Path]:
    """Everywhere that a download of it may have been interrupted."""
    if isinstance(one, Entry):
        return [folder / source.place(name) for source in one.sources() for name in source.names()]
    return [path for kind in ("arff", "parquet") for path in acquisition.openml_files(one, folder, kind)]
