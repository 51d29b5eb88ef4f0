"""Newton's method on the augmented Lagrangian of BoxDual, for rows that stay on disk and are read block by block.

Program    min 1/2 ||w||^2 + sum_i l_i(1 - m_i),   l_i(z) = max { a z - c_i a^2 / 2 : 0 <= a <= u_i }
Update     P, D, the gradient and Newton's matrix are sums over rows, so that one read gives them all. In turn:
           - A sample of the rows in memory gives a first w.
           - Newton steps on all rows, one read each, until the rows near the margin fit into memory: h is as small as
             that needs. Without them no multipliers would balance.
           - Rounds. One read gives every margin, P, D, what puts rows far from the margin at 0 or u_i, and a copy of
             the rows near it. Proximal steps on those, in memory, as of `augmented.py`; h <- 0.35 h, three times.
Memory     4 numbers a row, d^2, a block, and `working_mb` for the rows near the margin. Pages of a mapped file are
           given back after use. Every yield costs one read; a problem of 10 GB takes about ten.
Reference  as `augmented.py`.
Done       when the gap is at the level of rounding, or has not halved in many rounds.

Departures, each with the case that needs it:
- Line search. The read at the full step gives the derivative there. Where that is no descent, the margins of both ends
  are in memory, and so is every point between: the search costs nothing, and one more read at the length found.
- If the gap grew in a round, rows had crossed the margin: the round is undone, and the next has more rows. Its bound
  changes are made only once it is known not to be undone.
- The rows near the margin do not fit (duplicates, a tiny margin): Newton steps on all rows at this h instead.
- Rows on the workers of a Dask cluster (`scheduler`): the same sums, a block a task.
"""

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from marginbench.harness.model.needs import Need, system_need
from marginbench.harness.model.problem import InputError
from marginbench.harness.model.programs import BoxDual, Program
from marginbench.harness.model.solver import Claim, Compiled, Iterate
from marginbench.harness.rowops import Team
from marginbench.solvers.newton.augmented import ROUNDING, SMALLEST_H
from marginbench.solvers.newton.block_source import Form, LocalSource, Share, Source
from marginbench.solvers.newton.smoothing import widths
from marginbench.solvers.newton.stream import Stream, search
from marginbench.solvers.newton.systems import DIRECT, check_direct

IDLE, IDLE_AT_END = 20, 4
"""Rounds without half the gap after which nothing more is to be expected."""


@dataclass(frozen=True)
class NewtonStreaming(Compiled):
    """seed: of the sample that the method starts on. direct: the largest dense system. block_mb, working_mb: memory for
    a block of rows, and for the rows near the margin. scheduler: address of a Dask scheduler whose workers shall hold
    the rows."""

    seed: int = 0
    direct: int = DIRECT
    block_mb: float = 32.0
    working_mb: float = 512.0
    scheduler: str | None = None

    accepts = (BoxDual,)
    accuracy = 1e-8
    warm_up_rows = 64
    memory_field = "working_mb"

    def __post_init__(self) -> None:
        check_direct(self.direct)
        for name in ("block_mb", "working_mb"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise InputError(f"solver.{name}={value}: needs a number of MB above 0")

    def needs(self, program: Program) -> Need | None:
        assert isinstance(program, BoxDual)
        return system_need(program.d) if program.d <= self.direct else None

    def refuses(self, program: Program) -> str | None:
        assert isinstance(program, BoxDual)
        if program.d > self.direct:
            return f"newton_streaming needs d up to solver.direct={self.direct}; d = {program.d}: use newton_augmented"
        if np.isinf(program.upper).any() and not program.curvature.all():
            return "newton_streaming has no hard margin: use newton_augmented"
        if program.curvature.any():
            kappa = program.curvature * widths(program)
            if np.ptp(kappa) > 1e-12 * kappa.max(initial=0.0):
                return (
                    "newton_streaming needs curvature_i upper_i (or, with upper = inf, curvature_i) alike in all rows"
                )
        if self.scheduler is not None and importlib.util.find_spec("distributed") is None:
            return "solver.scheduler needs the package distributed: pip install 'marginbench[dask]'"
        return None

    def warm_up(self, program: Program) -> None:
        """In this process alone: a client of a cluster has threads, and what is forked from must have one."""
        assert isinstance(program, BoxDual)
        here = replace(self, scheduler=None, block_mb=1e-3, working_mb=min(self.working_mb, 4.0))
        Compiled.warm_up(here, program)
        stream = here.stream(program.head(self.warm_up_rows), Team())
        stream.minimise(0.1, 0.0, 2)
        search(stream.m, np.zeros(stream.n), stream.alpha, stream.whole.upper, stream.whole.v, 0.1, 0.0, -1.0, 1.0)

    def iterates(self, program: Program) -> Iterator[Iterate]:
        assert isinstance(program, BoxDual)
        with Team(program.threads) as team:
            stream = self.stream(program, team)
            with stream.source:
                yield from self._on(stream)

    def stream(self, program: BoxDual, team: Team) -> "Stream":
        v = widths(program)
        kappa = float((program.curvature * v).max(initial=0.0)) if program.curvature.any() else 0.0
        top = kappa if np.isfinite(program.upper).all() else np.inf
        form = Form(kappa, program.d, program.equality, top, self.direct)
        whole = Share(program.rows, program.y, program.upper, v)
        size = max(int(self.block_mb * 2**20), 32 * form.size**2)  # what a block costs beside its rows is d^2
        source: Source
        if self.scheduler is not None:
            from marginbench.solvers.newton.dask_source import DaskSource

            source = DaskSource(whole, form, size, self.scheduler)
        else:
            source = LocalSource(whole, form, size, team)
        return Stream(whole, form, source, team, int(self.working_mb * 2**20), self.seed)

    def _on(self, stream: "Stream") -> Iterator[Iterate]:
        stream.start()
        smallest, idle = np.inf, 0
        for gap, scale in stream.rounds():
            idle = 0 if gap < 0.5 * smallest else idle + 1
            smallest = min(gap, smallest)
            done = gap <= ROUNDING * scale or idle >= (IDLE_AT_END if stream.h <= SMALLEST_H else IDLE)
            claim: Claim = "" if not done else "converged" if gap <= 1e-9 * scale else "inaccurate"
            info = {"h": stream.h, "gap": gap / scale, "reads": stream.reads, "working_rows": stream.working}
            yield Iterate(stream.alpha, stream.theta, claim=claim, info=info)
            if done:
                return
