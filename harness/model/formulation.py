"""The protocol of a formulation: one way to write the max-margin problem down, and the way back."""

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple, Self

from marginbench.harness.model.needs import Need
from marginbench.harness.model.problem import Point, Problem
from marginbench.harness.model.programs import Program
from marginbench.harness.model.solver import Iterate


class Route(NamedTuple):
    """How `marginbench validate` uses a formulation.

    Formulations of the same name take turns until one of them can write the problem; each name gives a row.
    """

    name: str
    turn: int
    kinds: tuple[type[Program], ...]
    """Programs that it is asked for."""


class Lesson(NamedTuple):
    """What a picture of its answer in the plane teaches."""

    turn: int
    """Its place in a course from the perceptron to the support vector machine."""
    words: str


class Formulation(ABC):
    """Base of all formulations: a frozen dataclass whose fields are its parameters (delta, gamma, ...)."""

    gives: ClassVar[tuple[type[Program], ...]]
    """Programs it can write."""

    gives_with_kernel: ClassVar[tuple[type[Program], ...]] = ()
    """Programs it can write with a kernel, where w has no coordinates."""

    judge: ClassVar[str] = "optimum"
    """`optimum`: by the gap of the judged problem. `separation`: by mistakes."""

    exact: ClassVar[bool] = True
    """False where its optimum is not that of the judged problem (the smoothed hinge)."""

    route: ClassVar[Route | None] = None
    """None where `marginbench validate` uses it only when the user names it."""

    lesson: ClassVar[Lesson | None] = None
    """None where it is no part of the course."""

    always_solvable: ClassVar[bool] = False
    """Whether its program has an optimum also where a hard margin has none: `converged` then says that there is none,
    if the multipliers say so."""

    def refuses(self, problem: Problem) -> str | None:
        """Why this problem cannot be written this way; None when it can. Whether a kernel can is said by `kinds`."""
        return None

    def kinds(self, problem: Problem) -> tuple[type[Program], ...]:
        """Programs that it can write this problem as."""
        return self.gives if problem.kernel is None else self.gives_with_kernel

    def judged(self, problem: Problem) -> Problem:
        """The canonical problem that its answer is compared with: the one asked for, or the hard margin."""
        return problem

    def at(self, optimum: Point, problem: Problem) -> Self:
        """The same formulation with what depends on the optimum (a slack budget) fixed."""
        return self

    def fields_for(self, accuracy: float) -> dict[str, float]:
        """Its fields, as far as an accuracy decides them: what `marginbench validate` asks of a solver that promises
        it. None of them where its optimum is that of the judged problem."""
        return {}

    def needs(self, problem: Problem, kind: type[Program]) -> Need | None:
        """The largest matrix that `program` makes beside the data; None where it makes none that matters."""
        return None

    @abstractmethod
    def program(self, problem: Problem, kind: type[Program]) -> Program:
        """Write `problem` as a program of type `kind`, one of `gives`."""

    @abstractmethod
    def point(self, problem: Problem, program: Program, iterate: Iterate) -> Point:
        """Read the program's answer as a point of the canonical problem."""

    def infeasibility(self, problem: Problem, program: Program, iterate: Iterate):
        """mu >= 0 with sum 1 that proves a hard margin impossible, read from the iterate; None where it has none."""
        return None
