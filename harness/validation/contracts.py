"""What every solver promises, whatever it solves. Each contract is a function of a `Testbed`, a line of the scorecard.

It returns a sentence when the contract holds, raises `Broken` when not and `NotApplicable` where it means nothing.
Symmetries: a transformed problem has an optimum that follows from the original's. A solver that is right answers the
transformed one, and its answer, taken back, is as good for the original as was promised; or, where it is slow, as good
as its answer to the original after as many iterates.
"""

import gc
import os
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import islice

import numpy as np
import scipy.sparse as sp

from marginbench.harness.model.problem import InputError, Matrix, Point
from marginbench.harness.model.programs import BoxDual, RegularisedRisk
from marginbench.harness.validation.clock_contracts import CLOCK_CONTRACTS
from marginbench.harness.validation.probes import (
    TASKS,
    arrays,
    children,
    fingerprint,
    first_line,
    global_random_state,
    same,
)
from marginbench.harness.validation.start_contract import warm_start
from marginbench.harness.validation.testbed import (
    LOST,
    SLACK,
    STEPS,
    Broken,
    NotApplicable,
    Refused,
    Testbed,
    started,
)

PROMPT = 1.0
"""Seconds within which a solver that is told to stop has stopped."""

Contract = Callable[[Testbed], str]


# -- randomness and state -----------------------------------------------------------------------------------------


def deterministic(bed: Testbed) -> str:
    """The same bits under a seed, whatever the global random state is."""
    if not bed.solver().deterministic:
        raise NotApplicable("it does not promise the same bits")
    found = []
    for state in (1, 2):
        with global_random_state(state):
            found.append(bed.steps(bed.solver(), bed.program(bed.problem())))
    if not same(*found):
        raise Broken("two runs with the same seed differ: its random numbers come from elsewhere")
    return "the same bits twice"


def seed(bed: Testbed) -> str:
    if not hasattr(bed.solver(), "seed"):
        raise NotApplicable("it has no seed")
    found = [bed.steps(bed.solver(seed=value), bed.program(bed.problem())) for value in (1, 2)]
    if same(*found):
        raise NotApplicable("the seed changes nothing in this setting")
    return "another seed, other iterates"


def random_state(bed: Testbed) -> str:
    with global_random_state(1):
        before = fingerprint()
        bed.steps(bed.solver(), bed.program(bed.problem()))
        if fingerprint() != before:
            raise Broken("it draws from or sets the global random state, which other code shares")
    return "the global random state is as it was"


def data_untouched(bed: Testbed) -> str:
    for X in layouts(bed):
        program = bed.program(bed.problem(X, bed.data()[1]))
        before = {name: array.tobytes() for name, array in arrays(program)}
        bed.steps(bed.solver(), program)
        for name, array in arrays(program):
            if array.tobytes() != before[name]:
                raise Broken(f"{name} of the program is not what it was")
    return "every array of the program is what it was"


def no_stale_state(bed: Testbed) -> str:
    """One object on problems B, A and B again: A is solved, and B takes the same steps as at first."""
    A, B, one = bed.problem(), bed.problem(*bed.data(1)), bed.solver()
    first = bed.steps(one, bed.program(B))
    bed.errors(B, one)
    errors = bed.answers(A, solver=one)
    bed.errors(A, one)
    if one.deterministic and not same(first, bed.steps(one, bed.program(B))):
        raise Broken("a problem is solved differently after another one")
    return bed.kept(errors)


def unstored_problem(bed: Testbed) -> str:
    """A problem whose optimum no file has: it is solved as the stored ones are."""
    errors = bed.own
    if errors[-1] > SLACK * bed.subject.accuracy:
        if len(errors) > STEPS and errors[-1] <= 0.9 * errors[len(errors) // 2]:
            raise NotApplicable(f"time ended it on its way, at a relative error of {errors[-1]:.0e}")
        raise Broken(f"the answer has a relative error of {errors[-1]:.0e}")
    return bed.kept(errors)


# -- symmetries ---------------------------------------------------------------------------------------------------


def row_permutation(bed: Testbed) -> str:
    X, y = bed.data()
    order = np.random.default_rng(1).permutation(y.size)
    return bed.kept(bed.answers(bed.problem(X[order], y[order])))


def label_swap(bed: Testbed) -> str:
    X, y = bed.data()
    return bed.kept(bed.answers(bed.problem(X, -y), back=lambda p: Point(-p.w, -p.b)))


def feature_permutation(bed: Testbed) -> str:
    X, y = bed.data()
    order = np.random.default_rng(2).permutation(X.shape[1])
    return bed.kept(bed.answers(bed.problem(X[:, order], y), back=lambda p: Point(p.w[np.argsort(order)], p.b)))


def row_duplication(bed: Testbed) -> str:
    """Every row twice at half the price."""
    X, y = bed.data()
    C = bed.setting.problem["C"] / 2.0
    return bed.kept(bed.answers(bed.problem(np.vstack([X, X]), np.append(y, y), C=C)))


def scaling(bed: Testbed) -> str:
    """x -> t x, s -> t s, C -> C / t^2 gives w -> w / t, the same b and P -> P / t^2."""
    X, y = bed.data()
    t = 0.5
    problem = bed.problem(t * X, y, C=bed.setting.problem["C"] / t**2, s=t)
    return bed.kept(bed.answers(problem, back=lambda p: Point(t * p.w, p.b)))


# -- layouts of the data ------------------------------------------------------------------------------------------


def layouts(bed: Testbed) -> tuple[Matrix, Matrix]:
    X, _ = bed.data()
    return X, sp.csr_array(X)


def dense_and_sparse(bed: Testbed) -> str:
    """The same answer for an array and for a CSR matrix."""
    y = bed.data()[1]
    return max(bed.kept(bed.answers(bed.problem(X, y))) for X in layouts(bed))


def float32(bed: Testbed) -> str:
    return given_directly(bed, lambda X: X.astype(np.float32))


def fortran_order(bed: Testbed) -> str:
    return given_directly(bed, lambda X: X if sp.issparse(X) else np.asfortranarray(X))


def non_contiguous(bed: Testbed) -> str:
    return given_directly(bed, lambda X: X if sp.issparse(X) else np.repeat(X, 2, axis=1)[:, ::2])


def given_directly(bed: Testbed, change: Callable[[Matrix], Matrix]) -> str:
    """Data of a layout that the harness itself never gives, but that a notebook may."""
    found, refused = "", ""
    for X in layouts(bed):
        problem = bed.problem(X, bed.data()[1])
        program = bed.program(problem)
        if not isinstance(program, BoxDual | RegularisedRisk):
            raise NotApplicable("the program has matrices of its own; formulations write them in one layout")
        try:
            found = bed.kept(bed.answers(problem, replace(program, X=change(program.X))))
        except (InputError, TypeError, ValueError) as error:  # a refusal in words
            refused = str(error)
        except Refused as error:
            refused = str(error)
    return found or f"refused: {refused.splitlines()[0][:120]}"


# -- what it accepts, and how it ends -----------------------------------------------------------------------------


def degenerate_data(bed: Testbed) -> str:
    """Accepted programs of the smallest and emptiest kind do not break it."""
    X, y = bed.data()
    empty_row, empty_column = X.copy(), X.copy()
    empty_row[0], empty_column[:, 0] = 0.0, 0.0
    cases = {
        "two rows": (X[:2], y[:2]),
        "one feature": (X[:, :1], y),
        "a row of zeros": (empty_row, y),
        "a column of zeros": (empty_column, y),
        "more features than rows": (X[:4], y[:4]),
        "one class": (X[y > 0], y[y > 0]),
    }
    refused = []
    for name, (X, y) in cases.items():
        try:
            with started(solver := bed.solver(), program := bed.program(bed.problem(X, y))) as iterates:
                found = [np.asarray(it.x) for it in islice(iterates, 3) if it.x is not None]
        except Refused:
            refused.append(name)
            continue
        except Exception as error:
            raise Broken(f"{name}: {first_line(error)}") from None
        if not all(np.isfinite(x).all() for x in found):
            raise Broken(f"{name}: {type(solver).__name__} gives NaN or infinity for a {type(program).__name__}")
    return f"refused: {', '.join(refused)}" if refused else "broke on none of " + ", ".join(cases)


def ends_with_its_best(bed: Testbed) -> str:
    """The point it ends with is about as good as the best it was seen to have; of restarts, the best one counts."""
    if bed.solver().restarts:
        raise NotApplicable("its iterates are restarts, of which the best one counts")
    errors = bed.errors(bed.problem(), bed.solver())
    best, end = min(errors, default=np.inf), errors[-1] if errors else np.inf
    if end > max(bed.subject.accuracy, LOST * best):
        raise Broken(f"ends with a relative error of {end:.0e} after one of {best:.0e}")
    return f"ends with a relative error of {end:.0e}; the smallest on the way was {best:.0e}"


def stops_when_asked(bed: Testbed) -> str:
    with started(bed.solver(), bed.program(bed.problem())) as iterates:
        next(iter(iterates), None)
        start = time.monotonic()
        getattr(iterates, "close", lambda: None)()
        took = time.monotonic() - start
        if hasattr(iterates, "close") and next(iter(iterates), None) is not None:
            raise Broken("goes on after it was closed")
    if took > PROMPT:
        raise Broken(f"took {took:.1f} s to stop")
    return "stopped at once"


def no_threads_left(bed: Testbed) -> str:
    counts = []
    for _ in range(3):
        bed.steps(bed.solver(), bed.program(bed.problem()))
        gc.collect()
        counts.append((threading.active_count(), len(os.listdir(TASKS)) if TASKS.exists() else 0))
    python, system = zip(*counts, strict=True)
    if python[-1] > python[0]:
        raise Broken(f"{python[-1] - python[0]} threads of Python more after two further runs")
    if system[-1] > system[0]:
        raise Broken(f"{system[-1] - system[0]} threads more after two further runs")
    return "no thread more than before"


def no_children_left(bed: Testbed) -> str:
    if not TASKS.exists():
        raise NotApplicable("this system does not list the children of a process")
    before = children()
    bed.steps(bed.solver(), bed.program(bed.problem()))
    gc.collect()
    if left := children() - before:
        raise Broken(f"leaves {len(left)} processes behind")
    return "no process left behind"


CONTRACTS: dict[str, Contract] = {
    "deterministic under a seed": deterministic,
    "seed is used": seed,
    "global random state untouched": random_state,
    "data untouched": data_untouched,
    "no stale state": no_stale_state,
    "a problem that is not stored": unstored_problem,
    "row permutation": row_permutation,
    "label swap": label_swap,
    "feature permutation": feature_permutation,
    "row duplication, half C": row_duplication,
    "scaling of data with C": scaling,
    "dense and CSR the same": dense_and_sparse,
    "float32": float32,
    "Fortran order": fortran_order,
    "non-contiguous": non_contiguous,
    "degenerate data": degenerate_data,
    "ends with its best point": ends_with_its_best,
    "warm start from another C": warm_start,
    "stops when asked": stops_when_asked,
    "no threads left": no_threads_left,
    "no processes left": no_children_left,
    **CLOCK_CONTRACTS,
}
