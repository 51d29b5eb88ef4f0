"""Claims: words outside the vocabulary, and hard margins called impossible or solved without a proof."""

from dataclasses import dataclass

import numpy as np

from marginbench.harness.model.solver import Iterate
from zoo.honest import OnDual, OnRisk, optimum


@dataclass(frozen=True)
class OwnWord(OnRisk):
    """The right answer, called by a word that nobody agreed on."""

    def iterates(self, program):
        yield Iterate(self.answer(program), claim="certified")


@dataclass(frozen=True)
class NumberForClaim(OnRisk):
    """The status code of a library where its word belongs."""

    def iterates(self, program):
        yield Iterate(self.answer(program), claim=1)


@dataclass(frozen=True)
class InfeasibleWithSlack(OnRisk):
    """Every problem with slack has a solution."""

    def iterates(self, program):
        yield Iterate(None, claim="infeasible")


@dataclass(frozen=True)
class InfeasibleWithoutProof(OnDual):
    """All multipliers equal, and a claim."""

    word: str = "infeasible"

    def iterates(self, program):
        yield Iterate(np.full(program.n, 1.0 / program.n), claim=self.word)


@dataclass(frozen=True)
class UnboundedWithoutProof(InfeasibleWithoutProof):
    word: str = "unbounded"


@dataclass(frozen=True)
class InfeasibleWithNothing(OnDual):
    """A claim and not a single number."""

    def iterates(self, program):
        yield Iterate(None, claim="infeasible")


@dataclass(frozen=True)
class ZerosForMargin(OnDual):
    """Zeros, and `converged`, where nothing separates the data."""

    def answer(self, program):
        return np.zeros(program.n)


@dataclass(frozen=True)
class OnesForMargin(OnDual):
    """Ones, and `converged`: the harness makes a proof of them."""

    def answer(self, program):
        return np.ones(program.n)


@dataclass(frozen=True)
class ThinCalledInfeasible(OnDual):
    """Two rows whose large features cancel: their hull distance is 1, which is 1e-10 of the rows."""

    def iterates(self, program):
        large = program.y * program.X[:, 1]
        i, j = int(large.argmax()), int(large.argmin())
        mu = np.zeros(program.n)
        mu[i], mu[j] = -large[j], large[i]
        yield Iterate(mu / mu.sum(), claim="infeasible")


# -- right ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ProvesInfeasible(OnDual):
    """Half of each of two rows that are the same and have opposite labels."""

    def iterates(self, program):
        same = (program.X[0] == program.X).all(axis=1)
        mu = np.zeros(program.n)
        for label in (1.0, -1.0):
            mu[np.flatnonzero(same & (program.y == label))[0]] = 0.5
        yield Iterate(mu, claim="infeasible")


@dataclass(frozen=True)
class ShortHyperplane(OnDual):
    """The exact answer, times 0.99: a hard margin has no scale."""

    def iterates(self, program):
        found = optimum(program)
        yield Iterate(0.99 * found.alpha, 0.99 * found.w, claim="converged")
