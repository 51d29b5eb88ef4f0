"""The verb `reference`: make reference optima with two independent methods and a proof, and prove stored ones again."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from marginbench.datasets import cache
from marginbench.harness.cell.measure import Budget
from marginbench.harness.cell.spec import Cell, Config
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.model.problem import Point, Problem, problem_key
from marginbench.harness.references.computed import bounds_of_point, read_bounds, write_bounds
from marginbench.harness.references.library import Entry, Library
from marginbench.harness.references.reference import Disproved, Reference, make, prove, save
from marginbench.harness.running.isolation import Isolation
from marginbench.harness.running.job import Limits
from marginbench.harness.running.mapped_data import Data, spill


@dataclass(frozen=True)
class Proof:
    """One line of the result: what is proven of an entry, or why nothing is."""

    name: str
    reference: Reference | None
    failure: str = ""
    key: str = ""

    @classmethod
    def of(cls, name: str, reference: Reference) -> "Proof":
        """An optimum between two numbers is proven, or that there is none; a bound on one side is neither."""
        found = reference.bounds
        if found.infeasible or math.isfinite(found.width):
            return cls(name, reference, key=reference.key)
        why = f"only P* >= {found.lower!r} is proven: no hyperplane, and no proof that there is none"
        return cls(name, None, why, reference.key)

    def __str__(self) -> str:
        if self.reference is None:
            return f"{self.name:40s} FAILED: {self.failure}"
        found = self.reference.bounds
        if found.infeasible:
            return f"{self.name:40s} proven to have no solution"
        by = " and ".join(dict.fromkeys(self.reference.makers))
        return f"{self.name:40s} P* in [{found.lower!r}, {found.upper!r}], width {found.width:.1e}, by {by}"


def make_all(entries: Iterable[Entry], methods: Config, folder: Path, library: Library) -> Iterator[Proof]:
    """References for the entries that have none, written to `folder`."""
    with Isolation() as isolation:
        for entry in entries:
            problem, digest = entry.build()
            if library.reference(problem_key(problem, digest)) is None:
                points = dict(_points(entry, problem, digest, methods, isolation))
                if points:
                    reference = make(problem, digest, points)
                    proof = Proof.of(entry.name, reference)
                    if proof.reference is not None:
                        save(reference, folder)
                    yield proof
                else:
                    yield Proof(entry.name, None, "no method returned a point")


def _points(
    entry: Entry, problem: Problem, digest: str, methods: Config, isolation: Isolation
) -> Iterator[tuple[str, Point]]:
    """(method, point) of each of the two methods that returned one; polishing finds multipliers where it has none."""
    side = "hard" if problem.hard else "soft"
    data = spill(problem.X, problem.y, digest, cache.data_folder())
    budget = {**Budget().__dict__, **methods["budget"]}
    limits = Limits(seconds=3.0 * budget["seconds"], memory_mb=16384.0)
    for pair in (methods[side], methods["second"][side if problem.kernel is None else "kernel"]):
        formulation, solver = pair["formulation"], pair["solver"]
        cell = Cell(entry.dataset, entry.problem, formulation, solver, entry.name, "", "", budget=budget)
        point = isolation.run(cell, data, digest, None, limits, None).point
        if point is not None:
            alpha = np.zeros(problem.n) if point.alpha is None else point.alpha
            yield solver["_target_"].rpartition(".")[2], point._replace(alpha=alpha)


def check_all(entries: Iterable[Entry], library: Library) -> Iterator[Proof]:
    """Each stored reference of the entries, proven again from the data alone."""
    for entry in entries:
        problem, digest = entry.build()
        key = problem_key(problem, digest)
        try:
            reference = library.reference(key)
            if reference is None:
                yield Proof(entry.name, None, "no reference is stored", key)
                continue
            prove(reference, problem, digest)
            yield Proof.of(entry.name, reference)
        except Disproved as error:
            yield Proof(entry.name, None, str(error), key)


def check_files(library: Library, checked: Iterable[str]) -> tuple[list[Proof], int]:
    """Of the stored references whose data are not here: those that are damaged, and how many are not. `checked` are
    the keys that need no second look."""
    rest = sorted(set(library.keys()) - set(checked))
    damaged = []
    for key in rest:
        try:
            library.reference(key)
        except Disproved as error:
            damaged.append(Proof(key, None, str(error)))
    return damaged, len(rest) - len(damaged)


def known_bounds(
    cell: Cell,
    judged: Problem,
    data: Data,
    library: Library,
    folder: Path,
    reference: Config | None,
    isolation: Isolation,
) -> Bounds:
    """Of the problem that judges `cell`: proven in the library, kept in `folder`, or computed now and kept there.

    Whatever comes from a file or from another process is proven again here, from the data.
    """
    key = problem_key(judged, data.digest)
    if (found := library.proven(judged, data.digest)) is not None:
        return found
    if (kept := read_bounds(folder, key)) is not None:
        found = bounds_of_point(judged, kept.point)
        if found.lower > -math.inf:
            return found
    if reference is None:
        return Bounds()
    found = compute_bounds(cell, judged, data, reference, isolation)
    if found.lower > -math.inf:
        write_bounds(folder, key, found)
    return found


def compute_bounds(cell: Cell, judged: Problem, data: Data, reference: Config, isolation: Isolation) -> Bounds:
    """What the point that the pair of conf/reference finds proves of the problem that judges `cell`."""
    side = reference["hard" if judged.hard else "soft"]
    trusted = replace(
        cell,
        problem={**cell.problem, "C": judged.C, "bias": judged.bias, "loss": judged.loss},
        formulation=side["formulation"],
        solver=side["solver"],
        budget={**Budget().__dict__, **reference["budget"]},
    )
    limits = Limits(seconds=3.0 * float(reference["budget"]["seconds"]), memory_mb=float(cell.limits["memory_mb"]))
    return bounds_of_point(judged, isolation.run(trusted, data.path, data.digest, None, limits, None).point)
