"""Blocks of rows, and what is computed of one at a time: the sums that Newton's method needs are sums over blocks.

A `Source` has the rows of a program in blocks. `LocalSource` reads them in turn, from a file if that is where they
are; `dask_source.py` has them on the workers of a cluster. What is done with a block is one of the functions here,
which know nothing of where it lies.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from marginbench.harness.model.problem import Array
from marginbench.harness.rowops import CSR, Dense, Team, prefetch, read_only, release, run_of, runs
from marginbench.solvers.newton.augmented import settle_some
from marginbench.solvers.newton.smoothing import Block, State, losses


class Form(NamedTuple):
    """What all blocks have in common: kappa of the loss, features, whether b is free, 1 - m_i above which a loss has
    its largest slope, and the largest dense system."""

    kappa: float
    d: int
    bias: bool
    top: float
    direct: int

    @property
    def size(self) -> int:
        return self.d + self.bias


class Share(NamedTuple):
    """One block: rows with labels, bounds and widths."""

    rows: Dense | CSR
    y: Array
    upper: Array
    v: Array

    def block(self, form: Form, team: Team) -> Block:
        return Block(*self, form.kappa, form.d, form.bias, form.direct, team=team)


Task = Callable[..., Any]
"""do(share, form, team, *arguments)"""


class Source(Protocol):
    def each(self, do: Task, arguments: Callable[[int, int], Sequence[Any]]) -> Iterator[tuple[slice, Any]]:
        """`do` with every block and `arguments(start, end)`, in their order: (which rows, what it gave)."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class LocalSource:
    """The blocks one after the other, in this process; their pages are given back."""

    def __init__(self, whole: Share, form: Form, size: int, team: Team) -> None:
        self.whole, self.form, self.team = whole, form, team
        self.runs = runs(whole.rows, whole.y.size, size)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def each(self, do: Task, arguments: Callable[[int, int], Sequence[Any]]) -> Iterator[tuple[slice, Any]]:
        for start, end in self.runs:
            share = share_of(self.whole, start, end)
            prefetch(share.rows)
            yield slice(start, end), do(share, self.form, self.team, *arguments(start, end))
            release(share.rows)
            release(Dense(share.y))


def share_of(whole: Share, start: int, end: int) -> Share:
    arrays = (read_only(array[start:end]) for array in (whole.y, whole.upper, whole.v))
    return Share(run_of(whole.rows, start, end), *arrays)


# -- of one block -------------------------------------------------------------------------------------------------


def chosen(share: Share, form: Form, team: Team, index: Array) -> Dense | CSR:
    """The rows of `index`."""
    return team.take(share.rows, index)


class NewtonSums(NamedTuple):
    """m; by how much pull changes from alpha to p; G over F = {0 < p_i < u_i}; how many rows that are."""

    m: Array
    pull: Array
    G: Array
    free: int


def newton_sums(share: Share, form: Form, team: Team, theta: Array, alpha: Array, h: float) -> NewtonSums:
    """Gradient and matrix of the loss smoothed around alpha with width h, at theta."""
    block = share.block(form, team)
    state = State(theta.copy(), alpha, block.margins(theta), np.zeros(form.size), h)
    block.minimise(state, tolerance=0.0, limit=0)
    return NewtonSums(state.m, state.pull, block.gram(), int(block.system.F.sum()))


class Looked(NamedTuple):
    """m; sums of `losses`; which rows of the block are near the margin, and these rows; by how much pull changes when
    the others go to their bounds."""

    m: Array
    loss: float
    terms: float
    near: Array
    rows: Dense | CSR
    pull: Array


def looked_at(share: Share, form: Form, team: Team, theta: Array, alpha: Array, width: float, room: int) -> Looked:
    """Where the rows are, seen from theta. room: the largest number of near rows that are wanted."""
    n, m, pull = alpha.size, np.empty(alpha.size), np.zeros(form.size)
    team.margins(share.rows, share.y, theta, theta[-1] if form.bias else 0.0, m)
    loss, terms = losses(m, alpha, share.upper, share.v, form.kappa, 0, n)
    index, change = np.empty(n, np.int64), np.zeros(n)
    near, moved = settle_some(m, alpha.copy(), share.upper, width, form.top, index, change, 0, n)
    if moved:
        balance = team.combine(share.rows, share.y, change, pull)
        if form.bias:
            pull[-1] += balance
    return Looked(m, loss, terms, near, team.take(share.rows, near[:room]), pull)
