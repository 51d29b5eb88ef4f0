"""The reference problems: which there are, how to build one, and what is proven of them."""

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from marginbench.datasets import cache
from marginbench.datasets.digest import digest
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.model.kernel import OPTIONS
from marginbench.harness.model.problem import Problem, problem_key
from marginbench.harness.references.computed import is_key, read_bounds
from marginbench.harness.references.reference import Disproved, Reference, load, prove

ROOT = Path(__file__).resolve().parents[2]
CONF = ROOT / "conf"
STORED = ROOT / "results" / "reference"
LISTS = ("C", "bias", "loss", "weight", "s", "kernel", *OPTIONS)


@dataclass(frozen=True)
class Entry:
    """A reference problem as configuration: what to load, and what is asked of it."""

    name: str
    dataset: dict[str, Any]
    problem: dict[str, Any] = field(default_factory=dict)
    preprocess: dict[str, Any] = field(default_factory=dict)

    def build(self) -> tuple[Problem, str]:
        """The problem, and the digest of its data."""
        from marginbench.harness.cell.spec import make_problem  # it loads numba, which a report does without
        from marginbench.harness.data_parts import data_parts

        X, y = data_parts(self.dataset, self.preprocess, self.name).train
        return make_problem(X, y, self.problem), digest(X, y)


def entries(data: Path | None = None, path: Path = CONF / "library.yaml") -> Iterator[Entry]:
    """All reference problems of conf/library.yaml; those on public files only where `data` is the folder of them."""
    for item in yaml.safe_load(path.read_text()):
        dataset = yaml.safe_load((CONF / "dataset" / f"{item['dataset']}.yaml").read_text()) | item.get("with", {})
        if "${data}" in str(dataset.get("path")):
            if data is None:
                continue
            dataset["path"] = dataset["path"].replace("${data}", str(data))
        for values in itertools.product(*(item.get(key, [None]) for key in LISTS)):
            problem = {key: value for key, value in zip(LISTS, values, strict=True) if value is not None}
            yield Entry(
                "-".join([item.get("name", item["dataset"]), *(str(v) for v in problem.values())]), dataset, problem
            )


class Library:
    """What is stored as proven, by problem key; the first folder that has a key wins.

    By default the references that come with marginbench, then those that the user made.
    """

    def __init__(self, folders: Sequence[Path] | None = None) -> None:
        self.folders = [STORED, cache.folder() / "reference"] if folders is None else folders
        self.refused: dict[str, str] = {}
        """Key -> why its reference was not used."""
        self._proven: dict[str, Bounds | None] = {}

    def reference(self, key: str) -> Reference | None:
        """As it is stored, undamaged and under its own name; Disproved where it is not."""
        for folder in self.folders:
            path = folder / f"{key}.json"
            if path.exists():
                found = load(path)
                if found.key != key:
                    raise Disproved(f"{path.name}: is a copy of the reference of {found.key}")
                return found
        return None

    def bounds(self, key: str) -> Bounds | None:
        """What is stored as proven of a problem, for readers without its data. A damaged reference counts as none;
        `reference --check` names it."""
        try:
            return _with_point(self.reference(key))
        except Disproved:
            return None

    def proven(self, problem: Problem, digest: str) -> Bounds | None:
        """What is stored as proven of `problem`, proven again from its data, once. What fails is in `refused`."""
        key = problem_key(problem, digest)
        if key not in self._proven:
            try:
                found = self.reference(key)
                if found is not None:
                    prove(found, problem, digest)
                self._proven[key] = _with_point(found)
            except Disproved as error:
                self._proven[key] = None
                self.refused[key] = str(error)
        return self._proven[key]

    def keys(self) -> list[str]:
        """Of all that is stored."""
        return sorted({path.stem for folder in self.folders for path in folder.glob("*.json")})


def _with_point(found: Reference | None) -> Bounds | None:
    if found is None:
        return None
    return found.bounds if found.bounds.infeasible else replace(found.bounds, point=found.point)


def bounds_of(problems: Iterable[str], folders: Sequence[Path]) -> dict[str, Bounds]:
    """Problem key -> bounds, for a report: those proven in the library, else those that a results folder has."""
    library, found = Library(), {}
    for key in filter(is_key, problems):
        places = itertools.chain([library.bounds(key)], (read_bounds(folder, key) for folder in folders))
        if (bounds := next((b for b in places if b is not None and b.lower > -math.inf), None)) is not None:
            found[key] = bounds
    return found
