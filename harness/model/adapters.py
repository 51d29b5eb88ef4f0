"""What adapters to outside libraries share: warming up, ladders of tolerances, claims, refusals."""

from abc import abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar
from warnings import WarningMessage

import numpy as np

from marginbench.harness.model.bounded_qp import bounded
from marginbench.harness.model.kernel_dual import KernelDual
from marginbench.harness.model.needs import Need, kkt_need
from marginbench.harness.model.problem import Array, InputError
from marginbench.harness.model.programs import (
    BoxDual,
    ConeProgram,
    Hinge,
    Loss,
    Program,
    QuadraticProgram,
    RegularisedRisk,
    SmoothedHinge,
    SquaredHinge,
)
from marginbench.harness.model.solver import Claim, Iterate, Solver


class Adapter(Solver):
    """A solver that is somebody else's library."""

    claims: ClassVar[Mapping[Any, Claim]] = {}
    """The library's status, a word or a number -> what it claims by it. Any other status is `failed`."""

    def needs(self, program: Program) -> Need | None:
        """Every library here that takes a quadratic or a cone program factorises its KKT system."""
        return kkt_need(program.P, program.A) if isinstance(program, QuadraticProgram | ConeProgram) else None

    def warm_up(self, program: Program) -> None:
        """One small solve: the library is imported, and compiles what it compiles."""
        next(self.iterates(program.smallest()))

    def answer(
        self, status: Hashable, x: Array, dual: Array, info: Mapping[str, Any], said: str | None = None
    ) -> Iterate:
        """What the library gave, as an iterate. An infeasible program has no x, an unbounded one no dual.

        said: its own words, where the status is a number.
        """
        claim = self.claims.get(status, "failed")
        x_or_none = None if claim == "infeasible" else np.asarray(x)
        dual_or_none = None if claim == "unbounded" else np.asarray(dual)
        return Iterate(x_or_none, dual_or_none, claim, str(status) if said is None else said, info)


class Ladder(Adapter):
    """A black box that takes a tolerance: one cold solve per rung, and no tighter one after one that did not converge.

    tolerances: a field of every ladder.
    """

    tolerances: Sequence[float]
    restarts = True

    def __post_init__(self) -> None:
        given = self.tolerances
        listed = isinstance(given, Sequence) and not isinstance(given, str)
        if not listed or not all(isinstance(t, int | float) and t > 0.0 for t in given) or not self.rungs():
            given = list(given) if listed else given
            raise InputError(f"solver.tolerances={given}: needs a list of numbers above 0, at least one")

    def rungs(self) -> Sequence[float]:
        return self.tolerances

    def iterates(self, program: Program) -> Iterator[Iterate]:
        for rung in range(len(self.rungs())):
            iterate = self.climbed(program, rung)
            yield iterate
            if iterate.claim != "converged":
                return

    def climbed(self, program: Program, rung: int) -> Iterate:
        """One rung alone. The harness climbs each in a process of its own."""
        tolerance = self.rungs()[rung]
        iterate = self.solve(program, tolerance)
        return replace(iterate, info={"tolerance": tolerance, **iterate.info})

    @abstractmethod
    def solve(self, program: Program, tolerance: float) -> Iterate:
        """The iterate at which the black box stops, and its claim."""


class RiskLadder(Ladder):
    """A ladder for `RegularisedRisk`. What its library can be given is declared, and the rest is refused in words."""

    accepts = (RegularisedRisk,)

    name: ClassVar[str]
    """The library, as the first words of a refusal."""

    losses: ClassVar[tuple[type[Loss], ...]]
    bias: ClassVar[str] = "has no bias"
    """What it does instead of a free bias; empty where it has one."""
    sample_weights: ClassVar[bool] = True
    one_class: ClassVar[bool] = False
    """True where it takes labels that are all alike."""

    def refuses(self, program: Program) -> str | None:
        assert isinstance(program, RegularisedRisk)
        if not isinstance(program.loss, self.losses):
            return f"{self.name} has only the {' and the '.join(WORDS[loss] for loss in self.losses)}"
        if program.intercept and self.bias:
            return f"{self.name} {self.bias}; the problem's is free"
        if not self.sample_weights and np.ptp(program.weight) > 0:
            return f"{self.name} has no sample weights"
        if not self.one_class and np.ptp(program.y) == 0:
            return f"{self.name} needs both classes"
        return None


class BoxLadder(Ladder):
    """A ladder for the dual of the hinge with a free bias and a finite C; the rest is refused in words."""

    accepts: ClassVar[tuple[type[Program], ...]] = (BoxDual,)

    name: ClassVar[str]
    """The library, as the first words of a refusal."""

    sample_weights: ClassVar[bool] = True

    def refuses(self, program: Program) -> str | None:
        assert isinstance(program, BoxDual | KernelDual)
        if not program.equality:
            return f"{self.name} has a free bias; the problem has none"
        if program.curvature.any():
            return f"{self.name} has the hinge only; this dual has a quadratic term of its own"
        if np.isinf(program.upper).any():
            return f"{self.name} needs a finite C"
        if not self.sample_weights and np.ptp(program.upper) > 0:
            return f"{self.name} has no sample weights"
        if np.ptp(program.y) == 0:
            return f"{self.name} needs both classes"
        return None


class LicensedLadder(Ladder):
    """A ladder for `QuadraticProgram` whose library needs a licence beyond a free size."""

    accepts = (QuadraticProgram,)

    name: ClassVar[str]
    """The library, as the first words of a refusal."""

    free_variables: ClassVar[int]
    free_constraints: ClassVar[int]
    """What it takes without a licence; bounds of variables are no constraints."""

    free_together: ClassVar[float] = np.inf
    """Where it counts variables and constraints together: how many of both."""

    def refuses(self, program: Program) -> str | None:
        assert isinstance(program, QuadraticProgram)
        rows, variables = program.A.shape
        if not self.free(variables, rows):
            rows = bounded(program).b.size
        if self.free(variables, rows) or self.licensed():
            return None
        size = f"{self.free_variables:,} variables and {self.free_constraints:,} constraints"
        if self.free_together < np.inf:
            size = f"{self.free_together:,} variables and constraints together"
        return f"{self.name} without a licence takes quadratic programs of {size}; this has {variables:,} and {rows:,}"

    def free(self, variables: int, rows: int) -> bool:
        """Whether it takes so many without a licence."""
        together = variables + rows <= self.free_together
        return together and variables <= self.free_variables and rows <= self.free_constraints

    @abstractmethod
    def licensed(self) -> bool:
        """Whether the library takes a quadratic program one variable larger than the free size."""


WORDS: dict[type[Loss], str] = {Hinge: "hinge", SmoothedHinge: "smoothed hinge", SquaredHinge: "squared hinge"}


def words(heard: Sequence[WarningMessage]) -> str:
    """Warnings of a library, as what it said."""
    return "; ".join(str(warning.message) for warning in heard)
