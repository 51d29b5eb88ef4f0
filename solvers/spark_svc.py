"""Spark's LinearSVC: OWL-QN, a quasi-Newton method, on the hinge itself. Meng and others (2016), MLlib. Needs Java.

    min reg/2 ||w||^2 + sum_i weight_i h(m_i) / sum_i weight_i,   reg = lam / sum_i weight_i

Without its standardisation and its intercept, this is our problem. A ladder: one cold solve per tolerance. Spark runs
in a Java process beside ours. Each solve starts one, as a user's does: some seconds of its time. What it costs is wall
seconds; CPU seconds of the Java process are not among ours.
"""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from marginbench.harness.model.adapters import RiskLadder
from marginbench.harness.model.problem import InputError
from marginbench.harness.model.programs import Hinge, Program, RegularisedRisk
from marginbench.harness.model.solver import Claim, Iterate

QUIET = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
}
"""On this machine alone, and without a page of its own."""


@dataclass(frozen=True)
class SparkSvc(RiskLadder):
    """tolerances: the rungs; 1e-6 is the library's own default. max_iter: of each rung; its own default is 100.
    memory_mb: of the Java process, for its heap. master: where Spark runs; none: here, on the cores of the cell."""

    tolerances: Sequence[float] = (1e-2, 1e-4, 1e-6, 1e-8)
    max_iter: int = 1000
    memory_mb: int = 1024
    master: str | None = None

    requires: ClassVar = {"pyspark": "spark"}
    licence = "Apache-2.0"
    name, losses, bias = "Spark's LinearSVC", (Hinge,), "is used without its intercept"
    memory_field = "memory_mb"
    accuracy = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.memory_mb, bool) or not isinstance(self.memory_mb, int) or self.memory_mb < 1:
            raise InputError(f"solver.memory_mb={self.memory_mb}: needs a whole number of MB, at least 1")

    def refuses(self, program: Program) -> str | None:
        if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
            return "Spark needs Java: there is no java on the PATH, and JAVA_HOME is not set"
        return super().refuses(program)

    def warm_up(self, program: Program) -> None:
        """Imported, not started: a process that others are forked from must have neither threads nor children."""
        import pyspark.ml.classification  # noqa: F401

    def solve(self, program: Program, tolerance: float) -> Iterate:
        from pyspark.ml.classification import LinearSVC

        assert isinstance(program, RegularisedRisk)
        table = self._table(program)
        method = LinearSVC(
            regParam=float(program.lam / program.weight.sum()),
            tol=tolerance,
            maxIter=self.max_iter,
            standardization=False,
            fitIntercept=False,
            weightCol="weight",
        )
        model = method.fit(table)
        steps = int(model.summary().totalIterations)
        claim: Claim = "converged" if steps < self.max_iter else "limit"
        return Iterate(np.array(model.coefficients.toArray()), None, claim, info={"library_iterations": steps})

    def _session(self, threads: int) -> Any:
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master(self.master or f"local[{threads}]").appName("marginbench")
        for key, value in (QUIET | {"spark.driver.memory": f"{self.memory_mb}m"}).items():
            builder = builder.config(key, value)
        return builder.getOrCreate()

    def _table(self, program: RegularisedRisk) -> Any:
        """The samples as Spark has them: a column of vectors, one of labels 0 and 1, one of weights."""
        from pyspark.ml.functions import array_to_vector
        from pyspark.ml.linalg import Vectors

        session, X = self._session(program.threads), program.X
        labels, weights = (program.y > 0).astype(float), program.weight
        if not sp.issparse(X):
            import pyarrow as pa

            ends = pa.array(np.arange(0, X.size + 1, X.shape[1], dtype=np.int32))
            rows = pa.ListArray.from_arrays(ends, pa.array(X.reshape(-1)))
            table = session.createDataFrame(pa.table({"row": rows, "label": labels, "weight": weights}))
            return table.select(array_to_vector(table["row"]).alias("features"), "label", "weight").cache()
        entries = (
            (Vectors.sparse(X.shape[1], X.indices[a:b], X.data[a:b]), float(label), float(weight))
            for a, b, label, weight in zip(X.indptr[:-1], X.indptr[1:], labels, weights, strict=True)
        )
        return session.createDataFrame(entries, ["features", "label", "weight"]).cache()
