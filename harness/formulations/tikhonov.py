"""Tikhonov regularisation of the mean hinge loss.

    min  (1/n) sum_i weight_i max(0, 1 - m_i) + lam ||w||^2,   lam = 1 / (2 C n)

The objective is P(w, b) / (C n), in the same (w, b). Its ||w||^2 has no half, so that as a `RegularisedRisk`, which
has one, the coefficient is 2 lam.
"""

from dataclasses import dataclass
from typing import ClassVar

from marginbench.harness.formulations.common import needs_soft_hinge, risk, risk_point, sample_weight
from marginbench.harness.model.formulation import Formulation
from marginbench.harness.model.problem import Point, Problem, tikhonov_lambda
from marginbench.harness.model.programs import Hinge, Program, RegularisedRisk
from marginbench.harness.model.solver import Iterate


@dataclass(frozen=True)
class Tikhonov(Formulation):
    gives: ClassVar[tuple[type[Program], ...]] = (RegularisedRisk,)

    def refuses(self, problem: Problem) -> str | None:
        return needs_soft_hinge(problem, "the Tikhonov objective")

    def program(self, problem: Problem, kind: type[Program]) -> RegularisedRisk:
        lam = tikhonov_lambda(problem.C, problem.n)
        return risk(problem, 2.0 * lam, sample_weight(problem) / problem.n, Hinge())

    def point(self, problem: Problem, program: Program, iterate: Iterate) -> Point:
        return risk_point(problem, iterate)
