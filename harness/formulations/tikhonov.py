"""Tikhonov regularisation of the mean hinge loss.

    min  (1/n) sum_i weight_i max(0, 1 - m_i) + lam ||w||^2,   lam = 1 / (2 C n)

The objective is P(w, b) / (C n), in the same (w, b). Its ||w||^2 has no half, so that as a `RegularisedRisk`, which
has one, the coefficient is 2 lam.
"""

from dataclasses import dataclass

from marginbench.harness.formulations.common import HingeRisk, risk, sample_weight
from marginbench.harness.model.formulation import Lesson
from marginbench.harness.model.lambdas import tikhonov_lambda
from marginbench.harness.model.problem import Problem
from marginbench.harness.model.programs import Hinge, Program, RegularisedRisk


@dataclass(frozen=True)
class Tikhonov(HingeRisk):
    lesson = Lesson(8, "The same hyperplane as a loss and a penalty: hinge loss plus λ‖w‖², λ = 1 / (2 C n).")
    objective = "the Tikhonov objective"

    def program(self, problem: Problem, kind: type[Program]) -> RegularisedRisk:
        lam = tikhonov_lambda(problem.C, problem.n)
        return risk(problem, 2.0 * lam, sample_weight(problem) / problem.n, Hinge())
