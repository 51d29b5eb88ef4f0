"""Where the numbers come from: every machine once, every set of versions once, with the number of cells of each."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from marginbench.harness.records.record import Record

MACHINE = ("processor", "cores", "system")
"""What tells machines apart. The rest of a record's `machine` (exit code, page faults) is of one process."""


@dataclass(frozen=True)
class Machine:
    processor: str
    cores: str
    system: str
    threads: str
    """Of the linear algebra, as `openblas 1`; empty where a record does not say."""
    cells: int


@dataclass(frozen=True)
class Run:
    """One run that the records come from, as its run.json says. Empty text where it does not."""

    started: str
    command: str
    marginbench: str
    python: str
    commit: str


@dataclass(frozen=True)
class Provenance:
    runs: tuple[Run, ...]
    machines: tuple[Machine, ...]
    libraries: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]
    """Library -> each of its versions with the number of cells that used it."""
    sources: tuple[tuple[str, tuple[tuple[str, int], ...]], ...]
    """Module of a solver -> each fingerprint of its source with the number of cells."""


def provenance(records: Sequence[Record], about: Iterable[dict[str, Any]] = ()) -> Provenance:
    """about: the run.json of each run."""
    machines = Counter(_machine(r) for r in records if r.machine)
    seen: dict[str, Counter[str]] = {}
    for r in records:
        for name, version in r.versions.items():
            seen.setdefault(str(name), Counter())[str(version)] += 1
    listed = {name: tuple(sorted(counts.items())) for name, counts in sorted(seen.items())}
    ours = {name for name in listed if "solvers." in name}
    return Provenance(
        tuple(dict.fromkeys(_run(one) for one in about)),
        tuple(Machine(*names, cells=k) for names, k in sorted(machines.items())),
        tuple((name, versions) for name, versions in listed.items() if name not in ours),
        tuple((name, versions) for name, versions in listed.items() if name in ours),
    )


def _machine(r: Record) -> tuple[str, str, str, str]:
    processor, cores, system = (_text(r.machine.get(name)) for name in MACHINE)
    threads = r.machine.get("threads")
    counts = {f"{_library(str(name))} {k}" for name, k in threads.items()} if isinstance(threads, dict) else set()
    return processor, cores, system, ", ".join(sorted(counts))


def _library(file: str) -> str:
    """`openblas` for libscipy_openblas-6cdc3b4a.so: the file's name has a hash in it that says nothing."""
    return next((name for name in ("openblas", "mkl", "blis", "gomp", "omp") if name in file), file)


def _run(about: dict[str, Any]) -> Run:
    versions, machine = (part if isinstance(part := about.get(name), dict) else {} for name in ("versions", "machine"))
    names = (about.get("started"), about.get("command"), versions.get("marginbench"), machine.get("python"))
    return Run(*map(_text, (*names, about.get("commit"))))


def _text(value: Any) -> str:
    return str(value)[:200] if isinstance(value, str | int) and not isinstance(value, bool) else ""
