"""Names of version 0.1, in users' YAML and in old records, and what they are called now.

Until 0.1 the packages were installed as `harness`, `solvers` and `datasets`. The short names are not importable any
more; they are translated where they are read.
"""

PACKAGES = ("harness", "solvers", "datasets")

MOVED = {
    "harness.certificate": "harness.cell.certificate",
    "harness.formulation": "harness.model.formulation",
    "harness.kernels.passes": "harness.rowops",
    "harness.kernels.rows": "harness.rowops",
    "harness.problem": "harness.model.problem",
    "harness.programs": "harness.model.programs",
    "harness.solver": "harness.model.solver",
    "solvers.coordinate_descent": "solvers.coordinate_descent.solver",
    "solvers.newton_augmented": "solvers.newton.augmented",
    "solvers.newton_smoothed_hinge": "solvers.newton.smoothed_hinge",
    "datasets.kernels": "datasets.kernel_maps",
    "datasets.tables": "datasets.csv_files",
}
"""Modules that also have another place."""


def current_name(name: str) -> str:
    """`solvers.pegasos.Pegasos` -> `marginbench.solvers.pegasos.Pegasos`; other names as they are."""
    if name.partition(".")[0] not in PACKAGES:
        return name
    for old, new in MOVED.items():
        if name == old or name.startswith(f"{old}."):
            return f"marginbench.{new}{name.removeprefix(old)}"
    return f"marginbench.{name}"
