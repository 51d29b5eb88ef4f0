"""P, D and the gap of a point in exact rational arithmetic: what every bound is held against."""

from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from marginbench.harness.model.problem import Problem

ZERO = Fraction(0)


def fractions(x) -> list[Fraction]:
    return [Fraction(float(entry)) for entry in x]


def rows(problem: Problem) -> list[list[Fraction]]:
    X = problem.X.toarray() if sp.issparse(problem.X) else problem.X
    return [fractions(row) for row in X]


def margins(problem: Problem, w, b) -> list[Fraction]:
    v = fractions(w)
    return [
        int(y) * (sum((x * c for x, c in zip(row, v, strict=True)), ZERO) + Fraction(b))
        for row, y in zip(rows(problem), problem.y, strict=True)
    ]


def norm2(problem: Problem, w, b) -> Fraction:
    constant = Fraction(b) / Fraction(problem.s) if problem.bias == "augmented" else ZERO
    return sum((x * x for x in fractions(w)), ZERO) + constant**2


def primal(problem: Problem, w, b) -> Fraction:
    """P(w, b); at the hard margin of the multiple of (w, b) whose smallest margin is 1."""
    m = margins(problem, w, b)
    if problem.hard:
        return norm2(problem, w, b) / (2 * min(m) ** 2)
    power = 1 if problem.loss == "hinge" else 2
    slack = [max(ZERO, 1 - one) ** power for one in m]
    loss = sum((c * t for c, t in zip(fractions(problem.penalty), slack, strict=True)), ZERO)
    return norm2(problem, w, b) / 2 + loss


def pull2(problem: Problem, alpha) -> Fraction:
    """||w(alpha)||^2, with the constant feature"""
    v = [a * int(y) for a, y in zip(fractions(alpha), problem.y, strict=True)]
    columns = [list(column) for column in zip(*rows(problem), strict=True)]
    if problem.bias == "augmented":
        columns.append([Fraction(problem.s)] * problem.n)
    return sum((sum((a * x for a, x in zip(v, column, strict=True)), ZERO) ** 2 for column in columns), ZERO)


def dual(problem: Problem, alpha) -> Fraction:
    """D(alpha); at the hard margin of the best multiple of alpha."""
    a = fractions(alpha)
    if problem.hard:
        return sum(a, ZERO) ** 2 / (2 * pull2(problem, alpha))
    value = sum(a, ZERO) - pull2(problem, alpha) / 2
    if problem.loss == "squared_hinge":
        value -= sum((x * x / (4 * c) for x, c in zip(a, fractions(problem.penalty), strict=True)), ZERO)
    return value


def feasible(problem: Problem, alpha) -> bool:
    """Exactly."""
    balance = sum((a * int(y) for a, y in zip(fractions(alpha), problem.y, strict=True)), ZERO)
    inside = bool((alpha >= 0.0).all() and (alpha <= problem.upper).all())
    return inside and (problem.bias != "free" or balance == 0)


def gap(p: Fraction, d: Fraction) -> Fraction:
    return (p - d) / p if p else ZERO


def number(value: Fraction) -> float:
    """For messages."""
    return float(np.float64(value.numerator) / np.float64(value.denominator)) if value else 0.0
