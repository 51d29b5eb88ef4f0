"""Where contracts are checked: one solver, one formulation, one small problem whose optimum is known."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
import scipy.sparse as sp

from marginbench.harness.cell.certificate import certify
from marginbench.harness.cell.run import run_cell
from marginbench.harness.cell.spec import Cell, Config, chosen_kind, instantiate, judged_problem
from marginbench.harness.model.formulation import Formulation
from marginbench.harness.model.problem import Array, InputError, Matrix, Point, Problem
from marginbench.harness.model.programs import Program, RegularisedRisk
from marginbench.harness.model.solver import Iterate, Solver, Start
from marginbench.harness.model.validity import validated

STEPS = 5
"""Iterates that are compared bit by bit."""

SLACK = 2.0
"""How many times the promised error an answer to another problem, taken back, may have."""

LOST = 10.0
"""How many times the error of its best, or of its answer to the problem itself, an answer's error may be."""

PATIENCE = 3
"""How many times the iterates that the problem itself needed a transformed one may need."""


class Span:
    """So many seconds of CPU time, which a busy machine does not shorten; of wall clock, five times as many."""

    def __init__(self, seconds: float) -> None:
        self._cpu, self._wall = time.process_time() + seconds, time.monotonic() + 5.0 * seconds

    @property
    def over(self) -> bool:
        return time.process_time() > self._cpu or time.monotonic() > self._wall


class Broken(Exception):
    """The contract is broken; the message says how."""


class NotApplicable(Exception):
    """The contract does not apply; the message says why."""


class Refused(NotApplicable):
    """The solver does not take the program; the message is its reason."""


@dataclass(frozen=True)
class Setting:
    """A formulation and a problem that the solver takes."""

    name: str
    formulation: Config
    problem: Config


@dataclass(frozen=True)
class Subject:
    """What is examined. reference: the trusted pair for optima; seconds: for one solve."""

    solver: Config
    settings: tuple[Setting, ...]
    reference: Config
    accuracy: float
    seconds: float


class Testbed:
    """One solver in one setting. Every program is made of copies, so that a solver that writes spoils nothing else."""

    def __init__(self, subject: Subject, setting: Setting) -> None:
        self.subject, self.setting = subject, setting
        self.formulation: Formulation = instantiate(setting.formulation)
        self.hard = bool(np.isinf(setting.problem["C"]))
        self.judged = self.problem()

    def data(self, seed: int = 0) -> tuple[Array, Array]:
        """Multiples of 1/16, so that float32 and scaling by 2 change no bit; separable where the setting needs it; and
        off the origin, so that the three biases differ."""
        rng = np.random.default_rng(seed)
        y = np.where(np.arange(60) % 3 == 0, -1.0, 1.0)
        X = rng.normal(size=(60, 6)) + (4.0 if self.hard else 0.7) * y[:, None] * np.array([1, -1, 1, 0, 0, 0])
        X[:, 3:] *= rng.random((60, 3)) < 0.5
        X[:, 0] += 3.0
        return np.round(16.0 * X) / 16.0, y

    def problem(self, X: Matrix = None, y: Array | None = None, **changes: Any) -> Problem:
        """The setting's problem, on its own data unless others are given."""
        if X is None or y is None:
            X, y = self.data()
        return judged_problem(self.formulation, X, y, {**self.setting.problem, **changes})

    def solver(self, **changes: Any) -> Solver:
        return instantiate({**self.subject.solver, **changes})

    def program(self, problem: Problem) -> Program:
        try:
            return self.formulation.program(problem, chosen_kind(self.formulation, self.solver(), problem))
        except InputError as error:
            raise NotApplicable(str(error)) from None

    def warm_up(self) -> None:
        """All that a contract pays once, for both layouts of the data."""
        X, y = self.data()
        for layout in (X, sp.csr_array(X)):
            program, solver = self.program(self.problem(layout, y)), self.solver()
            if solver.refuses(program) is None:
                solver.warm_up(program)
        if self.formulation.exact and self.formulation.judge != "separation":
            _ = self.lower

    @cached_property
    def lower(self) -> float:
        """The optimum of the problem, from the trusted pair."""
        side = self.subject.reference["hard" if self.hard else "soft"]
        asked = {"C": self.judged.C, "bias": self.judged.bias, "loss": self.judged.loss}
        cell = Cell({}, asked, side["formulation"], side["solver"], "", "", "", budget={"gap": 1e-11})
        dual = run_cell(cell, *self.data(), "").record.dual
        if dual is None:
            raise NotApplicable("the trusted pair has no optimum for the problem of this contract")
        return dual

    def error(self, point: Point) -> float:
        """What the promise is about, of an answer to the testbed's problem."""
        if self.formulation.judge == "separation":
            return 0.0 if self.judged.margins(point.w, point.b).min() > 0.0 else np.inf
        if self.formulation.exact:
            gap = certify(self.judged, Point(point.w, point.b), self.lower).gap
            return np.inf if gap is None else gap
        program = self.formulation.program(self.judged, RegularisedRisk)
        v = self.judged.join(point.w, point.b)
        own = program.residual(np.append(v, point.b) if self.judged.bias == "free" else v, None)
        return np.inf if own is None else own

    def point(self, problem: Problem, program: Program, iterate: Iterate) -> Point:
        try:
            return validated(problem, self.formulation.point(problem, program, iterate))
        except (ValueError, TypeError, IndexError) as error:
            raise Broken(str(error)) from None

    # -- runs ----------------------------------------------------------------------------------------------------

    def answers(
        self,
        problem: Problem,
        program: Program | None = None,
        back: Callable[[Point], Point] = lambda point: point,
        solver: Solver | None = None,
        start: Start | None = None,
    ) -> list[float]:
        """The errors of its answers to `problem`, each taken back to the testbed's own problem first, and each the
        smallest so far; until one is as small as promised, or time is over."""
        solver, program = solver or self.solver(), program or self.program(problem)
        found, span = [np.inf], None
        with started(solver, program, start) as iterates:
            for iterate in iterates:
                error = np.inf if iterate.x is None else self.error(back(self.point(problem, program, iterate)))
                found.append(min(found[-1], error))
                if found[-1] <= self.subject.accuracy or (span is not None and span.over):
                    break
                span = span or Span(self.subject.seconds)  # what it compiles for a layout of the data is not counted
        return found

    @cached_property
    def own(self) -> list[float]:
        """`answers` to the problem itself."""
        return self.answers(self.problem())

    def kept(self, errors: list[float]) -> str:
        """The sentence for answers within the promise, or as good as those to the problem itself after as many
        iterates: who is slow there is slow here. Broken beyond."""
        if errors[-1] <= SLACK * self.subject.accuracy:
            return f"the answer has a relative error of {errors[-1]:.0e}"
        count = min(len(errors), len(self.own)) - 1
        known, error = self.own[count], errors[min(PATIENCE * count, len(errors) - 1)]
        if not error <= LOST * known:
            words = f"{error:.0e} where the problem itself has {known:.0e} after as many"
            raise Broken(f"after {count} iterates the answer has a relative error of {words}")
        return f"after {count} iterates a relative error of {error:.0e}, as for the problem itself"

    def errors(self, problem: Problem, solver: Solver) -> list[float]:
        """Of all its answers until it ends by itself, or until a second is over."""
        program, found = self.program(problem), []
        with started(solver, program) as iterates:
            span = Span(min(1.0, self.subject.seconds))
            for iterate in iterates:
                found.append(self.error(self.point(problem, program, iterate)))
                if span.over:
                    break
        return found

    def steps(self, solver: Solver, program: Program) -> list[bytes]:
        """The bits of the first iterates; fewer when time is over."""
        found = []
        with started(solver, program) as iterates:
            span = Span(self.subject.seconds)
            for iterate in islice(iterates, STEPS):
                found.append(bits(iterate))
                if span.over:
                    break
        return found


@contextmanager
def started(solver: Solver, program: Program, start: Start | None = None) -> Iterator[Iterator[Iterate]]:
    """The iterates of a program that it takes, closed at the end where they can be."""
    if reason := solver.refuses(program):
        raise Refused(reason)
    solver.warm_up(program)
    iterates: Any = solver.iterates_from(program, start)
    with closing(iterates) if hasattr(iterates, "close") else nullcontext():
        yield iterates


def bits(iterate: Iterate) -> bytes:
    return b"|".join(b"" if part is None else np.asarray(part).tobytes() for part in (iterate.x, iterate.dual))
