"""Chunks of a run: whole problems, so that everything that is compared with one another runs on one worker.

    RUN/jobs/settings.json     what all workers have in common
    RUN/jobs/chunks/K.json     the cells of chunk K, in the order in which they are run
    RUN/jobs/chunks/K.log      what its workers did (`chunk_log.py`)

A worker reads one chunk, runs what has no record yet, and may be started on it again at any time.
"""

import contextlib
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from marginbench.harness.cell.spec import Cell
from marginbench.harness.errors import StoreError
from marginbench.harness.files import write_atomically
from marginbench.harness.records.codec import Damaged, dumps, loads
from marginbench.harness.records.run_folder import read_plain
from marginbench.harness.running.planning import Planned
from marginbench.harness.running.runner import Settings

FOLDER = "jobs"
"""Below a results folder."""


@dataclass(frozen=True)
class Entry:
    """A cell of a chunk as it was planned: a worker plans it again and has to come to the same key."""

    cell: Cell
    digest: str
    """Of its data."""
    folder: str
    """Their name in the cache."""
    held_out: dict[str, str] | None
    """Digest and folder of the rows that no solver sees, where there are any."""
    key: str
    first: str
    code: dict[str, str]
    versions: dict[str, str]


def in_turns(planned: Iterable[Planned], seed: int) -> list[Planned]:
    """Repeats take turns, and within a turn the order is random: that spreads drifts of the machine."""
    order = list(planned)
    random.Random(seed).shuffle(order)
    order.sort(key=lambda one: one.cell.repeat)
    return after_their_starts(order)


def after_their_starts(planned: Sequence[Planned]) -> list[Planned]:
    """The same order, but for warm cells that come before the one whose answer they begin from: they follow it."""
    missing, order = {one.key for one in planned}, list[Planned]()
    waiting: dict[str, list[Planned]] = defaultdict(list)
    for first in planned:
        ready = [first]
        while ready:
            one = ready.pop(0)
            if one.before in missing:
                waiting[one.before].append(one)
                continue
            order.append(one)
            missing.discard(one.key)
            ready += waiting.pop(one.key, [])
    return order


def by_family(planned: Iterable[Planned]) -> list[list[Planned]]:
    groups: dict[str, list[Planned]] = defaultdict(list)
    for one in planned:
        groups[one.family].append(one)
    return list(groups.values())


def seconds_of(planned: Iterable[Planned]) -> float:
    """At most, by the limits of the cells."""
    return sum(float(one.cell.limits["seconds"]) for one in planned)


def packed(planned: Iterable[Planned], count: int, seed: int) -> list[list[Planned]]:
    """At most `count` chunks of whole families, about equally long: the longest first, each to the lightest."""
    problems = sorted(by_family(planned), key=seconds_of, reverse=True)
    chunks: list[list[Planned]] = [[] for _ in range(min(count, len(problems)))]
    weights = [0.0] * len(chunks)
    for problem in problems:
        lightest = weights.index(min(weights))
        weights[lightest] += seconds_of(problem)
        chunks[lightest] += problem
    return [in_turns(chunk, seed) for chunk in chunks]


# -- files --------------------------------------------------------------------------------------------------------


def chunk_file(run: Path, number: int) -> Path:
    return run / FOLDER / "chunks" / f"{number}.json"


def write_chunks(run: Path, chunks: Sequence[Sequence[Planned]], settings: Settings) -> None:
    write_atomically(run / FOLDER / "settings.json", dumps(asdict(settings)), synced=False)
    for number, chunk in enumerate(chunks):
        write_atomically(chunk_file(run, number), _text(chunk), synced=False)


def _text(chunk: Sequence[Planned]) -> str:
    """Code and versions, which many cells share, are written once."""
    codes: list[dict[str, str]] = []
    versions: list[dict[str, str]] = []
    cells = [
        {
            "cell": one.cell.__dict__,
            "digest": one.data.digest,
            "folder": one.data.path.name,
            "held_out": one.data.held_out
            and {"digest": one.data.held_out.digest, "folder": one.data.held_out.path.name},
            "key": one.key,
            "first": one.first,
            "code": _place(codes, one.code),
            "versions": _place(versions, one.versions),
        }
        for one in chunk
    ]
    return dumps({"cells": cells, "codes": codes, "versions": versions})


def _place(known: list[dict[str, str]], one: dict[str, str]) -> int:
    if one not in known:
        known.append(one)
    return known.index(one)


def read_settings(run: Path) -> Settings:
    path = run / FOLDER / "settings.json"
    with _named(path):
        found = loads(read_plain(path))
        return Settings(**(found | {"path": tuple(found["path"])}))


def read_chunk(run: Path, number: int) -> list[Entry]:
    path = chunk_file(run, number)
    with _named(path):
        found = loads(read_plain(path))
        codes, versions = found["codes"], found["versions"]
        return [
            Entry(
                **{name: one[name] for name in ("digest", "folder", "held_out", "key", "first")},
                cell=Cell(**one["cell"]),
                code=codes[one["code"]],
                versions=versions[one["versions"]],
            )
            for one in found["cells"]
        ]


def chunk_numbers(run: Path) -> list[int]:
    names = (path.stem for path in (run / FOLDER / "chunks").glob("*.json"))
    return sorted(int(name) for name in names if name.isdigit())


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
    """What is wrong with a file as one line that names it."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror or error}") from None
    except Damaged as error:
        raise StoreError(f"cannot read {path}: {error}") from None
    except (TypeError, LookupError, ValueError, AttributeError):
        raise StoreError(f"cannot read {path}: it does not hold what a run writes there") from None
