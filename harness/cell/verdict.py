"""The verdict on an answer: a status and a sentence, from the certificate. The claim can only make it worse."""

import math

import numpy as np

from marginbench.harness.cell.certificate import Certificate, certify
from marginbench.harness.cell.hulls import proven_to_meet
from marginbench.harness.cell.measure import Budget
from marginbench.harness.cell.tracing import Snapshot, Trace
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.model.formulation import Formulation
from marginbench.harness.model.problem import Array, Point, Problem

IMPOSSIBLE = ("infeasible", "unbounded")
"""Claims that a hard margin has no solution."""

NEARLY = 1e-3
"""||sum mu_i y_i x_i|| beside the largest row, up to which a mu is the solver's own proof but for its rounding. The
proof is then looked for on the rows that carry it. Beyond, finding one would be the harness's work."""

SPENT = "was spent"
"""The last words of a row that the budget ended."""


def verdict(
    formulation: Formulation, problem: Problem, answer: Snapshot, result: Trace, budget: Budget, known: Bounds
) -> tuple[str, str]:
    """(status, message) of an answer to `problem`."""
    found, claim = answer.certificate, answer.claim
    if found.beyond:
        return "inaccurate", f"cannot be judged, by the problem's numbers: {found.beyond}"
    if contradiction := known.contradiction(_own_bounds(found)):
        whose = "the stored reference" if known.source == "stored" else "the reference computed for this run"
        return "wrong", f"contradicts {whose}: {contradiction}"
    if formulation.judge == "separation":
        return _verdict_of_separation(found, claim, problem, known)
    if problem.hard and (found.primal is None or claim in IMPOSSIBLE):
        return _verdict_without_separator(formulation, problem, answer, known)
    if claim in IMPOSSIBLE:
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
            return "timeout", f"right, but only after {answer.seconds:.3g} s; the budget was {budget.seconds:g} s"
        return "solved", _false_claims(result, budget, answer)
    own = answer.evaluation.own_residual
    if not formulation.exact and own is not None and own <= budget.gap:
        return "inaccurate", f"gap {found.gap:.1e}: its own program is solved to {own:.0e}, the rest is the smoothing"
    if claim == "converged" and found.gap > max(budget.gap, budget.wrong_gap):
        return "wrong", f"claimed convergence at a certified gap of {found.gap:.1e}"
    return "inaccurate", _why_short(found, result, budget, answer)


def _own_bounds(found: Certificate) -> Bounds:
    lower = -math.inf if found.own_dual is None else found.own_dual
    return Bounds(lower, math.inf if found.primal is None else found.primal)


def _why_short(found: Certificate, result: Trace, budget: Budget, answer: Snapshot) -> str:
    reason = {
        "seconds": f"the budget of {budget.seconds:g} s {SPENT}",
        "iterations": f"the budget of {budget.iterations} iterations {SPENT}",
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


# -- hard margin, no separating point ----------------------------------------------------------------------------


def _verdict_without_separator(
    formulation: Formulation, problem: Problem, answer: Snapshot, known: Bounds
) -> tuple[str, str]:
    """`infeasible` needs multipliers of the solver that are a proof but for rounding, and the proof itself.

    A solver that says nothing may have proven it on its way. One that claims an optimum has not.
    """
    found, claim = answer.certificate, answer.claim
    if claim == "failed":
        return "failed", answer.said or "the solver says that it failed"
    r, mu = _nearest_to_a_proof(problem, answer)
    proposes_it = r <= NEARLY and (claim != "converged" or formulation.always_solvable)
    claims_it = claim in IMPOSSIBLE or proposes_it
    if not claims_it:
        said = f"does not separate the data; {found.mistakes} of {problem.n} rows misclassified"
        said += ": nothing separates them, the hulls of the classes meet" if known.infeasible else ""
        return ("wrong", f"claimed {claim}, but {said}") if claim == "converged" else ("inaccurate", said)
    if found.primal is not None:
        return "wrong", f"claimed {claim}, but its own hyperplane separates the data, with margin {found.margin:.1e}"
    if known.upper < math.inf:
        return "wrong", f"claimed {claim}, but a known hyperplane separates the data: P* <= {known.upper:.6g}"
    if mu is not None and r <= NEARLY:
        if proven_to_meet(problem, mu):
            return "infeasible", "proven: the hulls of the classes meet"
        return (
            "inaccurate",
            f"claimed {claim or 'nothing'}; proven is that no geometric margin is above {r:.0e} of the largest row",
        )
    if known.infeasible:
        return "inaccurate", f"claimed {claim}, as a reference proves, but gave no proof"
    return "wrong", f"claimed {claim}, but neither separates the data nor proves that nothing does"


def _nearest_to_a_proof(problem: Problem, answer: Snapshot) -> tuple[float, Array | None]:
    """(r, mu) of the solver's multipliers: no geometric margin is above r times the largest row."""
    best, chosen = math.inf, None
    for mu in (answer.evaluation.mu, answer.evaluation.point.alpha):
        if mu is None or not np.isfinite(mu).all() or not (mu > 0.0).any():
            continue
        dual = certify(problem, Point(np.zeros(problem.d), 0.0, mu)).own_dual
        r = 0.0 if dual is None else math.inf if dual <= 0.0 else 1.0 / math.sqrt(2.0 * dual) / problem.radius
        if r < best:
            best, chosen = r, mu
    return best, chosen
