"""The solvers of `wrong_solvers` as what contracts are checked on."""

from pathlib import Path

from marginbench.harness.commands.listing import configs
from marginbench.harness.validation.testbed import Setting, Subject

FORMULATIONS = {
    name: config for name, config, _ in configs("formulation", [Path(__file__).resolve().parents[2] / "conf"])
}
CLARABEL = {"_target_": "marginbench.solvers.clarabel_qp.ClarabelQp"}
REFERENCE = {
    "soft": {"formulation": FORMULATIONS["primal_qp"], "solver": CLARABEL},
    "hard": {"formulation": FORMULATIONS["hard_primal_qp"], "solver": CLARABEL},
    "budget": {"seconds": 5.0, "gap": 1e-10},
}


def subject(name: str, *biases: str) -> Subject:
    """Of contracts, with the sum of hinges and each of these biases."""
    settings = tuple(
        Setting("regularised_sum", FORMULATIONS["regularised_sum"], {"C": 1.0, "bias": bias, "loss": "hinge"})
        for bias in biases
    )
    return Subject({"_target_": f"wrong_solvers.{name}"}, settings, REFERENCE, 1e-6, 2.0)
