"""A record: one cell asked for, one row. Plain data, so that tables and reports need no solver."""

from dataclasses import asdict, dataclass, field, fields
from typing import Any

SCHEMA = 6
"""2: the bounds of rounding errors, and the own D beside the one that decides. 3: false claims and hidden time. 4: the
code that made the record. 5: the threads that its solver might use, the accuracy on held-out rows. 6: warm
starts along a path of C."""

ADDED: dict[int, tuple[str, ...]] = {
    2: ("own_dual", "primal_error", "dual_error", "gap_error"),
    3: ("false_claim", "unaccounted_seconds"),
    4: ("code",),
    5: ("threads", "test_accuracy"),
    6: ("start", "path", "position"),
}
"""Fields that came with a schema. A record of an earlier one is read with their defaults."""


@dataclass
class Record:
    """Columns of table.csv first, in their order; None is an empty field."""

    dataset: str = ""
    n: int = 0
    d: int = 0
    nnz: int = 0
    C: float = 0.0
    bias: str = ""
    loss: str = "hinge"
    formulation: str = ""
    solver: str = ""
    seed: int = 0
    repeat: int = 0
    threads: int = 1
    start: str = "cold"
    """warm: the solver began from its own answer at the C before this one on the path."""
    status: str = ""
    """One of `marginbench.harness.records.status`."""
    claim: str = ""
    false_claim: bool | None = None
    primal: float | None = None
    dual: float | None = None
    dual_source: str = ""
    own_dual: float | None = None
    gap: float | None = None
    primal_error: float | None = None
    dual_error: float | None = None
    gap_error: float | None = None
    suboptimality: float | None = None
    reference: str = ""
    kkt_primal: float | None = None
    kkt_dual: float | None = None
    kkt_stationarity: float | None = None
    kkt_complementarity: float | None = None
    own_residual: float | None = None
    build_seconds: float | None = None
    solve_seconds: float | None = None
    cpu_seconds: float | None = None
    post_seconds: float | None = None
    unaccounted_seconds: float | None = None
    pass_seconds: float | None = None
    passes: float | None = None
    iterations: int | None = None
    updates: int | None = None
    updates_bound: float | None = None
    margin: float | None = None
    peak_mb: float | None = None
    train_accuracy: float | None = None
    test_accuracy: float | None = None
    sv_margin: int | None = None
    sv_inside: int | None = None
    sv_wrong: int | None = None
    message: str = ""
    hash: str = ""
    # -- not columns --------------------------------------------------------------------------------------------
    problem: str = ""
    """Key of the judged problem: data digest, C, bias, loss, weights."""
    method: str = ""
    path: list[float] = field(default_factory=list)
    """The values of C that were solved one after another, this one at `position`; empty: it is part of no path."""
    position: int = 0
    cell: dict[str, Any] = field(default_factory=dict)
    """The resolved configuration that was run."""
    info: dict[str, Any] = field(default_factory=dict)
    """What the solver said of its last iterate; and of the judge ||w|| as `w_norm`, with few features `w` and `b`."""
    curve: list[dict[str, Any]] = field(default_factory=list)
    """One entry per evaluated iterate: iteration, seconds, cpu_seconds, primal, dual, gap, own_residual. Where it has
    them own_dual and the KKT residuals; with one or two features w1, w2 and b; and bound or dual_bound, where theory
    promises one of P - P* or of D* - D."""
    code: dict[str, str] = field(default_factory=dict)
    """Source file -> short hash of its content, for all that computed this. Files of the user's own begin with `./`."""
    versions: dict[str, str] = field(default_factory=dict)
    """Of the libraries that computed this, and of Python."""
    machine: dict[str, Any] = field(default_factory=dict)
    schema: int = SCHEMA

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def voided(self, status: str, message: str) -> "Record":
        """The same cell without a result: nothing that was measured or certified counts."""
        kept = [*COLUMNS[: COLUMNS.index("status")], "hash", "problem", "method", "path", "position"]
        kept += ["cell", "versions", "machine"]
        return Record(**{name: getattr(self, name) for name in kept}, status=status, message=message)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Record":
        return cls(**data)


COLUMNS = [f.name for f in fields(Record)][: [f.name for f in fields(Record)].index("hash") + 1]
