"""The verdict on an answer: a status and a sentence, from the certificate. The claim can only make it worse."""

import math

import numpy as np

from marginbench.harness.cell.certificate import HULLS_MEET, Certificate, hull_distance
from marginbench.harness.cell.measure import Budget, Snapshot, Trace
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.model.formulation import Formulation
from marginbench.harness.model.problem import Problem


def verdict(
    formulation: Formulation, problem: Problem, answer: Snapshot, result: Trace, budget: Budget, known: Bounds
) -> tuple[str, str]:
    """(status, message) of an answer to `problem`."""
    found, claim = answer.certificate, answer.claim
    if formulation.judge == "separation":
        return _verdict_of_separation(found, claim, problem, known)
    if problem.hard and (found.primal is None or claim in ("infeasible", "unbounded")):
        return _verdict_without_separator(problem, answer, known)
    if claim in ("infeasible", "unbounded"):
        return "wrong", f"claimed {claim}; a problem with slack always has a solution"
    if claim == "failed":
        return "failed", answer.said or "the solver says that it failed"
    if found.gap is None:
        return "inaccurate", "no multipliers and no reference: the gap is unknown"
    if not found.feasible:
        status = "wrong" if claim == "converged" else "inaccurate"
        return status, f"infeasible by {found.violation:.1e}, beyond repair"
    if found.gap <= budget.gap:
        if answer.seconds > budget.seconds:
            return "timeout", f"right after {answer.seconds:.3g} s; the budget was {budget.seconds:g} s"
        return "solved", _false_claims(result, budget, answer)
    own = answer.evaluation.own_residual
    if not formulation.exact and own is not None and own <= budget.gap:
        return "inaccurate", f"gap {found.gap:.1e}: its own program is solved to {own:.0e}, the rest is the smoothing"
    if claim == "converged" and found.gap > max(budget.gap, budget.wrong_gap):
        return "wrong", f"claimed convergence at a certified gap of {found.gap:.1e}"
    return "inaccurate", _why_short(found, result, budget, answer)


def _why_short(found: Certificate, result: Trace, budget: Budget, answer: Snapshot) -> str:
    reason = {
        "seconds": f"the budget of {budget.seconds:g} s was spent",
        "iterations": f"the budget of {budget.iterations} iterations was spent",
    }.get(result.ended_by, f"the solver ended ({answer.claim}{': ' + answer.said if answer.said else ''})")
    return f"gap {found.gap:.1e}, asked {budget.gap:.0e}: {reason}"


def _false_claims(result: Trace, budget: Budget, answer: Snapshot) -> str:
    """Other rungs of a ladder that claimed convergence and were plainly not there."""
    claimed = [s.certificate.gap or 0.0 for s in result.snapshots if s is not answer and s.claim == "converged"]
    worst = max(claimed, default=0.0)
    return f"another setting claimed convergence at a gap of {worst:.1e}" if worst > budget.wrong_gap else ""


def _verdict_of_separation(found: Certificate, claim: str, problem: Problem, known: Bounds) -> tuple[str, str]:
    if found.mistakes == 0:
        return "solved", ""
    why = "the data are not separable (the hulls of the classes meet)" if known.infeasible else "not separated yet"
    status = "wrong" if claim == "converged" else "inaccurate"
    return status, f"{found.mistakes} of {problem.n} rows misclassified: {why}"


def _verdict_without_separator(problem: Problem, answer: Snapshot, known: Bounds) -> tuple[str, str]:
    """Hard margin, no separating point: infeasible with a proof, or an answer that is none."""
    distance = math.inf
    for mu in (answer.evaluation.mu, answer.evaluation.point.alpha):
        if mu is not None and np.isfinite(mu).all():
            distance = min(distance, hull_distance(problem, mu))
    if distance <= HULLS_MEET:
        return "infeasible", f"the hulls of the classes meet (distance {distance:.0e} of the largest row)"
    if known.infeasible:
        return "infeasible", "proven by the reference; the solver's own certificate is short"
    if answer.claim in ("converged", "infeasible", "unbounded"):
        return "wrong", f"claimed {answer.claim}, but neither separates the data nor proves that nothing does"
    return (
        "inaccurate",
        f"does not separate the data; {answer.certificate.mistakes} of {problem.n} rows misclassified",
    )
