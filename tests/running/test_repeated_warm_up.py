"""What a solver is warmed up for in the process that it is forked from, it meets anew in its own."""

import numpy as np
import pytest

from marginbench.harness.cell.spec import Cell
from marginbench.harness.running.isolation import Isolation
from marginbench.harness.running.job import Limits
from marginbench.harness.running.mapped_data import spill


@pytest.mark.parametrize(
    ("seconds", "late", "above", "here", "accounted"),
    [(0.0, 0.0, 2, 1, True), (0.03, 0.0, 4, 0, True), (0.0, 0.3, 2, 1, False)],
)
def test_a_short_warm_up_is_repeated_in_the_process_that_solves(seconds, late, above, here, accounted, tmp_path):
    """Before its clock runs, a process may meet its code for some milliseconds, and no longer: who works there instead
    is found out. One that seems long is tried three times above: a busy machine may have made it so."""
    X = 0.02 * np.random.default_rng(0).normal(size=(40, 3))  # so short that alpha = upper is the optimum
    data = spill(X, np.where(X[:, 0] > 0, 1.0, -1.0), "short", tmp_path)
    cell = Cell(
        dataset={},
        problem={"C": 1.0, "bias": "none"},
        formulation={"_target_": "marginbench.harness.formulations.dual_qp.DualQP"},
        solver={"_target_": "faulty.Warmed", "seconds": seconds, "late": late},
        dataset_name="short rows",
        formulation_name="dual_qp",
        solver_name="warmed",
        budget={"seconds": 5.0, "gap": 1e-9},
    )
    with Isolation() as isolation:
        record = isolation.run(cell, data, "d", None, Limits(seconds=10.0, memory_mb=300.0)).record
    assert (record.status, record.info["above"], record.info["here"]) == ("solved", above, here)
    assert ("not accounted for" not in record.message) is accounted
