"""Where claims are put to the test: data, cells and optima, as the command line has them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from marginbench.datasets import cache
from marginbench.datasets.digest import digest
from marginbench.harness.cell.spec import Cell, make_problem
from marginbench.harness.compose import Composer
from marginbench.harness.compose.cells import cells_of
from marginbench.harness.errors import InputError
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.model.problem import Array, Matrix, Point, Problem
from marginbench.harness.published.claim import Claim
from marginbench.harness.published.optimum import Optimum
from marginbench.harness.records.record import Record
from marginbench.harness.references.enclosure import enclose
from marginbench.harness.references.library import Library
from marginbench.harness.references.polish import polish
from marginbench.harness.rehearsal import Mishap
from marginbench.harness.running.isolation import Isolation
from marginbench.harness.running.job import Limits
from marginbench.harness.running.loading import data_key, load
from marginbench.harness.running.mapped_data import Data, spill
from marginbench.harness.running.optima import compute_bounds, known_bounds

LARGEST_POLISHED = 2_000_000
"""Entries of X up to which an optimum is polished to its last digits."""

SHARP = 1e-13
"""Relative width of bounds that need no polish."""


class Untestable(Exception):
    """Why a claim cannot be tested here, in words: its data are missing, or are others."""


class Unanswered(Exception):
    """Why a claim that can be tested got no answer: a method failed."""


@dataclass
class Desk:
    """`data`: the folder of data files, as of `run`; "" is its default."""

    composer: Composer
    isolation: Isolation
    data: str = ""
    library: Library = field(default_factory=Library)
    folder: Path = field(default_factory=cache.folder)

    def config(self, claim: Claim, more: Sequence[str] = ()) -> dict[str, Any]:
        """The configuration of `run` for the claim's data and problem; `more` are overrides of its own."""
        asked = [f"dataset={claim.data['dataset']}", *([f"data={self.data}"] if self.data else [])]
        asked += _overrides("dataset", claim.data.get("options", {}))
        asked += _overrides("preprocess", claim.data.get("preprocess", {}))
        asked += _overrides("problem", {key: value for key, value in claim.problem.items() if key != "C"})
        return self.composer.config([*asked, *more])


def _overrides(group: str, values: Mapping[str, Any]) -> list[str]:
    return [f"{group}.{key}={'null' if value is None else value}" for key, value in values.items()]


@dataclass
class Case:
    """A claim with its data at hand."""

    claim: Claim
    desk: Desk

    @cached_property
    def config(self) -> dict[str, Any]:
        return self.desk.config(self.claim)

    @cached_property
    def data(self) -> Data:
        """Untestable where the files are not there, or have another content than the claim is about."""
        cell = cells_of(self.config)[0]
        try:
            found = load([cell], self.desk.folder / "data", self.desk.isolation)[data_key(cell)]
        except InputError as error:
            advice = self.claim.data.get("get")
            raise Untestable(f"{error}{f'; {advice}' if advice else ''}") from None
        if isinstance(found, Mishap):
            raise Unanswered(found.message)
        wanted = self.claim.data.get("digest")
        if wanted and not found.digest.startswith(str(wanted)):
            raise Untestable(f"the data here have digest {found.digest[:16]}, the claim is about {wanted}")
        return found

    def cell(self, more: Sequence[str] = ()) -> Cell:
        """A cell of the claim's problem, with the method that `more` names."""
        made = cells_of(self.desk.config(self.claim, more))[0]
        return replace(made, problem={**made.problem, "C": self.claim.C(self.data.X)})

    @cached_property
    def problem(self) -> Problem:
        return make_problem(self.data.X, self.data.y, self.cell().problem)

    @cached_property
    def bounds(self) -> Bounds:
        """Proven of the optimum: stored, or computed now."""
        desk, reference = self.desk, self.config["reference"]
        return known_bounds(self.cell(), self.problem, self.data, desk.library, desk.folder, reference, desk.isolation)

    @cached_property
    def optimum(self) -> Optimum:
        """To the last digits where the problem is not too large for that."""
        found, problem = self.bounds, self.problem
        if found.point is None or not math.isfinite(found.upper):
            raise Unanswered("no method found an optimum in its time")
        point = found.point
        if found.width > SHARP and problem.nnz <= LARGEST_POLISHED:
            point = polish(problem, point)
            found = found.meet(enclose(problem, point))
        return Optimum(problem, found, point)

    def measured(self, method: Sequence[str], bounds: Bounds) -> Record:
        """The record of one method on the claim's problem."""
        cell = self.cell(method)
        outcome = self.desk.isolation.run(cell, self.data.path, self.data.digest, bounds, Limits(**cell.limits), None)
        if outcome.record.solve_seconds is None:
            raise Unanswered(f"{' '.join(method)}: {outcome.record.status}: {outcome.record.message}")
        return outcome.record

    def solved(self, X: Matrix, y: Array) -> Point:
        """The certified optimum of the claim's problem on other rows."""
        name = digest(X, y)
        with TemporaryDirectory(prefix="marginbench-") as folder:
            data = Data(spill(X, y, name, Path(folder)), name)
            judged = make_problem(data.X, data.y, self.cell().problem)
            found = compute_bounds(self.cell(), judged, data, self.config["reference"], self.desk.isolation)
        if found.point is None or found.width > 1e-6:
            raise Unanswered("a fold of the cross-validation was not solved to 1e-6 in its time")
        return found.point
