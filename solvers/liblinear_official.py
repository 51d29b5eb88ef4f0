"""LIBLINEAR by its authors' own interface, and its multicore version. Fan, Chang, Hsieh, Wang, Lin (2008); for many
threads Chiang, Lee, Lin (2016).

    min 1/2 ||w||^2 + C sum_i h(m_i),   C = weight / lam, one for all rows

-s 3 for the hinge and -s 1 for the squared hinge: coordinate descent in the dual. A ladder over its tolerance. It stops
after 300 epochs, and there is no option for that number. It says so only in its log, which is read here: `limit`.
The bias is never its own: an augmented one is a column of X already. It does not return its multipliers.
Both packages are called `liblinear`: the one installed last takes the place of the other.
"""

import ctypes
import importlib.util
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from marginbench.harness.model.adapters import RiskLadder
from marginbench.harness.model.programs import Hinge, Program, RegularisedRisk, SquaredHinge
from marginbench.harness.model.solver import Iterate


@dataclass(frozen=True)
class LiblinearOfficial(RiskLadder):
    """tolerances: the rungs; 0.1 is the library's own default. seed: of the order of the coordinates."""

    tolerances: Sequence[float] = (1e-1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8, 1e-10)
    seed: int = 0

    requires: ClassVar = {"liblinear": "peers"}
    licence = "BSD-3-Clause"
    name, losses, bias, sample_weights = "LIBLINEAR", (Hinge, SquaredHinge), "penalises its bias", False
    multicore: ClassVar[bool] = False

    def refuses(self, program: Program) -> str | None:
        there = multicore_is_installed()
        if there is None or there == self.multicore:
            return super().refuses(program)
        names = {True: "liblinear-multicore", False: "liblinear-official"}
        wanted = names[self.multicore]
        return f"{names[there]} is in its place: pip install --force-reinstall --no-deps {wanted}"

    def options(self, program: RegularisedRisk, tolerance: float) -> str:
        C = float(program.weight[0] / program.lam)
        return f"-s {3 if isinstance(program.loss, Hinge) else 1} -c {C!r} -e {tolerance!r}"

    def solve(self, program: Program, tolerance: float) -> Iterate:
        from liblinear import liblinear as interface
        from liblinear.liblinearutil import train

        assert isinstance(program, RegularisedRisk)
        log: list[str] = []
        options = self.options(program, tolerance)
        parameter = interface.parameter(f"{options} -q")
        parameter.print_func = interface.PRINT_STRING_FUN(lambda text: log.append(text.decode()))
        ctypes.CDLL(None).srand(self.seed)  # it draws from the C library
        model = train(interface.problem(program.y, sp.csr_matrix(program.X)), parameter)
        w = np.array(model.w[: program.d]) * (1.0 if model.get_labels()[0] > 0 else -1.0)
        said = "".join(log)
        epochs = re.findall(r"#iter = (\d+)", said)
        stopped = "reaching max number of iterations" in said
        return Iterate(
            w,
            claim="limit" if stopped else "converged",
            said="WARNING: reaching max number of iterations" if stopped else "",
            info={"library_iterations": int(epochs[0]) if epochs else None, "settings": options},
        )


@dataclass(frozen=True)
class LiblinearMulticore(LiblinearOfficial):
    """On as many threads as the cell has."""

    requires: ClassVar = {"liblinear": "multicore"}
    multicore: ClassVar[bool] = True

    def options(self, program: RegularisedRisk, tolerance: float) -> str:
        return f"{super().options(program, tolerance)} -m {program.threads}"


def multicore_is_installed() -> bool | None:
    """Which of the two packages `liblinear` is: only one of them knows threads. None where there is neither."""
    found = importlib.util.find_spec("liblinear")
    if found is None or found.origin is None:
        return None
    return "nr_thread" in Path(found.origin).with_name("liblinear.py").read_text()
