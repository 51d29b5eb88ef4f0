"""qpsolvers: one quadratic program, and any library that it finds here. Caron and others (2024).

    min 1/2 x'Px + q'x   subject to   Gx <= h,  Ax = b,  lb <= x <= ub;   Px + q + G'z + A'y + z_box = 0

One rung: the library as qpsolvers sets it up by default, with `options` passed on. The interface tells whether a
solution was found, and not why there is none.
"""

import importlib.util
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from marginbench.harness.model.adapters import Adapter, words
from marginbench.harness.model.bounded_qp import bounded
from marginbench.harness.model.problem import InputError
from marginbench.harness.model.programs import Program, QuadraticProgram
from marginbench.harness.model.solver import Iterate

UNCHECKED = "clarabel"  # comes with marginbench: to look for others, qpsolvers imports every library there is


@dataclass(frozen=True)
class QpsolversAny(Adapter):
    """name: qpsolvers' name of the library, in any case. options: settings of the library.
    accuracy: what may be asked of any library at its default tolerance."""

    name: str = UNCHECKED
    options: Mapping[str, Any] = field(default_factory=dict)

    accepts = (QuadraticProgram,)
    requires: ClassVar = {"qpsolvers": "qp"}
    licence = "LGPL-3.0"
    restarts = True
    accuracy = 1e-2

    def __post_init__(self) -> None:
        there = importlib.util.find_spec("qpsolvers") is not None
        if there and self.library != UNCHECKED and self.library not in found_by_qpsolvers():
            found = ", ".join(found_by_qpsolvers())
            raise InputError(f"solver.name={self.name}: qpsolvers finds no such solver here; possible are {found}")

    @property
    def library(self) -> str:
        return str(self.name).lower()

    def iterates(self, program: Program) -> Iterator[Iterate]:
        import qpsolvers

        assert isinstance(program, QuadraticProgram)
        qp = bounded(program)
        G, A = (
            None if M.shape[0] == 0 else sp.csc_matrix(M) if self.library in qpsolvers.sparse_solvers else M.toarray()
            for M in (qp.A[qp.zero :], qp.A[: qp.zero])
        )
        P = sp.csc_matrix(program.P) if self.library in qpsolvers.sparse_solvers else program.P.toarray()
        h, b = (None if M is None else part for M, part in ((G, qp.b[qp.zero :]), (A, qp.b[: qp.zero])))
        problem = qpsolvers.Problem(P, program.q, G, h, A, b, qp.lower, qp.upper)
        with warnings.catch_warnings(record=True, action="always") as heard:
            try:
                found = qpsolvers.solve_problem(problem, solver=self.library, **self.options)
            except qpsolvers.QPError as error:
                yield Iterate(None, claim="failed", said=str(error))
                return
        info = {"library_seconds": found.solve_time, "library": self.library, "settings": dict(self.options)}
        if found.x is None:
            said = words(heard) or f"{self.library} through qpsolvers found no solution"
            yield Iterate(None, claim="failed", said=said, info=info)
            return
        prices = -np.concatenate([given(found.y, qp.zero), given(found.z, qp.b.size - qp.zero)])
        z = qp.multipliers(prices, -given(found.z_box, program.q.size))
        yield Iterate(found.x, z, "converged" if found.found else "inaccurate", words(heard), info)


def given(multipliers: Any, size: int) -> np.ndarray:
    """Of no constraints it gives None, an empty list or an empty array."""
    return np.zeros(size) if multipliers is None or len(multipliers) == 0 else np.asarray(multipliers)


@cache
def found_by_qpsolvers() -> list[str]:
    import qpsolvers

    return sorted(qpsolvers.available_solvers)
