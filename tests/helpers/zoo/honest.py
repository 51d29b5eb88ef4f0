"""What the solvers of the zoo share: the right answer of a small program, CPU time that is truly spent, a cage.

`optimum` is right to about 1e-12 for programs of some dozens of rows, dense or CSR, with or without an intercept.
"""

import os
import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from marginbench.harness.model.programs import BoxDual, Program, RegularisedRisk
from marginbench.harness.model.solver import Iterate, Solver

WORK = 0.15
"""CPU seconds that a solver which hides its time truly works."""

KEEPERS = "MARGINBENCH_ZOO_KEEPERS"
"""Environment variable: the process of the tests and all processes above it, which no animal may touch."""

_thread_time = time.thread_time


class Answer(NamedTuple):
    """Of a program, in the letters of the canonical problem."""

    alpha: np.ndarray
    w: np.ndarray
    b: float


def work(seconds: float) -> None:
    """Spend CPU time of this thread, by a clock that nobody has replaced."""
    end = _thread_time() + seconds
    while _thread_time() < end:
        pass


def caged() -> None:
    """Raise unless this process, its parent and its group are none of the keepers': for animals that bite."""
    keepers = {int(pid) for pid in os.environ.get(KEEPERS, "").split(",") if pid}
    groups = {os.getpgid(pid) for pid in keepers}
    if not keepers or {os.getpid(), os.getppid()} & keepers or os.getpgrp() in groups or os.getppid() <= 1:
        raise RuntimeError("outside its cage: this solver runs in the process of a cell only")


def keepers() -> str:
    """This process and all above it, for the environment."""
    found, pid = [], os.getpid()
    while pid > 0:
        found.append(str(pid))
        with open(f"/proc/{pid}/stat") as file:
            pid = int(file.read().rpartition(")")[2].split()[1])
    return ",".join(found)


def optimum(program: Program) -> Answer:
    if isinstance(program, BoxDual):
        return ascend(program.X, program.y, program.upper, program.equality)
    assert isinstance(program, RegularisedRisk)
    return ascend(program.X, program.y, program.weight / program.lam, program.intercept)


def ascend(X, y, upper, equality: bool, tolerance: float = 1e-11, most: int = 200_000) -> Answer:
    """Greedy ascent of the dual: the alpha_i that is furthest from its place, or with an equality the worst pair.

    The gradient is kept up to date by rows of the Gram matrix. Now and then all free alpha_i go to where they belong if
    the others stay: near the optimum that is the end.
    """
    Z = y[:, None] * (X.toarray() if sp.issparse(X) else X)
    Q, alpha, t = Z @ Z.T, np.zeros(y.size), y.astype(float)
    for count in range(1, most):  # t_i = y_i - w.x_i
        if count % 50 == 0:
            alpha = settled(Q, y, upper, equality, alpha)
            t = y - y * (Q @ alpha)
        up = np.where(y > 0, alpha < upper, alpha > 0)
        down = np.where(y > 0, alpha > 0, alpha < upper)
        high, low = np.where(up, t, -np.inf), np.where(down, t, np.inf)
        i, j = int(high.argmax()), int(low.argmin())
        if equality:
            if high[i] - low[j] <= tolerance:
                break
            bend = Q[i, i] + Q[j, j] - 2.0 * y[i] * y[j] * Q[i, j]
            room = [upper[k] - alpha[k] if (y[k] > 0) == rises else alpha[k] for k, rises in ((i, True), (j, False))]
            size = min((high[i] - low[j]) / max(bend, 1e-300), *room)
            moves = [(i, y[i] * size), (j, -y[j] * size)]
        else:
            if max(high[i], -low[j]) <= tolerance:
                break
            k = i if high[i] >= -low[j] else j
            new = np.clip(alpha[k] + y[k] * t[k] / max(Q[k, k], 1e-300), 0.0, upper[k])
            moves = [(k, new - alpha[k])]
        for k, step in moves:
            alpha[k] = np.clip(alpha[k] + step, 0.0, upper[k])
            t = t - step * y * Q[k]
    ends = [end for end in (high.max(), low.min()) if np.isfinite(end)]
    return Answer(alpha, (X.T @ (alpha * y)), float(np.mean(ends)) if equality and ends else 0.0)


def settled(Q, y, upper, equality: bool, alpha):
    """The best alpha on the face that it is on; alpha itself where that is outside the box or no better."""
    F = np.flatnonzero((alpha > 0) & (alpha < upper))
    rest = np.where((alpha > 0) & (alpha < upper), 0.0, alpha)
    K, target = Q[np.ix_(F, F)], 1.0 - Q[F] @ rest
    if equality:
        K = np.block([[K, y[F, None]], [y[None, F], np.zeros((1, 1))]])
        target = np.append(target, -rest @ y)
    found = np.linalg.lstsq(K, target, rcond=1e-12)[0][: F.size]
    if F.size == 0 or not ((found >= 0) & (found <= upper[F])).all():
        return alpha
    moved = rest.copy()
    moved[F] = found
    value = [float(a.sum() - 0.5 * a @ Q @ a) for a in (alpha, moved)]
    return moved if value[1] > value[0] else alpha  # with more free rows than features there may be no such place


def spoken(program: Program, answer: Answer) -> np.ndarray:
    """The answer as the program wants its x."""
    if isinstance(program, BoxDual):
        return answer.alpha
    assert isinstance(program, RegularisedRisk)
    return np.append(answer.w, answer.b) if program.intercept else answer.w


@dataclass(frozen=True)
class Honest(Solver):
    """The right answer, at once."""

    accepts = (BoxDual, RegularisedRisk)

    def iterates(self, program):
        yield Iterate(self.answer(program), self.multipliers(program), claim="converged")

    def answer(self, program):
        return spoken(program, optimum(program))

    def multipliers(self, program):
        return None


@dataclass(frozen=True)
class OnRisk(Honest):
    """Base of those that answer lam/2 ||w||^2 + sum_i weight_i hinge, with w and b alone."""

    accepts = (RegularisedRisk,)


@dataclass(frozen=True)
class OnDual(Honest):
    """Base of those that answer the dual, with multipliers."""

    accepts = (BoxDual,)


@dataclass(frozen=True)
class WithMultipliers(OnRisk):
    """The right hyperplane and the proof of it: where C and the data are far from 1, no other method may have one."""

    def multipliers(self, program):
        return optimum(program).alpha


COMPILED: list[bool] = []


@dataclass(frozen=True)
class Compiles(OnDual):
    """Pays once per process, as a kernel does that is compiled when it is first called, and has no `warm_up`."""

    def answer(self, program):
        if not COMPILED:
            work(WORK)
            COMPILED.append(True)
        return super().answer(program)


@dataclass(frozen=True)
class PoorMultipliers(OnRisk):
    """The right hyperplane, with multipliers that are feasible and prove little."""

    def iterates(self, program):
        found = optimum(program)
        yield Iterate(found.w, 0.1 * found.alpha, claim="converged")


@dataclass(frozen=True)
class SlowAndRight(OnRisk):
    """Nearer with every iterate, and never there in time."""

    def iterates(self, program):
        w = self.answer(program)
        for k in range(1, 1_000_000):
            time.sleep(0.002)
            yield Iterate((1.0 - 0.5 / k) * w)


@dataclass(frozen=True)
class DirectionOnly(OnDual):
    """Of a hard margin only the direction counts: solves the data divided by their largest entry."""

    def answer(self, program):
        return ascend(program.X / np.abs(program.X).max(), program.y, program.upper, False).alpha


@dataclass(frozen=True)
class MiddleOfTheBox(OnDual):
    """alpha = C / 2, and no claim but that there was no time: whatever its objectives are, it is not accused."""

    def iterates(self, program):
        yield Iterate(0.5 * program.upper, claim="limit")
