"""The max-margin problem as a Python user states it: any labels, a DataFrame if they like, the default bias."""

from dataclasses import InitVar, dataclass
from pathlib import Path
from typing import Any

import yaml

from marginbench.harness.interface.data import Classes, checked, classes_of
from marginbench.harness.model import problem as model
from marginbench.harness.model.kernel import Kernel, kernel_of
from marginbench.harness.model.problem import Bias

RUN = Path(__file__).resolve().parents[2] / "conf" / "run.yaml"


DEFAULT_BIAS: Any = yaml.safe_load(RUN.read_text())["problem"]["bias"]
"""`augmented`: that of the command line, read from its configuration."""


@dataclass(frozen=True, eq=False, repr=False)
class Problem(model.Problem):
    """min 1/2 ||w||^2 + C sum_i weight_i max(0, 1 - m_i),  m_i = y_i (w.x_i + b).

    bias: `augmented` (the default, as on the command line: b is penalised, a constant feature s joins x), `free` or
    `none`: three different problems. C = inf is the hard margin. loss: `hinge` or `squared_hinge`.
    kernel: by name, as for `solve`, with its parameters; the problem is that of K + eps I, `eps` proven.
    classes: the labels that stand for -1 and +1; the larger one is positive unless `positive` says otherwise.

    >>> import numpy as np
    >>> import marginbench as mb
    >>> problem = mb.Problem([[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"], C=10.0)
    >>> problem.classes.positive, problem.bias
    ('yes', 'augmented')
    >>> problem.primal(np.array([1.0]), -1.5)
    11.625
    """

    bias: Bias = DEFAULT_BIAS
    kernel: Any = None
    classes: Classes | None = None
    positive: InitVar[object] = None
    gamma: InitVar[float | None] = None
    sigma: InitVar[float | None] = None
    coef0: InitVar[float | None] = None
    degree: InitVar[int | None] = None

    def __post_init__(
        self,
        positive: object,
        gamma: float | None,
        sigma: float | None,
        coef0: float | None,
        degree: int | None,
    ) -> None:
        if self.classes is None:
            classes = classes_of(self.y, positive)
            X, y = checked(self.X, classes.signs(self.y))
            for name, value in (("X", X), ("y", y), ("classes", classes)):
                object.__setattr__(self, name, value)
        given = {"gamma": gamma, "sigma": sigma, "coef0": coef0, "degree": degree}
        if not isinstance(self.kernel, Kernel):
            name = "linear" if self.kernel is None else self.kernel
            object.__setattr__(self, "kernel", kernel_of(name, given, self.d))
        super().__post_init__()

    def __repr__(self) -> str:
        return f"Problem({described(self)})"


def described(problem: model.Problem) -> str:
    """One line: what is asked of which data."""
    parts = [f"n={problem.n}", f"d={problem.d}", f"C={problem.C:g}", f"bias={problem.bias}", f"loss={problem.loss}"]
    if problem.bias == "augmented" and problem.s != 1.0:
        parts.append(f"s={problem.s:g}")
    if problem.weight is not None:
        parts.append("weighted rows")
    if problem.kernel is not None:
        parts.append(f"{problem.kernel}, eps={problem.eps:.1e}")
    return ", ".join(parts)
