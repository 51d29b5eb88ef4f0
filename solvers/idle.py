"""Does nothing: yields the point it starts from, once. What its cell costs is what the harness costs."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from marginbench.harness.model.programs import BoxDual, Program
from marginbench.harness.model.solver import Iterate, Solver


@dataclass(frozen=True)
class Idle(Solver):
    accepts = (BoxDual,)

    def iterates(self, program: Program) -> Iterator[Iterate]:
        assert isinstance(program, BoxDual)
        yield Iterate(np.zeros(program.n), claim="limit")
