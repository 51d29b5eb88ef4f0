"""When a run came within an accuracy: the costs of one record, for every accuracy and clock.

From the stored curve: the earliest iterate, or the fastest rung of a ladder, whose relative error is small enough, with
the time of building the program added. Own solvers are held to their certified gap. A *peer*, a solver that wraps a
library, may also be right without a proof of its own: its error is the smaller of certified gap and suboptimality
against the best lower bound known. Runs that failed, crashed or were wrong reach nothing, whatever their curve says.

"As asked" is each run's own question: the time of a run that succeeded, whatever accuracy it was asked for.
"""

import math

import numpy as np

from marginbench.harness.model.bounds import Bounds
from marginbench.harness.old_names import current_name
from marginbench.harness.records.compact import compact
from marginbench.harness.records.record import Record
from marginbench.harness.records.status import status_of
from marginbench.harness.reporting.comparison import cost, number, refuted
from marginbench.harness.reporting.variation import part

ACCURACIES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
AS_ASKED = None
CHOICES: tuple[float | None, ...] = (*ACCURACIES, AS_ASKED)
"""What a reader may choose between, in this order."""

CLOCKS = ("wall", "cpu", "passes")
CLOCK_NAMES = {"wall": "wall time", "cpu": "CPU time", "passes": "passes"}

EQUAL = 1.0 + 1e-9
"""1e-6 that was typed as 0.000001 is the same accuracy."""


def accuracy_text(accuracy: float | None) -> str:
    """`1e-6`, or `as asked`."""
    if accuracy is None:
        return "as asked"
    mantissa, power = f"{accuracy:.0e}".split("e")
    return f"{mantissa}e{int(power)}"


def wraps_a_library(r: Record) -> bool:
    """As the record says; those of version 0.1 name more in `versions` than the source of the solver's module."""
    if "peer" in r.info:
        return bool(r.info["peer"])
    module = current_name(str(part(r, "solver").get("_target_", ""))).rpartition(".")[0]
    return bool({current_name(name) for name in r.versions} - {module})


def asked_gap(r: Record) -> float:
    """The accuracy that a run was asked for; 0 where it is not known, for such a run had no reason to stop early."""
    gap = number(part(r, "budget").get("gap"))
    return 0.0 if gap is None else gap


def was_asked(r: Record, accuracy: float | None) -> bool:
    """Whether a run had to go on until `accuracy`. One that was asked for less says nothing of it."""
    return accuracy is None or asked_gap(r) <= accuracy * EQUAL


def given_seconds(r: Record) -> tuple[float, float]:
    """(budget, limit) in seconds; infinity where there is none."""
    found = [number(part(r, group).get("seconds")) for group in ("budget", "limits")]
    return math.inf if found[0] is None else found[0], math.inf if found[1] is None else found[1]


def limit(r: Record) -> float:
    """Seconds that a run was given, or took where it took longer: what a failure is charged. NaN if not known.

    The limit of the run itself: what a neighbour took is no measure of it.
    """
    given = next((x for x in given_seconds(r) if math.isfinite(x)), math.nan)
    solve = number(r.solve_seconds)
    spent = math.nan if solve is None else solve + (number(r.build_seconds) or 0.0)
    return float(np.fmax(given, spent))


def reached(r: Record, accuracy: float, known: Bounds) -> float:
    """Seconds until the error was at most `accuracy`; infinity where it never was."""
    errors, seconds, _ = _curve(r, known)
    return float(seconds[errors <= accuracy].min(initial=math.inf))


def arrivals(r: Record, known: Bounds) -> np.ndarray:
    """[accuracy, clock]: seconds of the wall and of the CPU until each of CHOICES; infinity where it was not reached,
    NaN where the CPU time is not known.

    The CPU time of building is not measured apart: its wall time stands for it.
    """
    errors, wall, cpu = _curve(r, known)
    near = errors[None, :] <= np.array(ACCURACIES)[:, None]
    found = [np.where(near, clock, math.inf).min(axis=1, initial=math.inf) for clock in (wall, cpu)]
    spent, build = math.inf if refuted(r, known) else cost(r), number(r.build_seconds) or 0.0
    as_asked = spent, build + (spent - build) * _cpu_share(r) if math.isfinite(spent) else math.inf
    return np.column_stack([np.append(times, last) for times, last in zip(found, as_asked, strict=True)])


def _curve(r: Record, known: Bounds) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(error, seconds, CPU seconds) of every entry that has both; nothing for a run whose curve does not count."""
    if not status_of(r.status).curve_counts:
        return np.empty(0), np.empty(0), np.empty(0)
    curve = compact(r.curve)
    gaps = curve.column("gap")
    errors = np.where(gaps >= 0.0, gaps, math.inf)  # an error below zero is a contradiction, not an achievement
    if wraps_a_library(r) and math.isfinite(known.lower):
        primals = curve.column("primal")
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            gaps = np.where(primals == known.lower, 0.0, (primals - known.lower) / primals)
        errors = np.fmin(errors, np.where((gaps >= 0.0) & (primals > 0.0) | (primals == known.lower), gaps, math.inf))
    seconds = curve.column("seconds")
    cpu = curve.column("cpu_seconds")
    cpu = np.where(np.isnan(cpu), seconds * _cpu_share(r), cpu)
    build, known_time = number(r.build_seconds) or 0.0, ~np.isnan(seconds)
    return errors[known_time], seconds[known_time] + build, cpu[known_time] + build


def _cpu_share(r: Record) -> float:
    """CPU over wall time of the whole solve, for curves without the CPU time of each entry; NaN if not known."""
    solve, cpu = number(r.solve_seconds), number(r.cpu_seconds)
    return cpu / solve if solve is not None and cpu is not None and solve > 0.0 else math.nan
