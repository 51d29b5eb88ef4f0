"""The objective of Pegasos.

    min  lam/2 ||w||^2 + (1/n) sum_i weight_i max(0, 1 - m_i),   lam = 1 / (C n)

The objective is P(w, b) / (C n), in the same (w, b). Shalev-Shwartz, Singer, Srebro, Cotter (2011), equation (1).
"""

from dataclasses import dataclass

from marginbench.harness.formulations.common import HingeRisk, risk, sample_weight
from marginbench.harness.model.formulation import Lesson
from marginbench.harness.model.lambdas import pegasos_lambda
from marginbench.harness.model.problem import Problem
from marginbench.harness.model.programs import Hinge, Program, RegularisedRisk


@dataclass(frozen=True)
class Pegasos(HingeRisk):
    lesson = Lesson(10, "One row at a time, in steps that shrink like 1 / t: cheap, fast at first, never quite still.")
    objective = "the Pegasos objective"

    def program(self, problem: Problem, kind: type[Program]) -> RegularisedRisk:
        lam = pegasos_lambda(problem.C, problem.n)
        return risk(problem, lam, sample_weight(problem) / problem.n, Hinge())
