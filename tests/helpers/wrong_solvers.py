"""A solver that is right, and the same one with one mistake each: what `marginbench validate` is there to find."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from marginbench.harness.model.programs import Hinge, Program, RegularisedRisk
from marginbench.harness.model.solver import Iterate, Solver, Start


@dataclass(frozen=True)
class Right(Solver):
    """Greedy ascent of the dual, min lam/2 ||w||^2 + sum_i weight_i hinge: one alpha_i, or two with an intercept.

    seed: of the random choice among coordinates that are nearly the worst.
    """

    seed: int = 0

    accepts = (RegularisedRisk,)

    def refuses(self, program: Program) -> str | None:
        assert isinstance(program, RegularisedRisk)
        return None if isinstance(program.loss, Hinge) else "takes the hinge only"

    def iterates(self, program: Program) -> Iterator[Iterate]:
        assert isinstance(program, RegularisedRisk)
        yield from ascent(program.X, program.y, program.lam, program.weight, program.intercept, self.dice())

    def dice(self) -> Any:
        return np.random.default_rng(self.seed)


def ascent(X, y, lam, weight, intercept, dice) -> Iterator[Iterate]:
    n, upper = y.size, weight / lam
    alpha, w = np.zeros(n), np.zeros(X.shape[1])
    row = (lambda i: X[[i]].toarray()[0]) if sp.issparse(X) else (lambda i: X[i])
    for step in range(1, 1_000_000):
        t = y - X @ w  # alpha_i may move y_i (its own sign) up where it is below `upper`, down where it is above 0
        up = np.where(y > 0, alpha < upper, alpha > 0) * 1.0
        down = np.where(y > 0, alpha > 0, alpha < upper) * 1.0
        b = 0.5 * (np.where(up, t, -np.inf).max() + np.where(down, t, np.inf).min()) if intercept else 0.0
        b = b if np.isfinite(b) else 0.0
        push, pull = up * np.maximum(t - b, 0.0), down * np.maximum(b - t, 0.0)
        done = max(push.max(), pull.max()) <= 1e-10
        if done or step % 20 == 0:
            yield Iterate(np.append(w, b) if intercept else w, claim="converged" if done else "")
        if done:
            return
        noise = 1.0 + 0.1 * dice.random(n)
        i, j = int(np.argmax(push * noise)), int(np.argmax(pull * noise))
        if intercept:
            x, size = row(i) - row(j), t[i] - t[j]
            room = [upper[k] - alpha[k] if (y[k] > 0) == rises else alpha[k] for k, rises in ((i, True), (j, False))]
            size = min(size / max(x @ x, 1e-300), *room)
            alpha[i], alpha[j] = alpha[i] + y[i] * size, alpha[j] - y[j] * size
        else:
            i = i if push[i] >= pull[j] else j
            x = row(i)
            new = np.clip(alpha[i] + y[i] * t[i] / max(x @ x, 1e-300), 0.0, upper[i])
            size, alpha[i] = y[i] * (new - alpha[i]), new
        w = w + size * x


class PenalisedBias(Right):
    """An augmented bias sold as a free one."""

    def iterates(self, program):
        X, column = program.X, np.ones((program.n, 1))
        if program.intercept:
            X = sp.csr_array(sp.hstack([X, column])) if sp.issparse(X) else np.hstack([X, column])
        yield from ascent(X, program.y, program.lam, program.weight, False, self.dice())


class LambdaTwice(Right):
    """lam ||w||^2 for lam/2 ||w||^2."""

    def iterates(self, program):
        yield from ascent(program.X, program.y, 2.0 * program.lam, program.weight, program.intercept, self.dice())


class LambdaTimesN(Right):
    """The lambda of the mean for that of the sum."""

    def iterates(self, program):
        lam = program.n * program.lam
        yield from ascent(program.X, program.y, lam, program.weight, program.intercept, self.dice())


class LabelsFlipped(Right):
    def iterates(self, program):
        yield from ascent(program.X, -program.y, program.lam, program.weight, program.intercept, self.dice())


class FirstLabel(Right):
    """Takes the class of the first row for the negative one, as code does that maps labels as it meets them."""

    def iterates(self, program):
        for it in super().iterates(program):
            yield Iterate(it.x if program.y[0] < 0 else -it.x, claim=it.claim)


class WholeSixteenths(Right):
    """Rounds the data to a grid that the smallest step of a feature does not survive when it is halved."""

    def iterates(self, program):
        X = program.X.toarray() if sp.issparse(program.X) else program.X
        yield from ascent(
            np.round(4.0 * X) / 4.0 if np.abs(X).max() < 4.0 else X,
            program.y, program.lam, program.weight, program.intercept, self.dice(),
        )  # fmt: skip


class StopsEarly(Right):
    """Claims convergence after its first twenty steps."""

    def iterates(self, program):
        first = next(super().iterates(program))
        yield Iterate(first.x, claim="converged")


class DenseOnly(Right):
    """Reads the rows of a CSR matrix with their entries in the wrong columns."""

    def iterates(self, program):
        X = program.X
        if sp.issparse(X):
            X = sp.csr_array((X.data, X.shape[1] - 1 - X.indices, X.indptr), shape=X.shape)
        yield from ascent(X, program.y, program.lam, program.weight, program.intercept, self.dice())


class MutatesX(Right):
    """Scales the data in place."""

    def iterates(self, program):
        values = program.X.data if sp.issparse(program.X) else program.X
        values *= 2.0
        yield from ascent(0.5 * program.X, program.y, program.lam, program.weight, program.intercept, self.dice())


class IgnoresSeed(Right):
    """Draws from the global random state."""

    def dice(self):
        return np.random


class ReturnsAverage(Right):
    """Ends with the mean of all it went through, though its last point is better."""

    def iterates(self, program):
        seen = []
        for iterate in super().iterates(program):
            seen.append(np.array(iterate.x))
            yield Iterate(iterate.x)
        yield Iterate(np.mean(seen, axis=0), claim="converged")


class StaleState(Right):
    """Starts where an earlier problem of the same size ended, and believes that it is there."""

    answers: ClassVar[dict[tuple[int, ...], np.ndarray]] = {}

    def iterates(self, program):
        key = (*program.X.shape, program.intercept)
        if key not in self.answers:
            for iterate in super().iterates(program):
                yield iterate
            self.answers[key] = np.array(iterate.x)
        yield Iterate(self.answers[key], claim="converged")


class Hoards(Right):
    """Forms a matrix of n^2 numbers that nobody asked for."""

    def iterates(self, program):
        gram = np.ones((program.n, program.n), np.float32)
        yield Iterate(gram.ravel()[: program.d + program.intercept] * 0.0)


class Crashes(Right):
    def iterates(self, program):
        os._exit(3)
        yield


@dataclass(frozen=True)
class TakesStart(Right):
    """Right, wherever it is to begin."""

    def iterates(self, program: Program, start: Start | None = None) -> Iterator[Iterate]:
        yield from super().iterates(program)


@dataclass(frozen=True)
class BelievesStart(Right):
    """Gives the answer at another C back, as that at this one."""

    def iterates(self, program: Program, start: Start | None = None) -> Iterator[Iterate]:
        assert isinstance(program, RegularisedRisk)
        if start is None:
            yield from super().iterates(program)
        else:
            yield Iterate(np.append(start.w, start.b) if program.intercept else start.w, claim="converged")
