"""What `auto` predicts of two solvers: linear models of the logarithms of their times, fitted on random problems.

    advantage = log(time of coordinate descent / time of Newton), to a gap of 1e-6,  ~  COEFFICIENTS . features
    newton    = log(nanoseconds of Newton), to a gap of 1e-6,                        ~  NEWTON . features

The features are counts and one sample, so that the choice is the same in every run:
    n, D = min(n, d), non-zeros of a row, whether rows are sparse, and the reach r (`newton/systems.py`), the mean of
    u_i ||x_i||^2 over some rows: the box of a row in units of its first step from 0, 1 / ||x_i||^2.

COEFFICIENTS are of about 130 problems, those in even blocks of four among the first 270 or so of `datasets/family.py`:
both solvers by turns, CPU time of the best of three forked processes. The first 199 were timed before coordinate
descent could start at the bound, and constants of `auto` were chosen with an eye on the other half: what is measured
there flatters. NEWTON is of the even blocks among all 320, on a busy machine; its first number is by another run of
them on a quieter one, for the 85 problems that the model chooses for. So are the last numbers of both, for dense rows
about as many as columns: 3 problems, on which Newton took up to 6 times as long as predicted. Fitted to that run alone,
COEFFICIENTS were wrong by 1.4 or more on 2 of the 85, where these, without the last, are on 9, and on 7 of the 76 in
the odd blocks that were timed by then, where these are on 3. On those NEWTON is off by a factor of 2.2 (one standard
deviation; by 1.4 too low on average). To judge and to fit again:

    marginbench run experiment=choice
    marginbench choice results/latest
"""

from collections.abc import Sequence
from math import exp, log

from marginbench.harness.model.programs import BoxDual
from marginbench.harness.rowops import CSR

COEFFICIENTS = (0.564, 0.099, -0.202, 0.349, -0.397, -0.052, 0.126, 0.164, 0.092, 0.498, -0.387, -0.066, -0.2)
NEWTON = (7.229, 0.832, 0.701, -0.381, 0.328, -0.251, 0.175, 0.069, -0.016, 0.132, -0.019, 0.074, 0.117)


def features(n: int, d: int, nnz: int, sparse: bool, reach: float) -> tuple[float, ...]:
    """Of a problem: logarithms of what the times are products of. Beyond 1000 times the box, reach tells no more."""
    r, shape = log(min(max(reach, 1e-3), 1e3)), log(min(max(n / d, 0.1), 50.0))
    short, beyond, size = min(r, 0.0), max(r, 0.0), log(min(n, d))
    counts = 1.0, log(n), size, 0.1 * size**2, log(max(nnz, 1) / n), shape
    square = 0.0 if sparse else beyond * max(0.0, 1.0 - abs(log(n / d)))
    return *counts, short, beyond, beyond * shape, float(sparse), sparse * size, sparse * beyond, square


def features_of(program: BoxDual, reach: float) -> tuple[float, ...]:
    return features(program.n, program.d, program.nnz, isinstance(program.rows, CSR), reach)


def advantage(given: Sequence[float]) -> float:
    """The predicted log(time of coordinate descent / time of Newton)."""
    return sum(c * f for c, f in zip(COEFFICIENTS, given, strict=True))


def newton_nanoseconds(given: Sequence[float]) -> float:
    """What a whole solve by Newton is predicted to take."""
    return exp(sum(c * f for c, f in zip(NEWTON, given, strict=True)))
