"""One cell: a solver on a formulation of a problem, run, certified, judged. Its result is a Record."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial

import numpy as np

from marginbench.harness.cell.certificate import Certificate, certify
from marginbench.harness.cell.measure import Budget, Evaluation, Snapshot, Trace, pass_seconds, trace
from marginbench.harness.cell.spec import (
    Cell,
    chosen_kind,
    instantiate,
    judged_problem,
    library_versions,
    misfit,
    missing,
)
from marginbench.harness.cell.verdict import verdict
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.model.formulation import Formulation
from marginbench.harness.model.problem import InputError, Matrix, Point, Problem, problem_key
from marginbench.harness.model.programs import PerceptronLoss, Program, RegularisedRisk
from marginbench.harness.model.solver import Iterate, Solver
from marginbench.harness.model.validity import InvalidPoint
from marginbench.harness.records.record import COLUMNS, Record

CERTIFIED = [f.name for f in fields(Certificate) if f.name in COLUMNS]


@dataclass
class Outcome:
    """The record of a cell, and the point it ended with."""

    record: Record
    point: Point | None = None


def run_cell(
    cell: Cell,
    X: Matrix,
    y: np.ndarray,
    digest: str,
    known: Bounds | None = None,
    wall: Callable[[], float] = time.perf_counter,
    after_rung: Callable[[Outcome], None] = lambda _: None,
) -> Outcome:
    """Run a cell in this process. Exceptions of the solver pass through: who calls decides what they mean.

    Of a solver that restarts, `after_rung` is called with what the outcome would be if there were no further rung.
    """
    known = known or Bounds()
    formulation: Formulation = instantiate(cell.formulation)
    solver: Solver = instantiate(cell.solver)
    problem = judged_problem(formulation, X, y, cell.problem)
    record = blank_record(cell, problem, digest)
    record.status, record.message = "skipped", misfit(formulation, solver, problem) or ""
    if record.message:
        return Outcome(record)
    if sentence := missing(solver):
        record.status, record.message = "not_installed", sentence
        return Outcome(record)
    if known.point is not None:
        formulation = formulation.at(known.point, problem)

    start = wall()
    try:
        program = formulation.program(problem, chosen_kind(formulation, solver))
    except InputError as error:
        record.message = str(error)
        return Outcome(record)
    record.build_seconds = wall() - start
    if reason := solver.refuses(program):
        record.message = reason
        return Outcome(record)
    record.versions = library_versions(solver)
    budget = Budget(**cell.budget)
    solver.warm_up(program)

    evaluate = partial(_evaluate, problem, formulation, program, known, budget.gap, wall)
    outcome = partial(_outcome, record, problem, formulation, program, solver, budget, known, wall)
    try:
        done = partial(_done, formulation, budget)
        keep = lambda so_far: after_rung(outcome(so_far))  # noqa: E731
        result = trace(solver, program, evaluate, budget, done, wall, after_rung=keep)
    except InvalidPoint as error:
        record.status, record.message = "invalid", str(error)
        return Outcome(record)
    if not result.snapshots:
        record.status, record.message = "invalid", "the solver ended without a single iterate"
        return Outcome(record)
    return outcome(result)


def _outcome(
    record: Record,
    problem: Problem,
    formulation: Formulation,
    program: Program,
    solver: Solver,
    budget: Budget,
    known: Bounds,
    wall: Callable[[], float],
    result: Trace,
) -> Outcome:
    """`record` with all that a run has shown, and the point that counts."""
    record, answer = replace(record), result.answer(solver.restarts)
    record.info = {
        "judge": formulation.judge,
        "restarts": solver.restarts,
        "baseline": solver.baseline,
        "peer": bool(solver.requires),
    }
    _fill(record, problem, program, solver, answer, result, wall)
    if formulation.judge == "separation":  # it promises a separator, not the optimum: the gap would say nothing of it
        record.dual, record.dual_source, record.gap = None, "", None
    _theory(record, program, problem, known)
    record.status, record.message = verdict(formulation, problem, answer, result, budget, known)
    if record.updates_bound is not None and not record.message:
        record.message = f"{record.updates} updates; the bound (R/gamma)^2 is {record.updates_bound:.4g}"
    return Outcome(record, answer.evaluation.point)


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


def _evaluate(
    problem: Problem,
    formulation: Formulation,
    program: Program,
    known: Bounds,
    accuracy: float,
    wall: Callable[[], float],
    iterate: Iterate,
) -> Evaluation:
    if iterate.x is None and iterate.claim in ("", "converged", "inaccurate"):
        raise InvalidPoint("the solver returned nothing")
    for name, value in (("x", iterate.x), ("the multipliers", iterate.dual)):
        if value is not None and np.asarray(value).dtype.kind in "fc" and not np.isfinite(value).all():
            raise InvalidPoint(f"{name} of the solver's answer is NaN or infinite in places")
    found, point, post = Certificate(None, None, None), Point(np.zeros(problem.d)), 0.0
    try:
        if iterate.x is not None:
            start = wall()
            point = formulation.point(problem, program, iterate)
            post = wall() - start
            found = certify(problem, point, known.lower, accuracy)
        separates = found.primal is not None
        mu = formulation.infeasibility(problem, program, iterate) if problem.hard and not separates else None
    except (ValueError, TypeError, IndexError) as error:
        raise InvalidPoint(str(error)) from error
    own = None if iterate.x is None else program.residual(iterate.x, iterate.dual)
    alpha = mu if point.alpha is None else point.alpha
    kept = Point(np.array(point.w), float(point.b), None if alpha is None else np.array(alpha))
    return Evaluation(found, kept, own, post, mu)


def _done(formulation: Formulation, budget: Budget, found: Certificate) -> bool:
    if formulation.judge == "separation":
        return False  # such a solver stops by itself, after an epoch without a mistake
    return found.gap is not None and found.gap <= budget.gap and found.feasible


def _fill(
    record: Record,
    problem: Problem,
    program: Program,
    solver: Solver,
    answer: Snapshot,
    result: Trace,
    wall: Callable[[], float],
) -> None:
    found = answer.certificate
    for name in CERTIFIED:
        setattr(record, name, getattr(found, name))
    record.claim = answer.claim
    record.own_residual = answer.evaluation.own_residual
    record.solve_seconds, record.cpu_seconds = answer.seconds, answer.cpu_seconds
    record.post_seconds = answer.evaluation.post_seconds
    record.pass_seconds = pass_seconds(problem, wall)
    record.passes = answer.seconds / record.pass_seconds if record.pass_seconds > 0 else None
    record.iterations = answer.iteration
    record.info |= {**answer.info, **({"said": answer.said} if answer.said else {})}
    bound = solver.bound(program) or (lambda _: None)
    record.curve = [snapshot.curve_entry(bound(snapshot.info)) for snapshot in result.snapshots]


def _theory(record: Record, program: Program, problem: Problem, known: Bounds) -> None:
    """Counts that theory bounds, and the bound: Novikoff's (R/gamma)^2, or (R^2 + 2 t)/gamma^2 for a margin t."""
    record.updates = record.info.get("updates")
    if not (isinstance(program, RegularisedRisk) and isinstance(program.loss, PerceptronLoss)):
        return
    if math.isfinite(known.upper):
        R2, gamma2 = problem.radius * problem.radius, 1.0 / (2.0 * known.upper)
        record.updates_bound = (R2 + 2.0 * program.loss.gamma) / gamma2
