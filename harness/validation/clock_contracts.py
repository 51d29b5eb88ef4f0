"""Contracts about the clock: what a solver does, it does in the `next()` of its iterates.

Work in any other place is charged by `run` all the same, or shown as not accounted for. These contracts say which place
it is. They measure CPU time, which a busy machine does not change, after a solve that compiles what is to be compiled.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from marginbench.harness.cell.measure import plainly
from marginbench.harness.model.adapters import Ladder
from marginbench.harness.validation.testbed import Broken, Refused, Testbed

SECONDS = 0.25
"""For one solve: long enough to see where it works."""

LEAST, PER_ITERATE = 0.01, 1e-4
"""CPU seconds that need no explanation: some systems count no finer."""

SHARE = 0.25
"""Of the time in `next()`, what any other part may take."""

SHARES = {"warm_up": 2.0}
"""Warming up is a short solve of its own."""

PLACES = {
    "made": "when it is made",
    "refuses": "in refuses",
    "warm_up": "in warm_up, after it was warm",
    "called": "in the call of iterates",
    "read": "while an iterate is read",
    "last": "after its last iterate",
    "closed": "when it is told to stop",
}


def spent(bed: Testbed) -> dict[str, float]:
    """CPU seconds of a short solve by place, `next`, and the count of iterates; of two solves, the smaller numbers."""
    _, *found = (_solve(bed) for _ in range(3))
    return {place: min(one[place] for one in found) for place in (*PLACES, "next", "count")}


def _solve(bed: Testbed) -> dict[str, float]:
    found, program = defaultdict[str, float](float), bed.program(bed.problem())

    @contextmanager
    def on(place: str) -> Iterator[None]:
        start = time.process_time()
        yield
        found[place] += time.process_time() - start

    with on("made"):
        solver = bed.solver()
    with on("refuses"):
        reason = solver.refuses(program)
    if reason:
        raise Refused(reason)
    with on("warm_up"):
        solver.warm_up(program)
    with on("called"):
        iterates = iter(solver.iterates(program))
    start = time.process_time()
    while (now := time.process_time()) - start < SECONDS:
        iterate = next(iterates, None)
        found["last" if iterate is None else "next"] += time.process_time() - now
        if iterate is None:
            break
        found["count"] += 1.0
        with on("read"):
            plainly(iterate)
    with on("closed"):
        getattr(iterates, "close", lambda: None)()
        del iterates, solver
    return found


def no_work(place: str) -> Callable[[Testbed], str]:
    """The contract that it does not work in a place."""

    def contract(bed: Testbed) -> str:
        found = spent(bed)
        if found[place] > LEAST + PER_ITERATE * found["count"] + SHARES.get(place, SHARE) * found["next"]:
            raise Broken(
                f"{found[place]:.2g} s of CPU {PLACES[place]}, and {found['next']:.2g} s in next(), where work belongs"
            )
        return f"{1e3 * found[place]:.1f} ms of CPU {PLACES[place]}"

    return contract


def restarts_are_rungs(bed: Testbed) -> str:
    solver = bed.solver()
    if solver.restarts and not isinstance(solver, Ladder):
        raise Broken("says that its iterates are restarts, and is no Ladder: it is charged the time of all of them")
    return "rungs are solved alone" if solver.restarts else "no restarts"


CLOCK_CONTRACTS = {
    **{f"no work {place}": no_work(name) for name, place in PLACES.items()},
    "restarts are rungs of a ladder": restarts_are_rungs,
}
