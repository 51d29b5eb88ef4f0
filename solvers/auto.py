"""A choice between two solvers of BoxDual, not a third algorithm: coordinate descent, or Newton (`newton_augmented`).

First choice  by the predicted times of both (`choice.py`): a linear model, fitted on half of a seeded family of random
              problems and judged on the other half. Coordinate descent where C is so small that it begins not far
              from the answer. With a free bias, which coordinate descent needs multiplier steps for, Newton, unless
              its system is large or there are fewer rows than columns.
Handing over  The decay of coordinate descent's own estimate of the gap predicts how many epochs it still needs. Once
              those would cost more than Newton from the point reached, Newton takes over there. Beyond 3000 it takes
              over when coordinate descent has visited so many rows that it is plainly stuck (`MOST_VISITS`), or,
              near the end, many more without getting further; and where C is so large that coordinate descent
              ends at what rounding leaves (`ROUNDED`).
Kernel        Newton up to n = 3000, beyond it coordinate descent.
Costs         in nanoseconds, from counts alone, so that the choice is the same in every run:
                  visit     2.5 for each non-zero of the row (1 of a dense one) and 40
                  Newton    40 nnz + 200 n (dense rows: 20 nnz + 100 n) + 2.2 D^3 + 6e5, D = min(n, d); or
                            what `choice.py` predicts, where that is less. The count is right for few columns of
                            real data (a9a, splice, ijcnn1), where random ones of the same size take two or three
                            times as long; from D = 200 on it is up to 30 times too large.

Each iterate says which solver made it, why, and what the choice was made from and between (`picked`, `why`,
`features`, `between`); features are told where the model chose. A problem may be solved in a tenth of a millisecond:
what an iterate does not need is made after it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import exp, log

import numpy as np

from marginbench.harness.model.kernel_dual import KernelDual
from marginbench.harness.model.needs import Need
from marginbench.harness.model.programs import BoxDual, Program
from marginbench.harness.model.solver import Iterate, Solver, Start
from marginbench.harness.rowops import CSR
from marginbench.solvers.choice import COEFFICIENTS, advantage, features_of, newton_nanoseconds
from marginbench.solvers.coordinate_descent.descent import at_bound
from marginbench.solvers.coordinate_descent.solver import AT_BOUND, CoordinateDescent
from marginbench.solvers.newton.augmented import NewtonAugmented, rows_of_numbers
from marginbench.solvers.newton.rounding import EPSILON, FELT
from marginbench.solvers.newton.systems import DIRECT, FACTORISED, direct_by_cost, reach_of

BELIEVED_AFTER, WHERE_PREDICTED = 0.25, 1.0
"""Share of a Newton solve that coordinate descent may cost before its slowness is believed: where that solve is
counted, and where it is predicted or rows are fewer than columns (colon_cancer at C = 0.01: both take 3 ms). At a large
C the first epochs predict nothing (text, wide at C = 100: done in 40 and 75 epochs, where the first 13 predicted a
million), and Newton can take far longer than predicted (number 184 of the family: 800 ms, where coordinate descent is
done in 90)."""
NEAR_BOUND = 60.0
"""n times the reach (which no margin exceeds where rows are of one length) below which coordinate descent goes first
whatever is predicted: alpha = u, where it begins, is the answer below 1, and some passes from it here (11068 x 2 of the
family, number 248: 0.8 ms, where Newton takes 4.5; fourclass at C = 0.01 and 0.1: a fifth and a half of its time)."""
FEW_ROWS, FREE_BIAS = 200, 2.0
"""With a free bias: rows from which on coordinate descent goes first where they are fewer than columns (wide and
svmlight_ex1 at C = 1: a seventh and a quarter of Newton's time; dorothea; numbers 31 and 49 of the family), and how
many times as long Newton takes (these and numbers 6 and 143: 1.1 to 4)."""
MOST_VISITS = 0.15
"""Rows that coordinate descent may visit where Newton needs conjugate gradients, in units of d min(n, d): on text of
5000 to 20000 columns at C = 1e4 Newton visits 3. News20 at C = 1e4 is done with 0.04, text_large at C = 100 and a free
bias with 0.1; what needs more is not done with much more (text_large at C = 1000: a gap of 1 % with 1.1)."""
PATIENT_UP_TO = 100.0
"""The reach beyond which those are fewer, by its root, where there are more rows than columns: text_large at C = 1e4 is
far from done with ten times as many (6 s of 8 were lost). With fewer rows they may well be separable (news20)."""
GIVES_WAY = "coordinate descent has visited as many rows as it may, {:.2g} d min(n, d)"
WAIT, STANDS = 1.6, 0.6
STALLED = "coordinate descent has visited 60 % more rows, and more than 60 % of the gap are left"
"""When it is looked at again, in visits, first after 30 n of them, and the share of the gap. Counts and text with steps
on the face that no longer help, at gaps of 1e-3 to 1e-4, where Newton needs a third of a second from nothing (numbers
194, 198 and 242 of the family). Far from the end the gap may well stand still."""
SPAN, AGAIN = (1.1, 1.25), 1.0
"""Coordinate descent does not give way for what it has cost while it comes to its end: at the rate of the last visits,
by which their number grew by a tenth to a quarter, a gap of 1e-6 is no further than it has come. On a face that is
right a gap of 0.1 may be four fifths of the way (numbers 183 and 223 of the family; Newton needs more than 2 s)."""
ROUNDED = "at this C the rounding of margins is felt, which Newton's last step allows for"
"""leukemia at C = 1e6 without bias: coordinate descent comes to rest at a certified 8e-8."""
SLOWER = 2.0
"""Epochs that coordinate descent needs, beside those that its decay so far predicts: it slows down (mushrooms)."""
FINISH = 0.4
"""Cost of what is left for Newton from the point of coordinate descent, in units of a whole solve."""
NEAR, NEAR_ENOUGH = 0.05, 1.0
"""Relative gap below which the point of coordinate descent is a better start for Newton than its own, by conjugate
gradients and by dense systems: these can do with w alone (`newton/starts.py`)."""
SOON, FIRST_DIGITS = 0.1, 1e-3
"""Share of a Newton solve that coordinate descent may take to a gap of 1e-3 before it gives way, where that is less
than a digit away: Newton has to begin first (spambase_standard at C = 0.01 was handed over at 2e-3, two epochs before
it: 0.62 of the time to 1e-3, 1.08 of that to 1e-6)."""
BETWEEN = "coordinate_descent newton_augmented"
"""The two, in the order of `advantage`: noted beside the features, so that a choice can be judged from records."""
SPARED = 1e5
"""Nanoseconds that coordinate descent may take before it is asked whether it is slow: no Newton solve is as short."""
FIRST = AT_BOUND | {
    "picked": "coordinate_descent",
    "why": "at so small a C alpha = u is worth a look before anything is chosen",
    "features": "",
    "between": BETWEEN,
}
"""Told with the first iterate where that is alpha = u: one pass, often the answer, and nothing else is made for it."""
WRITTEN = " ".join(["%.6g"] * len(COEFFICIENTS))
"""The features, beside an iterate: `repr` takes longer."""


@dataclass(frozen=True)
class Auto(Solver):
    """seed: of the order of the coordinates and of Newton's first samples."""

    seed: int = 0

    accepts = (BoxDual, KernelDual)
    rows_of_kernel = True
    baseline = True
    single = True

    def warm_up(self, program: Program) -> None:
        if isinstance(program, KernelDual):
            self._with_kernel(program)[0].warm_up(program)
            return
        assert isinstance(program, BoxDual)
        CoordinateDescent(self.seed).warm_up(program)
        NewtonAugmented(self.seed).warm_up(program)
        next(self.iterates(program.head(64)))

    def needs(self, program: Program) -> Need | None:
        """For each row; coordinate descent keeps as many numbers as Newton does. What Newton's matrix takes is no need:
        where that is large, coordinate descent goes first."""
        return rows_of_numbers(program) if isinstance(program, BoxDual) else None

    def _with_kernel(self, program: KernelDual) -> tuple[Solver, str, str]:
        """The solver for a kernel, its name, and why."""
        newton = NewtonAugmented(self.seed)
        if not isinstance(program.K, np.ndarray):
            return CoordinateDescent(self.seed), "coordinate_descent", "the kernel matrix does not fit into memory"
        if against := newton.refuses(program):
            return CoordinateDescent(self.seed), "coordinate_descent", against
        if program.n > DIRECT:
            return CoordinateDescent(self.seed), "coordinate_descent", f"n = {program.n} is beyond {DIRECT}"
        return newton, "newton_augmented", "a kernel matrix of moderate size"

    def iterates(self, program: Program, start: Start | None = None) -> Iterator[Iterate]:
        if isinstance(program, KernelDual):
            solver, picked, reason = self._with_kernel(program)
            made = solver.iterates_from(program, start)
            yield from (labelled(iterate, picked, reason) for iterate in made)
            return
        assert isinstance(program, BoxDual)
        w = at_bound(program) if start is None else None
        if w is not None:
            yield Iterate(program.upper, w, info=FIRST, look=True)
        against = NewtonAugmented(self.seed).refuses(program) if program.curvature.any() else None
        reach, known, costs = reach_of(program), "", None
        if against or (near := begins_near(program, reach)):
            descent_first, why = True, against or near
        else:
            given = features_of(program, reach)
            descent_first, why = first_choice(program, given)
            known = WRITTEN % given
        if descent_first:
            for iterate in CoordinateDescent(self.seed).descend(program, start, w):
                rounded = bool(iterate.claim) and not against and rounding_is_felt(program, iterate)
                yield labelled(replace(iterate, claim="") if rounded else iterate, "coordinate_descent", why, known)
                if costs is None and not rounded and visits_cost(program, iterate.info["visits"]) < SPARED:
                    continue
                costs = costs or Costs(program, reach)
                verdict = ROUNDED if rounded else "" if against else costs.slow(iterate)
                if verdict:
                    break
            else:
                return
            why, start = verdict, None
            if iterate.info["estimate"] < costs.near and iterate.x is not None and iterate.dual is not None:
                start = Start(iterate.x.copy(), iterate.dual.copy(), 0.0)
        for iterate in NewtonAugmented(self.seed).iterates(program, start):
            yield labelled(iterate, "newton_augmented", why, known, look=True)


def rounding_is_felt(program: BoxDual, iterate: Iterate) -> bool:
    """Whether margins that rounding leaves below 1 cost more than `FELT` of P, which is at least ||w||^2 / 2 and at
    least D: at a tiny C (number 46 of the family) that is most of it."""
    alpha, w = iterate.x, iterate.dual
    if alpha is None or w is None or program.curvature.any():
        return False
    half = 0.5 * float(w @ w)
    return FELT * max(half, float(alpha.sum()) - half) < EPSILON * float(program.upper.sum()) < np.inf


def begins_near(program: BoxDual, reach: float) -> str:
    """Why coordinate descent goes first whatever is predicted, or nothing (`NEAR_BOUND`)."""
    if program.equality or program.n * reach >= NEAR_BOUND:
        return ""
    return "at so small a C coordinate descent begins not far from the answer"


def first_choice(program: BoxDual, given: tuple[float, ...]) -> tuple[bool, str]:
    """Whether coordinate descent goes first, and why. given: the features of the program."""
    if program.equality:
        if min(program.n, program.d) > DIRECT:
            return True, f"free bias, and min(n, d) = {min(program.n, program.d)} is beyond a dense Newton system"
        if FEW_ROWS < program.n < program.d:
            return True, f"free bias, and n = {program.n} is less than d"
        return False, "free bias, and a Newton system of moderate size"
    times = exp(min(max(advantage(given), -7.0), 7.0))
    if times < 1.0:
        return True, f"coordinate descent is predicted to take {times:.2g} times as long as Newton"
    return False, f"Newton is predicted to take {1.0 / times:.2g} times as long as coordinate descent"


def visits_cost(program: BoxDual, visits: int) -> float:
    """Nanoseconds of coordinate descent."""
    entry = 2.5 if isinstance(program.rows, CSR) else 1.0
    return visits * (entry * program.nnz / program.n + 40.0)


class Costs:
    """What coordinate descent and Newton cost, in nanoseconds from counts alone."""

    def __init__(self, program: BoxDual, reach: float) -> None:
        sparse, size = isinstance(program.rows, CSR), min(program.n, program.d)
        beyond = reach / PATIENT_UP_TO if program.n > program.d else 1.0
        self.large, self.share = size > DIRECT, MOST_VISITS / max(1.0, beyond) ** 0.5
        self.most_visits = self.share * program.d * size
        by_products = direct_by_cost(program.n, program.d, program.nnz, sparse, reach) == 0
        self.near = NEAR if self.large or by_products else NEAR_ENOUGH
        passes, each = (40.0, 200.0) if sparse else (20.0, 100.0)
        self.row = visits_cost(program, 1)
        counted = passes * program.nnz + each * program.n + FACTORISED * size**3 + 6e5
        predicted = newton_nanoseconds(features_of(program, reach))
        if program.equality:
            counted, predicted = FREE_BIAS * counted, FREE_BIAS * predicted
        self.newton = min(counted, predicted)
        self.believed = BELIEVED_AFTER if counted < predicted and program.n >= program.d else WHERE_PREDICTED
        self.multipliers = program.equality
        self.looked_at, self.estimate = 30 * program.n, 0.0
        self.mark, self.ends = (program.n, np.inf), False

    def slow(self, iterate: Iterate) -> str:
        """Why coordinate descent should give way, or nothing."""
        ends = self.comes_to_its_end(iterate.info["visits"], iterate.info["estimate"])
        if self.large:
            many = iterate.info["visits"] > self.most_visits and not ends
            return GIVES_WAY.format(self.share) if many else self.stalled(iterate)
        spent = self.row * iterate.info["visits"]
        more = 0.0 if self.multipliers else SLOWER * iterate.info["remaining"]  # with these the gap is not monotone
        late = more * self.row * iterate.info["active"] > FINISH * self.newton and spent > self.believed * self.newton
        if late and not self.soon(iterate.info["estimate"], more * self.row * iterate.info["active"]):
            return f"coordinate descent would need {min(more, 1e6):.0f} more epochs, more expensive than Newton"
        return "coordinate descent has cost as much as Newton would" if spent > self.newton and not ends else ""

    def comes_to_its_end(self, visits: int, estimate: float) -> bool:
        """Whether 1e-6 is near at the rate of the last visits (`SPAN`)."""
        before, then = self.mark
        fall = log(then / estimate) if 0.0 < estimate < then < np.inf else 0.0
        if visits >= SPAN[0] * before:
            self.ends = estimate <= 1e-6 or (visits - before) * log(estimate / 1e-6) <= AGAIN * visits * fall
        if visits >= SPAN[1] * before:
            self.mark = visits, estimate
        return self.ends

    def soon(self, estimate: float, cost: float) -> bool:
        """Whether `FIRST_DIGITS` are near and cheap. cost: of what is left to 1e-6."""
        if not FIRST_DIGITS < estimate < 10.0 * FIRST_DIGITS:
            return False
        return cost * log(estimate / FIRST_DIGITS) < SOON * self.newton * log(estimate / 1e-6)

    def stalled(self, iterate: Iterate) -> str:
        """Near the end, and many rows more have brought it no further (`STALLED`)."""
        visits, estimate, before = iterate.info["visits"], iterate.info["estimate"], self.estimate
        if self.multipliers or visits < WAIT * self.looked_at:
            return ""
        self.looked_at, self.estimate = visits, estimate
        return STALLED if 1e-9 < estimate < NEAR and estimate > STANDS * before > 0.0 else ""


def labelled(iterate: Iterate, picked: str, why: str, features: str = "", look: bool = False) -> Iterate:
    """By hand, where `replace` would do: that takes twice as long, for each iterate."""
    said = {"picked": picked, "why": why, "features": features, "between": BETWEEN}
    return Iterate(iterate.x, iterate.dual, iterate.claim, iterate.said, {**iterate.info, **said}, iterate.look or look)
