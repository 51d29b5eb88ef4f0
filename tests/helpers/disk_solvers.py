"""A solver for tests only: it changes the file that its data are mapped from."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from marginbench.harness.model.programs import BoxDual
from marginbench.harness.model.solver import Iterate, Solver


@dataclass(frozen=True)
class ChangesData(Solver):
    accepts = (BoxDual,)

    def iterates(self, program):
        for path in Path(os.environ["MARGINBENCH_CACHE"]).glob("data/*/X.npy"):
            with path.open("r+b") as file:
                file.seek(-8, os.SEEK_END)
                file.write(np.float64(8.0).tobytes())
        yield Iterate(np.zeros(program.n), claim="converged")
