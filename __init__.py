"""marginbench: certified benchmarks of solvers for the linear max-margin problem.

    import marginbench as mb

    X, y = mb.load("breast_cancer")
    mb.solve(X, y, method="coordinate_descent", C=1.0)             one method, its answer and its certificate
    mb.compare(X, y, methods=["auto", "pegasos"], C=[0.1, 1.0])    many, each in a process of its own
    mb.certify(LinearSVC().fit(X, y), X, y)                        what a fitted estimator is worth
    mb.estimator(method="auto", C=1.0)                             any method as a scikit-learn classifier
    mb.validate("mine.py:Mine")                                    a solver against the reference problems

The default bias is `augmented`, as on the command line: b is penalised like a weight.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from marginbench.harness.interface.certificate import Certificate
    from marginbench.harness.interface.certify import certify
    from marginbench.harness.interface.classifier import estimator
    from marginbench.harness.interface.comparison import compare
    from marginbench.harness.interface.loading import load
    from marginbench.harness.interface.problem import Problem
    from marginbench.harness.interface.solution import solve
    from marginbench.harness.interface.validation import validate
    from marginbench.harness.model.programs import BoxDual, ConeProgram, QuadraticProgram, RegularisedRisk
    from marginbench.harness.model.solver import Iterate, Solver

    __version__: str

__all__ = [
    "BoxDual",
    "Certificate",
    "ConeProgram",
    "Iterate",
    "Problem",
    "QuadraticProgram",
    "RegularisedRisk",
    "Solver",
    "__version__",
    "certify",
    "compare",
    "estimator",
    "load",
    "solve",
    "validate",
]

_HOMES = {
    "harness.interface.certificate": ("Certificate",),
    "harness.interface.certify": ("certify",),
    "harness.interface.classifier": ("estimator",),
    "harness.interface.comparison": ("compare",),
    "harness.interface.loading": ("load",),
    "harness.interface.problem": ("Problem",),
    "harness.interface.solution": ("solve",),
    "harness.interface.validation": ("validate",),
    "harness.model.programs": ("BoxDual", "ConeProgram", "QuadraticProgram", "RegularisedRisk"),
    "harness.model.solver": ("Iterate", "Solver"),
}
"""Where each name is defined. It is imported when it is first used: `import marginbench` itself loads nothing."""


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("marginbench")
    for module, names in _HOMES.items():
        if name in names:
            found = getattr(importlib.import_module(f"{__name__}.{module}"), name)
            globals()[name] = found
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
