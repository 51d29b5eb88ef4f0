"""The objective of Pegasos.

    min  lam/2 ||w||^2 + (1/n) sum_i weight_i max(0, 1 - m_i),   lam = 1 / (C n)

The objective is P(w, b) / (C n), in the same (w, b). Shalev-Shwartz, Singer, Srebro, Cotter (2011), equation (1).
"""

from dataclasses import dataclass
from typing import ClassVar

from marginbench.harness.formulations.common import needs_soft_hinge, risk, risk_point, sample_weight
from marginbench.harness.model.formulation import Formulation
from marginbench.harness.model.problem import Point, Problem, pegasos_lambda
from marginbench.harness.model.programs import Hinge, Program, RegularisedRisk
from marginbench.harness.model.solver import Iterate


@dataclass(frozen=True)
class Pegasos(Formulation):
    gives: ClassVar[tuple[type[Program], ...]] = (RegularisedRisk,)

    def refuses(self, problem: Problem) -> str | None:
        return needs_soft_hinge(problem, "the Pegasos objective")

    def program(self, problem: Problem, kind: type[Program]) -> RegularisedRisk:
        lam = pegasos_lambda(problem.C, problem.n)
        return risk(problem, lam, sample_weight(problem) / problem.n, Hinge())

    def point(self, problem: Problem, program: Program, iterate: Iterate) -> Point:
        return risk_point(problem, iterate)
