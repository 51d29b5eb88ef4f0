"""Certificates: what a proposed point is worth, computed from the data and from nothing else.

For a point (w, b, alpha) of a Problem: P(w, b), D of the repaired alpha, the relative gap (P - D) / P, and each KKT
residual. P - D bounds the distance to the optimum by weak duality, so that neither the solver nor its claim has to be
believed. `primal` is P rounded up and `dual` is D rounded down, by what is proven of their rounding error: P* lies
between them, and `gap` is never understated.

The best proven D decides: that of the point's own multipliers, that of a reference, or D(0) = 0.

Hard margin (C = inf). Both sides are scale free: a separating w is scaled to min_i m_i = 1, which gives
P = 1/2 (||w|| / min m)^2; any alpha >= 0 is scaled to its best length, so D = 1/2 (sum alpha / ||w(alpha)||)^2.
No product of an infinite C with a rounding error ever occurs. D also says that no hyperplane has a geometric margin
above 1 / sqrt(2 D): summing alpha_i m_i >= margin ||w|| over i gives ||w|| ||w(alpha)|| >= margin ||w|| sum alpha.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from marginbench.harness.cell.exact_objectives import evaluate_exactly
from marginbench.harness.cell.objectives import UNKNOWN, Evaluated, Interval, U, evaluate
from marginbench.harness.model.bounds import relative_gap
from marginbench.harness.model.feasibility import feasible
from marginbench.harness.model.problem import Array, Point, Problem
from marginbench.harness.model.validity import InvalidPoint, validated

REPAIRABLE = 1e-3
"""Feasibility residual up to which a point may be repaired; beyond it, it is not the answer that was claimed."""

SMALL_BESIDE = 0.05
"""Of the gap, or of the gap that is asked for: a larger rounding error calls for more digits."""

ACCURACY = 1e-12
"""The gap that is asked for where nobody says."""

MODEST = 2.0**450
"""A problem whose rows and whose C are between 1 / MODEST and MODEST has objectives that are floats."""


@dataclass(frozen=True)
class Certificate:
    """Each number is finite, or None where it has no meaning."""

    primal: float | None
    dual: float | None
    gap: float | None
    dual_source: str = ""
    """Whose D it is: `own`, `reference`, or `zero` where D(0) = 0 is better than both."""
    own_dual: float | None = None
    primal_error: float | None = None
    """P is in [primal - primal_error, primal]."""
    dual_error: float | None = None
    """D of the own multipliers is in [own_dual, own_dual + dual_error]."""
    gap_error: float | None = None
    """(P - D) / P is in [gap - gap_error, gap]."""
    kkt_primal: float | None = None
    kkt_dual: float | None = None
    kkt_stationarity: float | None = None
    kkt_complementarity: float | None = None
    margin: float | None = None
    """min_i m_i / ||w||, rounded down, where w separates for certain."""
    mistakes: int = 0
    train_accuracy: float = 0.0
    sv_margin: int = 0
    sv_inside: int = 0
    sv_wrong: int = 0
    violation: float = 0.0
    """The worst of constraint and box, with |sum alpha_i y_i| beside sum |alpha_i|: a sum of n errors grows with n."""
    beyond: str = ""
    """Why nothing can be computed: the problem's numbers leave double precision. Empty where all is well."""

    @property
    def feasible(self) -> bool:
        return self.violation <= REPAIRABLE


class Seen(NamedTuple):
    """What was computed on the way, of the point as given. margins: m_i of (w, b). weights: w(alpha), if it has one."""

    margins: Array
    weights: Array | None


def certify(problem: Problem, point: Point, lower: float = -math.inf, accuracy: float = ACCURACY) -> Certificate:
    """The certificate of `point`; `lower` is a proven lower bound of the optimum, `accuracy` the gap that is asked for.

    Rounding errors well below the gap, or well below `accuracy`, are good enough.
    """
    return look_at(problem, point, lower, accuracy)[0]


def look_at(problem: Problem, point: Point, lower: float, accuracy: float) -> tuple[Certificate, Seen]:
    """`certify`, and what else it has seen."""
    w, b, alpha, xi = validated(problem, point)
    if problem.bias == "none" and b != 0.0:
        raise InvalidPoint(f"b = {b!r}, and the problem has no bias")
    with np.errstate(all="ignore"):
        repaired = None if alpha is None else _repaired(problem, alpha)
        used, intercept = _of_some_length(problem, w, b)
        seen = _evaluated(problem, used, intercept, repaired, lower, accuracy)
        m = seen.margins if used is w else problem.margins(w, b)
        pulled = None if alpha is None or repaired is None else _pulled(problem, alpha, repaired, seen)
        kkt = _residuals(problem, w, b, m, xi, alpha, pulled)
    beyond = "" if _precise(seen.primal, seen.dual, lower, accuracy) else _out_of_range(problem)
    if _unknown(problem, seen.primal) and not beyond:
        raise InvalidPoint(f"w has entries up to {np.abs(w).max():.0e}, of which no objective can be computed")
    margin, mistakes = _separation(problem, w, b, m, seen)
    near = 1e-6 * max(1.0, float(m.max()), -float(m.min()))
    short = int(np.count_nonzero(m < 1.0 - near))
    found = Certificate(
        **_gap(seen.primal, seen.dual, lower),
        **kkt,
        margin=margin,
        mistakes=mistakes,
        train_accuracy=1.0 - mistakes / problem.n,
        sv_margin=int(np.count_nonzero(m <= 1.0 + near)) - short,
        sv_inside=max(0, short - mistakes),
        sv_wrong=mistakes,
        beyond=beyond,
    )
    return found, Seen(m, pulled)


def _repaired(problem: Problem, alpha: Array) -> Array:
    """Feasible exactly. At the hard margin only the direction counts, and along a ray it may be 1e+200 long."""
    if not problem.hard:
        return feasible(problem, alpha)
    power = int(np.frexp(np.abs(alpha).max(initial=0.0))[1])
    return feasible(problem, np.ldexp(alpha, -power))


def _of_some_length(problem: Problem, w: Array, b: float) -> tuple[Array, float]:
    """(w, b); at the hard margin, where only the direction counts, times a power of two if squares would overflow."""
    largest = float(np.abs(w).max(initial=0.0))
    if not problem.hard or largest == 0.0 or 2.0**-300 < largest < 2.0**300:
        return w, b
    power = -int(np.frexp(largest)[1])
    return np.ldexp(w, power), float(np.ldexp(b, power))


def _evaluated(problem: Problem, w: Array, b: float, alpha: Array | None, lower: float, accuracy: float) -> Evaluated:
    """P and D with as many digits as needed."""
    seen = evaluate(problem, w, b, alpha)
    if _precise(seen.primal, seen.dual, lower, accuracy):
        return seen
    primal, dual = evaluate_exactly(problem, w, b, alpha)
    dual = None if dual is None or seen.dual is None else dual.meet(seen.dual)
    return seen._replace(primal=primal.meet(seen.primal), dual=dual)


def _unknown(problem: Problem, primal: Interval) -> bool:
    return primal == UNKNOWN or (not problem.hard and primal.high == math.inf)


def _separation(problem: Problem, w: Array, b: float, m: Array, seen: Evaluated) -> tuple[float | None, int]:
    """(margin, mistakes): min_i m_i / ||w|| rounded down, where w separates for certain, and rows on the wrong side."""
    wrong = int(np.count_nonzero(m <= 0.0))
    if problem.hard:
        if not seen.primal.high < math.inf:
            return None, max(1, wrong)
        size = math.sqrt(2.0 * seen.primal.high)
        return (1.0 / size * (1.0 - 2.0**-50) if size > 0.0 else None), 0
    norm, least = math.sqrt(problem.norm2(w, b)), float(m.min()) - seen.error
    return (least / norm if least > 0.0 and 0.0 < norm < math.inf else None), wrong


def _precise(primal: Interval, dual: Interval | None, lower: float, accuracy: float) -> bool:
    """Whether the rounding error is small beside what is to be shown."""
    if primal.low == math.inf:  # it does not separate, for certain
        return True
    if not primal.high < math.inf:
        return False
    best, error = max(lower, 0.0), primal.width
    if dual is not None:
        error += max(0.0, dual.high - max(dual.low, best))
        best = max(dual.low, best)
    return error <= SMALL_BESIDE * max(primal.high - best, accuracy * primal.high)


def _gap(primal: Interval, dual: Interval | None, lower: float) -> dict:
    """The numbers of a certificate about P, D and the gap."""
    found: dict = {"primal": None, "dual": None, "gap": None}
    if dual is not None and math.isfinite(dual.low):
        found |= {"own_dual": dual.low, "dual_error": dual.width if math.isfinite(dual.width) else None}
    known = [(own, "own") for own in [found.get("own_dual")] if own is not None]
    known += [(lower, "reference")] if math.isfinite(lower) else []
    if known:
        found["dual"], found["dual_source"] = max([*known, (0.0, "zero")], key=lambda pair: pair[0])
    if primal.high < math.inf:
        found |= {"primal": primal.high, "primal_error": primal.width}
    if found["primal"] is None or found["dual"] is None:
        return found
    if dual is not None and primal.high < dual.low:
        raise AssertionError(f"weak duality violated: P <= {primal.high!r} below D >= {dual.low!r}")
    gap = relative_gap(primal.high, found["dual"])
    if gap >= 0.0:  # else P is below the given lower bound: one of the two is false, and there is no gap
        gap = gap if gap in (0.0, 1.0) else min(1.0, gap * (1.0 + 2.0**-50))
        above = dual.high if dual is not None and found["dual_source"] == "own" else found["dual"]
        least = max(0.0, relative_gap(primal.low, above) * (1.0 - 2.0**-50)) if primal.low > above else 0.0
        found |= {"gap": gap, "gap_error": gap - least}
    return found


def _out_of_range(problem: Problem) -> str:
    """What of the problem leaves double precision, in words; "" where nothing does."""
    largest = float(np.abs(problem.X.data if sp.issparse(problem.X) else problem.X).max(initial=0.0))
    if not 1.0 / MODEST <= largest <= MODEST and largest > 0.0:
        return f"the objective leaves double precision: the largest entry of the data is {largest:.0e}; scale the data"
    if not problem.hard and not 1.0 / MODEST**2 <= problem.C <= MODEST**2:
        return f"the objective leaves double precision: C = {problem.C:.0e}; scale the data by t and C by 1/t^2"
    return ""


# -- KKT residuals, of the point as given --------------------------------------------------------------------------


def _pulled(problem: Problem, alpha: Array, repaired: Array, seen: Evaluated) -> Array:
    """w(alpha); that of the repaired one where the difference is below the rounding of w(alpha) itself."""
    repair = np.abs(alpha - repaired).sum()
    same = not problem.hard and repair <= 4.0 * U * repaired.sum()
    return seen.weights if same and seen.weights is not None else problem.weights(alpha)


def _residuals(
    problem: Problem, w: Array, b: float, m: Array, xi: Array | None, alpha: Array | None, pulled: Array | None
) -> dict:
    kkt_primal = _primal_residual(problem, m, xi)
    found: dict = {"kkt_primal": kkt_primal, "violation": 0.0 if problem.hard else kkt_primal or 0.0}
    if alpha is not None and pulled is not None:
        outside, balance = _dual_residuals(problem, alpha)
        found |= {
            "kkt_dual": max(outside, balance),
            "kkt_stationarity": _stationarity(problem, w, b, alpha, pulled),
            "kkt_complementarity": _complementarity(problem, m, alpha),
            "violation": max(found["violation"], outside, balance / max(1.0, _mass(problem, alpha))),
        }
    return {
        name: value if value is None or math.isfinite(value) else None if name != "violation" else math.inf
        for name, value in found.items()
    }


def _primal_residual(problem: Problem, m: Array, xi: Array | None) -> float | None:
    if problem.hard:
        return float(np.maximum(0.0, 1.0 - m).max())
    return None if xi is None else float(np.maximum.reduce([1.0 - m - xi, -xi, np.zeros_like(m)]).max())


def _dual_residuals(problem: Problem, alpha: Array) -> tuple[float, float]:
    """How far alpha is outside the box, and how far from sum alpha_i y_i = 0, both over max(1, C)."""
    scale = _scale(problem, alpha)
    if problem.weight is not None:
        above = float((alpha - problem.upper).max())
    else:
        above = float(alpha.max()) - problem.C if problem.loss == "hinge" else 0.0
    outside = max(0.0, -float(alpha.min()), above) / scale
    return outside, abs(float(alpha @ problem.y)) / scale if problem.bias == "free" else 0.0


def _scale(problem: Problem, alpha: Array) -> float:
    return max(1.0, problem.C if not problem.hard else float(np.abs(alpha).max()))


def _mass(problem: Problem, alpha: Array) -> float:
    """sum |alpha_i|, in units of the same scale."""
    return float(np.abs(alpha).sum()) / _scale(problem, alpha)


def _stationarity(problem: Problem, w: Array, b: float, alpha: Array, pulled: Array) -> float:
    """||w - w(alpha)||_inf / max(1, ||w||_inf). With a kernel w has no coordinates: the norm is ||.|| of its space, and
    that of coefficients would tell apart two that are the same w where rows repeat."""
    if problem.kernel is not None:
        away = problem.norm2(w - pulled, b - problem.s * problem.s * float(alpha @ problem.y))
        return math.sqrt(max(0.0, away)) / max(1.0, math.sqrt(max(0.0, problem.norm2(w, b))))
    difference = np.abs(w - pulled).max(initial=0.0)
    if problem.bias == "augmented":
        difference = max(difference, abs(b / problem.s - problem.s * float(alpha @ problem.y)))
    return float(difference / max(1.0, np.abs(w).max(initial=0.0)))


def _complementarity(problem: Problem, m: Array, alpha: Array) -> float:
    t = 1.0 - m
    beyond = np.maximum(0.0, -t)
    beyond *= alpha
    worst = max(0.0, float(beyond.max()))
    if problem.hard:
        return worst / max(1.0, float(alpha.max()))
    inside = np.maximum(0.0, t)
    if problem.loss == "hinge":
        inside *= (problem.C if problem.weight is None else problem.penalty) - alpha
    else:
        inside *= np.abs(alpha - 2.0 * problem.penalty * inside)
    return max(worst, float(inside.max())) / max(1.0, problem.C)
