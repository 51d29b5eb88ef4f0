"""The judge's side of a cell: problem, formulation and program of its own, and every answer measured against them.

Nothing here loads a solver. What comes from the solver's side is arrays and plain data.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, get_args

import numpy as np

from marginbench.harness.cell.attempt import Opening
from marginbench.harness.cell.certificate import Certificate, certify
from marginbench.harness.cell.measure import Budget, Evaluation, Snapshot, Step, Trace, pass_seconds, trace
from marginbench.harness.cell.spec import Cell, instantiate, judged_problem
from marginbench.harness.cell.verdict import verdict
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.model.formulation import Formulation
from marginbench.harness.model.problem import Array, Matrix, Point, Problem, problem_key
from marginbench.harness.model.programs import PerceptronLoss, Program, RegularisedRisk
from marginbench.harness.model.solver import Claim, Iterate
from marginbench.harness.model.validity import InvalidPoint
from marginbench.harness.records.record import COLUMNS, Record

CERTIFIED = [f.name for f in fields(Certificate) if f.name in COLUMNS]
CLAIMS = get_args(Claim)

LONGEST_MESSAGE = 1000
"""Characters of the message of a row."""


@dataclass
class Outcome:
    """The record of a cell, and the point it ended with."""

    record: Record
    point: Point | None = None


class Judging:
    program: Program

    def __init__(
        self,
        cell: Cell,
        X: Matrix,
        y: Array,
        digest: str,
        known: Bounds | None = None,
        wall: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.wall, self.known = wall, known or Bounds()
        self.formulation: Formulation = instantiate(cell.formulation)
        self.problem = judged_problem(self.formulation, X, y, cell.problem)
        self.budget = Budget(**cell.budget)
        self.record = blank_record(cell, self.problem, digest)
        self.result, self.restarts, self.about = Trace(), False, dict[str, bool]()
        if self.known.point is not None:
            self.formulation = self.formulation.at(self.known.point, self.problem)

    def outcome(self, opening: Opening, taken: Iterator[Step]) -> Outcome:
        """What became of the cell: the steps are looked at one by one, and the answer among them gets its verdict."""
        record = self.record
        record.versions = opening.versions
        if opening.status:
            record.status, record.message = opening.status, opening.message
            return Outcome(record)
        record.build_seconds, self.restarts = opening.build_seconds, opening.restarts
        self.about = {"baseline": opening.baseline, "peer": opening.peer}
        kinds = {kind.__name__: kind for kind in self.formulation.gives}
        if opening.kind not in kinds:
            return self.refused("invalid", f"the formulation gives no {opening.kind[:80]}")
        self.program = self.formulation.program(self.problem, kinds[opening.kind])
        try:
            trace(taken, self._evaluate, self.budget, self._done, self.result)
        except InvalidPoint as error:
            return self.refused("invalid", str(error))
        if self.result.refused:
            return self.refused("skipped", self.result.refused)
        if not self.result.snapshots and self.result.ended_by == "process":
            return self.refused("failed", "its process ended without a word")
        if not self.result.snapshots:
            return self.refused("invalid", "the solver ended without a single iterate")
        return self.so_far()

    def refused(self, status: str, message: str) -> Outcome:
        """A row without a result."""
        self.record.status, self.record.message = status, sentence(message)
        return Outcome(self.record)

    def so_far(self) -> Outcome:
        """The verdict on what was seen, be it all or not."""
        record, problem, result, restarts = self.record, self.problem, self.result, self.restarts
        if not result.snapshots:
            return Outcome(record)
        answer = result.answer(restarts)
        record.info = {"judge": self.formulation.judge, "restarts": restarts, **self.about}
        self._fill(answer, result)
        if self.formulation.judge == "separation":  # it promises a separator: the gap would say nothing of it
            record.dual, record.dual_source, record.gap = None, "", None
        self._theory()
        record.status, record.message = verdict(self.formulation, problem, answer, result, self.budget, self.known)
        claimed = record.claim == "converged" and record.gap is not None and record.gap > self.budget.gap
        record.false_claim = claimed and self.formulation.judge == "optimum"
        if record.updates_bound is not None and not record.message:
            record.message = f"{record.updates} updates; the bound (R/gamma)^2 is {record.updates_bound:.4g}"
        record.message = sentence(record.message)
        return Outcome(record, answer.evaluation.point)

    def add_bounds(self, bounds: Sequence[float | None]) -> None:
        """What theory promises of P - P* at each iterate that was looked at."""
        for entry, bound in zip(self.record.curve, bounds, strict=False):
            if bound is not None:
                entry["bound"] = bound

    def _evaluate(self, iterate: Iterate) -> Evaluation:
        problem, formulation = self.problem, self.formulation
        if iterate.claim not in CLAIMS:
            possible = ", ".join(claim for claim in CLAIMS if claim)
            raise InvalidPoint(f"claims {iterate.claim[:80]!r}; possible are {possible}")
        if iterate.x is None and iterate.claim in ("", "converged", "inaccurate"):
            raise InvalidPoint("the solver returned nothing")
        for name, value in (("x", iterate.x), ("the multipliers", iterate.dual)):
            if value is not None and np.asarray(value).dtype.kind in "fc" and not np.isfinite(value).all():
                raise InvalidPoint(f"{name} of the solver's answer is NaN or infinite in places")
        found, point, post = Certificate(None, None, None), Point(np.zeros(problem.d)), 0.0
        try:
            if iterate.x is not None:
                start = self.wall()
                point = formulation.point(problem, self.program, iterate)
                post = self.wall() - start
                found = certify(problem, point, self.known.lower, self.budget.gap)
            separates = found.primal is not None
            mu = formulation.infeasibility(problem, self.program, iterate) if problem.hard and not separates else None
        except (ValueError, TypeError, IndexError) as error:
            raise InvalidPoint(str(error)) from error
        own = None if iterate.x is None else self.program.residual(iterate.x, iterate.dual)
        alpha = mu if point.alpha is None else point.alpha
        kept = Point(np.array(point.w), float(point.b), None if alpha is None else np.array(alpha))
        return Evaluation(found, kept, own, post, mu)

    def _done(self, found: Certificate) -> bool:
        if self.formulation.judge == "separation":
            return False  # such a solver stops by itself, after an epoch without a mistake
        return found.gap is not None and found.gap <= self.budget.gap and found.feasible

    def _fill(self, answer: Snapshot, result: Trace) -> None:
        record, found = self.record, answer.certificate
        for name in CERTIFIED:
            setattr(record, name, getattr(found, name))
        record.claim = answer.claim
        record.own_residual = answer.evaluation.own_residual
        record.solve_seconds, record.cpu_seconds = answer.seconds, answer.cpu_seconds
        record.post_seconds = answer.evaluation.post_seconds
        record.pass_seconds = pass_seconds(self.problem, self.wall)
        record.passes = answer.seconds / record.pass_seconds if record.pass_seconds > 0 else None
        record.iterations = answer.iteration
        record.info |= {**answer.info, **({"said": answer.said} if answer.said else {})}
        record.curve = [snapshot.curve_entry() for snapshot in result.snapshots]

    def _theory(self) -> None:
        """Counts that theory bounds, and the bound: Novikoff's (R/gamma)^2, or (R^2 + 2 t)/gamma^2 for a margin t."""
        record, program, known = self.record, self.program, self.known
        updates: Any = record.info.get("updates")
        record.updates = updates if type(updates) is int else None
        if not (isinstance(program, RegularisedRisk) and isinstance(program.loss, PerceptronLoss)):
            return
        if math.isfinite(known.upper):
            R2, gamma2 = self.problem.radius * self.problem.radius, 1.0 / (2.0 * known.upper)
            record.updates_bound = (R2 + 2.0 * program.loss.gamma) / gamma2


def sentence(text: str) -> str:
    """What a solver or its library says, as one line without control characters, cut where it is too long."""
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in text[: 2 * LONGEST_MESSAGE]).split())
    return line if len(line) <= LONGEST_MESSAGE else f"{line[:LONGEST_MESSAGE]} [cut]"


def blank_record(cell: Cell, problem: Problem, digest: str) -> Record:
    return Record(
        dataset=cell.dataset_name,
        n=problem.n,
        d=problem.d,
        nnz=problem.nnz,
        C=float(problem.C),
        bias=problem.bias,
        loss=problem.loss,
        formulation=cell.formulation_name,
        solver=cell.solver_name,
        seed=cell.seed,
        repeat=cell.repeat,
        method=cell.method,
        problem=problem_key(problem, digest),
        cell=dict(cell.__dict__),
    )
