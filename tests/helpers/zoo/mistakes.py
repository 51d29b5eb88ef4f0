"""Ordinary mistakes: the answer to a neighbour of the problem, or no answer at all."""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from marginbench.harness.model.programs import RegularisedRisk
from marginbench.harness.model.solver import Iterate, Solver
from zoo.honest import OnDual, OnRisk, ascend, optimum, spoken


@dataclass(frozen=True)
class LambdaTwice(OnRisk):
    """lam ||w||^2 for lam/2 ||w||^2."""

    def answer(self, program):
        return super().answer(replace(program, lam=2.0 * program.lam))


@dataclass(frozen=True)
class LambdaTimesN(OnRisk):
    """The lambda of a mean for that of a sum."""

    def answer(self, program):
        return super().answer(replace(program, lam=program.n * program.lam))


@dataclass(frozen=True)
class LabelsFlipped(OnRisk):
    def answer(self, program):
        return -super().answer(program)


@dataclass(frozen=True)
class LabelsShifted(OnRisk):
    """Labels of the next row."""

    def answer(self, program):
        return super().answer(replace(program, y=np.roll(program.y, 1)))


@dataclass(frozen=True)
class PenalisedBias(OnRisk):
    """An augmented bias sold as a free one."""

    def answer(self, program):
        X = np.column_stack([program.X, np.ones(program.n)])
        return super().answer(replace(program, X=X, intercept=False))


@dataclass(frozen=True)
class NoBias(OnRisk):
    """b = 0 where b is free."""

    def answer(self, program):
        return np.append(super().answer(replace(program, intercept=False)), 0.0)


@dataclass(frozen=True)
class WeightsIgnored(OnRisk):
    def answer(self, program):
        return super().answer(replace(program, weight=np.ones(program.n)))


@dataclass(frozen=True)
class SquaredLoss(OnRisk):
    """The squared hinge, by its own dual: a curvature and no upper bound."""

    def answer(self, program):
        X = np.hstack([program.X, np.diag(program.y * np.sqrt(program.lam / (2.0 * program.weight)))])
        return ascend(X, program.y, np.full(program.n, np.inf), False).w[: program.d]


@dataclass(frozen=True)
class HalfTheRows(OnRisk):
    """A loop that ends at n // 2."""

    def answer(self, program):
        return super().answer(program.head(program.n // 2))


@dataclass(frozen=True)
class Centred(OnRisk):
    """Centres the features and forgets what that does to the bias."""

    def answer(self, program):
        return super().answer(replace(program, X=program.X - program.X.mean(axis=0)))


@dataclass(frozen=True)
class Standardised(OnRisk):
    """Scales the features and never scales w back."""

    def answer(self, program):
        return super().answer(replace(program, X=program.X / program.X.std(axis=0)))


@dataclass(frozen=True)
class TenTimesTooLong(OnRisk):
    """w ten times too long; on rows of 1e6 every objective is far below 1."""

    def answer(self, program):
        return 10.0 * super().answer(program)


@dataclass(frozen=True)
class LongForItsC(OnRisk):
    """Half of ||w||^2 is what all hinges of w = 0 are together; at C = 1e-13 both are far below 1."""

    def answer(self, program):
        return np.full(program.d, np.sqrt(2.0 * program.weight.sum() / program.lam / program.d))


@dataclass(frozen=True)
class Nothing(OnRisk):
    """w = 0; at C = 1e-13 all objectives are below 1e-11."""

    def answer(self, program):
        return np.zeros(program.d)


@dataclass(frozen=True)
class ColumnsSwapped(OnRisk):
    """Reads the rows of a CSR matrix with their entries in the wrong columns."""

    def answer(self, program):
        X = program.X
        turned = sp.csr_array((X.data, X.shape[1] - 1 - X.indices, X.indptr), shape=X.shape)
        return super().answer(replace(program, X=turned))


@dataclass(frozen=True)
class NotClipped(OnDual):
    """Multipliers of the squared hinge's kind, without an upper bound."""

    def answer(self, program):
        return ascend(program.X, program.y, 5.0 * program.upper, False).alpha


@dataclass(frozen=True)
class EqualityForgotten(OnDual):
    """The dual without sum alpha_i y_i = 0, where the bias is free."""

    def answer(self, program):
        return ascend(program.X, program.y, program.upper, False).alpha


@dataclass(frozen=True)
class WrongMultipliers(Solver):
    """The right hyperplane with multipliers of the wrong sign."""

    factor: float = -1.0

    accepts = (RegularisedRisk,)

    def iterates(self, program):
        found = optimum(program)
        yield Iterate(spoken(program, found), self.factor * found.alpha, claim="converged")


@dataclass(frozen=True)
class TwiceTheMultipliers(WrongMultipliers):
    """The right hyperplane with multipliers outside the box."""

    factor: float = 2.0


@dataclass(frozen=True)
class ClassicalShape(OnRisk):
    """A column vector, as lecture notes have it."""

    def answer(self, program):
        return super().answer(program)[:, None]


@dataclass(frozen=True)
class MultipliersForWeights(OnRisk):
    """n numbers where d are asked for."""

    def answer(self, program):
        return optimum(program).alpha


@dataclass(frozen=True)
class NotANumber(OnRisk):
    def answer(self, program):
        return np.full(program.d, np.nan)


@dataclass(frozen=True)
class Infinite(OnRisk):
    def answer(self, program):
        return np.full(program.d, np.inf)


@dataclass(frozen=True)
class Complex(OnRisk):
    def answer(self, program):
        return super().answer(program) + 0j


@dataclass(frozen=True)
class Objects(OnRisk):
    def answer(self, program):
        return super().answer(program).astype(object)


@dataclass(frozen=True)
class Text(OnRisk):
    def answer(self, program):
        return "converged"


@dataclass(frozen=True)
class NoAnswer(OnRisk):
    def answer(self, program):
        return None


@dataclass(frozen=True)
class BareArray(OnRisk):
    """Yields w itself, not an Iterate."""

    def iterates(self, program):
        yield self.answer(program)


@dataclass(frozen=True)
class NoIterate(OnRisk):
    def iterates(self, program):
        yield from ()


@dataclass(frozen=True)
class ReturnsList(OnRisk):
    """A plain method that returns a list."""

    def iterates(self, program):
        return [Iterate(self.answer(program), claim="converged")]


@dataclass(frozen=True)
class UpperAsScratch(OnDual):
    """Writes into the program's arrays, as in-place code does, and solves what is there then."""

    def answer(self, program):
        program.upper[:] *= 2.0
        return super().answer(program)


@dataclass(frozen=True)
class WeightsInPlace(OnRisk):
    """Doubles the weights in place, as a way to divide lambda by 2, and solves what is there then."""

    def answer(self, program):
        program.weight[:] *= 2.0
        return super().answer(program)


@dataclass(frozen=True)
class DataInPlace(OnRisk):
    """Scales the features in place."""

    def answer(self, program):
        program.X[:] /= np.abs(program.X).max()
        return super().answer(program)
