"""scikit-learn's toy problem: with C = 1 and a free bias, two multipliers are 0.25 and the others 0."""

import numpy as np
import pytest
from adapters import ROOT

from marginbench.datasets.small import small
from marginbench.harness.cell.run import run_cell
from marginbench.harness.cell.spec import Cell, answers, missing
from marginbench.harness.commands.pairs import fits, made
from marginbench.harness.model.problem import Problem

ASKED = {"C": 1.0, "bias": "free"}
FORMULATIONS, SOLVERS = made("formulation", [ROOT / "conf"]), made("solver", [ROOT / "conf"])
ROUGH = 2e-2
"""The gap that smoothing may leave: C n delta / 2 is 3e-3, of an optimum of 1/4."""
PAIRS = [
    (fit.formulation, fit.solver)
    for fit in fits(FORMULATIONS, SOLVERS)
    if (fit.bias, fit.loss, fit.kernel) == ("free", "hinge", "linear")
    and FORMULATIONS[fit.formulation].judge == "optimum"
    and missing(SOLVERS[fit.solver]) is None
    and SOLVERS[fit.solver].accuracy <= 1e-2  # rougher ones are methods of the primal alone, without multipliers
    and fit.solver != "idle"  # does nothing, to measure the harness
]


def target(thing) -> dict[str, str]:
    return {"_target_": f"{type(thing).__module__}.{type(thing).__qualname__}"}


@pytest.mark.parametrize(("formulation", "solver"), PAIRS, ids=[" + ".join(pair) for pair in PAIRS])
def test_multipliers_are_a_quarter_at_two_points(formulation, solver):
    """Every multiplier is below C: the hard margin has the same ones."""
    X, y = small("toy")
    chosen = FORMULATIONS[formulation], SOLVERS[solver]
    gap = max(1e-7, chosen[1].accuracy if chosen[1].accuracy > 1e-6 else 0.0, 0.0 if chosen[0].exact else ROUGH)
    budget = {"gap": gap, "seconds": 60.0}
    outcome = run_cell(Cell({}, ASKED, *map(target, chosen), "toy", formulation, solver, budget=budget), X, y, "")
    alpha = None if outcome.point is None else outcome.point.alpha
    if alpha is not None:  # a method of the primal alone has none
        assert outcome.record.status == "solved", outcome.record.message
        if not answers(chosen[0], Problem(X, y, **ASKED)):
            alpha = np.maximum(alpha, 0.0) / (2.0 * np.maximum(alpha, 0.0).sum())  # there only its direction is judged
        # D falls by 4 t^2 where both grow by t: a gap of 1/4 `gap` allows t = sqrt(gap) / 4
        assert alpha == pytest.approx([0.0, 0.25, 0.0, 0.25, 0.0, 0.0], abs=max(1e-3, 2.0 * gap**0.5))
