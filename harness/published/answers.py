"""The answer to each printed number: `holds`, `does not hold`, or `cannot be tested here`, with what is proven instead.

Quantities about the optimum (objective, norm, support_vectors, at_bound, test_accuracy) are compared with what is
proven of it; nobody's word counts. The others are measured:

    gap               the relative gap that a method ends with is at most the printed one
    time_ratio        seconds of one method over those of another, both run now, is within a factor of the printed one
    cross_validation  percent right over random folds, drawn several times; the printed one is among what chance gives
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.special import stdtrit

from marginbench.harness.errors import InputError
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.model.problem import Array, Matrix
from marginbench.harness.published.claim import Claim, Range, Statement
from marginbench.harness.published.desk import Case, Desk, Unanswered, Untestable

HOLDS, FAILS, UNTESTABLE, UNANSWERED = "holds", "does not hold", "cannot be tested here", "not answered"

CHANCE = 0.99
"""Probability with which one more draw of folds would fall into the interval that counts as chance."""


WORDS = {
    True: "there is one optimal alpha",
    False: "there is more than one optimal alpha",
    None: "too many rows are on the margin to tell whether alpha is unique",
}


@dataclass(frozen=True)
class Answer:
    claim: str
    statement: str
    verdict: str
    why: str


def check(claim: Claim) -> None:
    """InputError where it is about a quantity that nobody can test, or one that lacks an option."""
    for statement in claim.says:
        if statement.what not in QUANTITIES:
            raise InputError(f"claim {claim.name}: {statement.what}: possible are {', '.join(QUANTITIES)}")
        if set(statement.options) != set(OPTIONS.get(statement.what, ())):
            needed = ", ".join(OPTIONS.get(statement.what, ())) or "no options"
            raise InputError(f"claim {claim.name}: {statement.what}: needs {needed}")


def answers(claim: Claim, desk: Desk) -> Iterator[Answer]:
    """One for each number of the claim."""
    case = Case(claim, desk)
    for statement in claim.says:
        try:
            verdict, why = QUANTITIES[statement.what](case, statement)
        except Untestable as reason:
            verdict, why = UNTESTABLE, str(reason)
        except Unanswered as reason:
            verdict, why = UNANSWERED, str(reason)
        yield Answer(claim.name, str(statement), verdict, why)


Said = tuple[str, str]
"""A verdict, and why."""


def compared(statement: Statement, proven: Range, name: str) -> Said:
    """A printed number with a proven range: it holds if the range, narrower than the digits, has it."""
    printed = statement.stands_for
    if not printed.meets(proven):
        return FAILS, f"proven: {name} in {proven}"
    if proven.width > printed.width:
        return UNTESTABLE, f"only {name} in {proven} is proven, which is wider than the printed digits"
    return HOLDS, f"proven: {name} in {proven}"


def objective(case: Case, statement: Statement) -> Said:
    verdict, why = compared(statement, case.optimum.objective, "P*")
    if verdict != FAILS:
        return verdict, why
    off = float(statement.printed) / statement.factor - case.optimum.objective.low
    return verdict, f"{why}; the printed number is {abs(off) / case.optimum.objective.high:.1e} P* off"


def norm(case: Case, statement: Statement) -> Said:
    return compared(statement, case.optimum.norm, "|w*|")


def count(case: Case, statement: Statement) -> Said:
    """Of multipliers: where there are many optimal ones, a range of counts is right."""
    possible: Range = getattr(case.optimum, statement.what)
    kind = {"support_vectors": "alpha_i > 0", "at_bound": "alpha_i = C_i"}[statement.what]
    unique = WORDS[case.optimum.unique]
    holds = statement.stands_for.meets(possible)
    return HOLDS if holds else FAILS, f"{possible} rows have {kind} at the optimum; {unique}"


def test_accuracy(case: Case, statement: Statement) -> Said:
    held_out = case.data.held_out
    if held_out is None:
        raise InputError(f"claim {case.claim.name}: test_accuracy needs preprocess: test")
    return compared(statement, case.optimum.accuracy(held_out.X, held_out.y), "accuracy in %")


def gap(case: Case, statement: Statement) -> Said:
    method = list(statement.options["method"])
    record = case.measured(method, case.bounds)
    if record.gap is None:
        raise Unanswered(f"{' '.join(method)}: {record.status}, without a gap: {record.message}")
    said = f"{' '.join(method)} ended with a certified gap of {record.gap:.1e}, {record.claim or 'claiming nothing'}"
    return HOLDS if record.gap <= float(statement.printed) else FAILS, said


def time_ratio(case: Case, statement: Statement) -> Said:
    within = float(statement.options["within"])
    records = [case.measured(statement.options[key], Bounds()) for key in ("slower", "faster")]
    seconds = [float(record.solve_seconds or 0.0) for record in records]
    if not seconds[1] > 0.0:
        raise Unanswered("the faster method took no time that the clock can see")
    ratio = seconds[0] / seconds[1]
    said = f"measured {seconds[0]:.3g} s / {seconds[1]:.3g} s = {ratio:.3g}, in one run; within a factor of {within:g}"
    published = float(statement.printed)
    return HOLDS if 1.0 / within <= ratio / published <= within else FAILS, f"{said} it would hold"


def cross_validation(case: Case, statement: Statement) -> Said:
    folds, draws = int(statement.options["folds"]), int(statement.options["draws"])
    X, y = case.data.X, case.data.y
    if case.data.held_out is not None:  # the published test rows are folded in
        X, y = _stacked(X, case.data.held_out.X), np.append(y, case.data.held_out.y)
    found = [_validated(case, X, y, folds, np.random.default_rng(seed)) for seed in range(draws)]
    chance = predicted(found)
    said = f"{draws} draws of {folds} folds gave {min(found):.6g} to {max(found):.6g} %; one more would be in {chance}"
    return HOLDS if statement.stands_for.meets(chance) else FAILS, f"{said} with probability {CHANCE:g}"


def predicted(found: Sequence[float]) -> Range:
    """Student's prediction interval for one more draw: mean -+ t s sqrt(1 + 1/m), t with m - 1 degrees of freedom."""
    m = len(found)
    half = float(stdtrit(m - 1, 0.5 + 0.5 * CHANCE) * np.std(found, ddof=1) * np.sqrt(1.0 + 1.0 / m))
    return Range(float(np.mean(found)) - half, float(np.mean(found)) + half)


def _validated(case: Case, X: Matrix, y: Array, folds: int, rng: np.random.Generator) -> float:
    """Percent of all rows that the optimum on the other folds gets right."""
    fold = rng.permutation(y.size) % folds
    right = 0
    for k in range(folds):
        w, b, *_ = case.solved(X[fold != k], y[fold != k])
        right += int(np.count_nonzero(y[fold == k] * (X[fold == k] @ w + b) > 0.0))
    return 100.0 * right / y.size


def _stacked(X: Matrix, more: Matrix) -> Matrix:
    return sp.vstack([X, more], format="csr") if sp.issparse(X) or sp.issparse(more) else np.vstack([X, more])


QUANTITIES: dict[str, Callable[[Case, Statement], Said]] = {
    "objective": objective,
    "norm": norm,
    "support_vectors": count,
    "at_bound": count,
    "test_accuracy": test_accuracy,
    "gap": gap,
    "time_ratio": time_ratio,
    "cross_validation": cross_validation,
}

OPTIONS = {
    "gap": ("method",),
    "time_ratio": ("slower", "faster", "within"),
    "cross_validation": ("folds", "draws"),
}
"""What a quantity needs beside its number. Methods are overrides of `run`."""
