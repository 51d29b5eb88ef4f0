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
from marginbench.harness.cell.certificate import Certificate, look_at
from marginbench.harness.cell.measure import Budget, Step, pass_seconds
from marginbench.harness.cell.own_residual import own_residual
from marginbench.harness.cell.spec import Cell, instantiate, judged_problem
from marginbench.harness.cell.tracing import Evaluation, Snapshot, Trace, trace
from marginbench.harness.cell.verdict import verdict
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.model.formulation import Formulation
from marginbench.harness.model.problem import Array, Matrix, Point, Problem, problem_key
from marginbench.harness.model.programs import PerceptronLoss, Program, RegularisedRisk
from marginbench.harness.model.solver import Claim, Iterate
from marginbench.harness.model.validity import InvalidPoint
from marginbench.harness.printable import printable
from marginbench.harness.records.record import COLUMNS, Record

CERTIFIED = [f.name for f in fields(Certificate) if f.name in COLUMNS]
CLAIMS = get_args(Claim)

LONGEST_MESSAGE = 1000
"""Characters of the message of a row."""

FEW_FEATURES = 30
"""Up to so many, a record says the w and b of its answer: a chart of w against C has no room for more."""


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
        features: Matrix | None = None,
    ) -> None:
        self.wall, self.known = wall, known or Bounds()
        self.formulation: Formulation = instantiate(cell.formulation)
        self.problem = judged_problem(self.formulation, X, y, cell.problem).with_features(features)
        self.problem.within(cell.memory_mb)
        self.budget = Budget(**cell.budget)
        self.record = blank_record(cell, self.problem, digest)
        self.result, self.about = Trace(), dict[str, Any]()
        self.bounds_dual = False
        if self.known.point is not None:
            self.formulation = self.formulation.at(self.known.point, self.problem)

    def outcome(self, opening: Opening, taken: Iterator[Step]) -> Outcome:
        """What became of the cell: the steps are looked at one by one, and the answer among them gets its verdict."""
        record = self.record
        record.versions = opening.versions
        if opening.status:
            record.status, record.message = opening.status, opening.message
            return Outcome(record)
        record.build_seconds, self.result.restarts = opening.build_seconds, opening.restarts
        self.bounds_dual = opening.bounds_dual
        self.about = {"baseline": opening.baseline, "peer": opening.peer}
        if opening.licence:
            self.about["licence"] = opening.licence[:200]
        kinds = {kind.__name__: kind for kind in self.formulation.kinds(self.problem)}
        if opening.kind not in kinds:
            return self.refused("invalid", f"the formulation gives no {opening.kind[:80]}")
        self.program = self.formulation.program(self.problem, kinds[opening.kind])
        try:
            trace(taken, self._evaluate, self.budget, self._done, self.result, self._check, self.wall)
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
        record, problem, result = self.record, self.problem, self.result
        if not result.snapshots:
            return Outcome(record)
        answer = result.answer
        record.info = {"judge": self.formulation.judge, "restarts": result.restarts, **self.about}
        if self.formulation.lesson:
            record.info["lesson"] = list(self.formulation.lesson)
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
        """What theory promises of P - P*, or of D* - D, at each iterate that was handed over."""
        for entry, snapshot in zip(self.record.curve, self.result.snapshots, strict=True):
            bound = bounds[snapshot.number] if snapshot.number < len(bounds) else None
            if bound is not None:
                entry["dual_bound" if self.bounds_dual else "bound"] = bound

    def _check(self, iterate: Iterate) -> None:
        """InvalidPoint where what the solver gave is no answer at all."""
        if iterate.claim not in CLAIMS:
            possible = ", ".join(claim for claim in CLAIMS if claim)
            raise InvalidPoint(f"claims {iterate.claim[:80]!r}; possible are {possible}")
        if iterate.x is None and iterate.claim in ("", "converged", "inaccurate"):
            raise InvalidPoint("the solver returned nothing")
        for name, value in (("x", iterate.x), ("the multipliers", iterate.dual)):
            if value is not None and np.asarray(value).dtype.kind in "fc" and not np.isfinite(value).all():
                raise InvalidPoint(f"{name} of the solver's answer is NaN or infinite in places")

    def _evaluate(self, iterate: Iterate) -> Evaluation:
        self._check(iterate)
        problem, formulation = self.problem, self.formulation
        found, point, seen, post = Certificate(None, None, None), Point(np.zeros(problem.size)), None, 0.0
        try:
            if iterate.x is not None:
                start = self.wall()
                point = formulation.point(problem, self.program, iterate)
                post = self.wall() - start
                found, seen = look_at(problem, point, self.known.lower, self.budget.gap)
            separates = found.primal is not None
            mu = formulation.infeasibility(problem, self.program, iterate) if problem.hard and not separates else None
        except (ValueError, TypeError, IndexError) as error:
            raise InvalidPoint(str(error)) from error
        own = None if seen is None else own_residual(problem, self.program, iterate, point, seen)
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
        record.info |= about_kernel(self.problem) or hyperplane(answer.evaluation.point)
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


def hyperplane(point: Point) -> dict[str, Any]:
    """||w|| of an answer, the half width of its margin being 1 / ||w||; and w and b where there are few features.

    w = 0 is no hyperplane.
    """
    if not point.w.any():
        return {}
    few = {"w": [float(value) for value in point.w], "b": float(point.b)} if point.w.size <= FEW_FEATURES else {}
    return {"w_norm": float(np.linalg.norm(point.w)), **few}


def about_kernel(problem: Problem) -> dict[str, Any]:
    """The kernel with its parameters, and the eps of K + eps I, the problem judged; {} for a linear one."""
    if problem.kernel is None:
        return {}
    by_rows = {"kernel_rows": "computed"} if problem.by_rows else {}
    return {"kernel": problem.kernel.name, **problem.kernel.__dict__, "eps": problem.eps, **by_rows}


def sentence(text: str) -> str:
    """What a solver or its library says, as one line with control characters spelled out, cut where it is too long."""
    line = printable(text[: 2 * LONGEST_MESSAGE])
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
        threads=cell.threads,
        start=cell.start,
        path=cell.path,
        position=cell.position,
        method=cell.method,
        problem=problem_key(problem, digest),
        info=about_kernel(problem),
        cell=dict(cell.__dict__),
    )
