"""Records with chosen times, for the tests of statistics."""

import math
from typing import Any

import numpy as np
from sample_records import failure, solved

from marginbench.harness.records.record import Record

GAP = 1e-6


def timed(method: str, dataset: str, seconds: float, C: float = 1.0, repeat: int = 0, **changes: Any) -> Record:
    """A run that arrives at 1e-6 after `seconds`; or, when they are infinite, a timeout."""
    budget, gap = changes.pop("budget", 1.0), changes.pop("asked", GAP)
    cell = {"budget": {"seconds": budget, "gap": gap}, "limits": {"seconds": 2 * budget}, "solver": {"kind": method}}
    names: dict[str, Any] = {"dataset": dataset, "C": C, "repeat": repeat, "hash": f"{method}-{dataset}-{C}-{repeat}"}
    names |= {"cell": cell, "info": {"peer": False}} | changes
    problem = f"{dataset}-C{C!r}-{changes.get('bias', 'none')}-hinge"
    if math.isinf(seconds):
        return failure("timeout", method, problem, **names)
    curve = [{"iteration": 1, "seconds": seconds, "gap": GAP, "primal": 1.0, "dual": 1.0 - GAP}]
    measured: dict[str, Any] = {"curve": curve, "gap": GAP, "primal": 1.0, "dual": 1.0 - GAP, "cpu_seconds": seconds}
    measured["status"] = "solved" if gap >= GAP else "inaccurate"
    return solved(method, problem, seconds, **measured | names)


def simulated(
    seed: int, factor: float, repeats: int, noise: float, datasets: int = 6, spread: float = 0.0
) -> list[Record]:
    """Methods `one` and `two` on each data set, `two` slower by `factor`; log-normal noise."""
    rng, found = np.random.default_rng(seed), []
    for d in range(datasets):
        base, ratio = math.exp(rng.normal(-3.0, 1.0)), factor * math.exp(rng.normal(0.0, spread))
        for method, scale in (("one", 1.0), ("two", ratio)):
            times = base * scale * np.exp(rng.normal(0.0, noise, repeats))
            found += [timed(method, f"data{d}", float(t), repeat=k) for k, t in enumerate(times)]
    return found


OWN = {"solver": {"_target_": "marginbench.solvers.mine.Mine"}, "formulation": {"_target_": "x"}}


def traced(method: str, curve: list[tuple], problem: str = "p", peer: bool = False, **changes: Any) -> Record:
    """A run whose curve is the given (seconds, gap) or (seconds, gap, primal). `auto` is the base line."""
    versions = {"marginbench.solvers.mine": "abc"} | ({"library": "1.0"} if peer else {})
    names = ("seconds", "gap", "primal")
    entries = [{"iteration": k + 1} | dict(zip(names, point, strict=False)) for k, point in enumerate(curve)]
    given = {"curve": entries, "versions": versions, "cell": OWN, "build_seconds": 0.0, "hash": f"{method}-{problem}"}
    given["info"] = {"baseline": method == "auto"}
    return solved(method, problem, **given | changes)
