"""Cheats that use the disk: answers kept between runs, planted references, changed data."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from marginbench.datasets.digest import digest
from marginbench.harness.model.adapters import Ladder
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.model.problem import Point, Problem, problem_key
from marginbench.harness.model.programs import BoxDual
from marginbench.harness.model.solver import Iterate
from marginbench.harness.references.computed import write_bounds
from marginbench.harness.references.library import STORED
from marginbench.harness.references.reference import Reference, load, save
from zoo.honest import WORK, OnDual, OnRisk, caged, optimum, work


def cache() -> Path:
    return Path(os.environ["MARGINBENCH_CACHE"])


@dataclass(frozen=True)
class CachesOnDisk(OnDual):
    """Works in the first repeat, reads its answer in the second."""

    seconds: float = WORK

    def answer(self, program):
        path = cache() / f"zoo-answer-{program.X.tobytes()[:8].hex()}.npy"
        if not path.exists():
            work(self.seconds)
            np.save(path, optimum(program).alpha)
        return np.load(path)


@dataclass(frozen=True)
class RungsOnDisk(Ladder):
    """A ladder whose rungs go on from one another through a file: cold processes do not help."""

    tolerances: Sequence[float] = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
    seconds: float = WORK

    accepts = (BoxDual,)

    def solve(self, program, tolerance):
        state = cache() / "zoo-rungs.npy"
        if not state.exists():
            np.save(state, np.append(optimum(program).alpha, 0.0))
        *x, done = np.load(state)
        work(self.seconds / len(self.tolerances))
        np.save(state, [*x, done + 1.0])
        last = done + 1.0 >= len(self.tolerances)
        return Iterate((1.0 if last else 0.5) * np.array(x), claim="converged")


@dataclass(frozen=True)
class ReadsReference(OnRisk):
    """Reads the proven optimum that comes with marginbench; without one it has nothing to say."""

    def answer(self, program):
        return found(program).point.w if found(program) else np.zeros(program.d + program.intercept)


def asked(program) -> tuple[Problem, str, str]:
    """(problem, digest, key) that a program without a bias was written for."""
    problem = Problem(program.X, program.y, 1.0 / program.lam, "none")
    name = digest(program.X, program.y)
    return problem, name, problem_key(problem, name)


def found(program) -> Reference | None:
    path = STORED / f"{asked(program)[2]}.json"
    return load(path) if path.exists() else None


@dataclass(frozen=True)
class PlantsReference(OnRisk):
    """Answers w = 0, and leaves a `proof` in the user's cache that w = 0 is optimal."""

    def answer(self, program):
        caged()
        problem, name, key = asked(program)
        zero = Point(np.zeros(problem.d), 0.0, np.zeros(problem.n))
        value = problem.primal(zero.w)
        save(Reference(key, name, Bounds(value, value), zero, ("zoo", "zoo")), cache() / "reference")
        return zero.w


@dataclass(frozen=True)
class PlantsRunReference(OnRisk):
    """The same in the folder of the run; `folder` is the results root, which a solver can guess."""

    folder: str = ""

    def answer(self, program):
        caged()
        problem, _, key = asked(program)
        value = problem.primal(np.zeros(problem.d))
        for path in Path(self.folder).glob(f"*/*/references/{key}.npz"):
            write_bounds(path.parents[1], key, Bounds(value, value, "computed", Point(np.zeros(problem.d), 0.0)))
        return np.zeros(problem.d)


@dataclass(frozen=True)
class ChangesCachedData(OnDual):
    """Writes into the file that its data are mapped from: the exponent of every number goes up by one."""

    def answer(self, program):
        caged()
        for path in (cache() / "data").glob("*/X.npy"):
            X = np.load(path)
            if X.shape == program.X.shape and np.array_equal(X, program.X):
                with path.open("r+b") as file:
                    file.seek(-X.nbytes, os.SEEK_END)
                    file.write((2.0 * X).tobytes())
        return super().answer(replace(program, X=np.array(program.X)))
