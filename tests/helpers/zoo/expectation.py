"""What a solver of the zoo must get, as data, and how a row is held against it."""

import re
from dataclasses import dataclass, field

from marginbench.harness.cell.spec import Cell
from marginbench.harness.records.codec import dumps, record_to_plain
from marginbench.harness.records.record import Record
from zoo.pens import PENS, truth

NOT_SOLVED = ("wrong", "inaccurate", "failed", "invalid", "crashed", "timeout", "memory")
SHORT_OF_IT = ("wrong", "inaccurate")
BROKEN = ("failed", "invalid", "crashed")

CHARGED = 0.7
"""Share of the time truly worked that must be charged."""

UNACCOUNTED = re.compile(r"unaccounted|not accounted", re.IGNORECASE)
"""What a row says of time that was worked and not charged."""

LARGEST_RECORD = 2**18
"""Bytes of a record, whatever the solver says."""

LONGEST_MESSAGE = 2000

PROVEN = 1e-9
"""Relative rounding that a P below or a D above the proven optimum may have."""

BUDGET = {"seconds": 1.0, "gap": 1e-6, "iterations": 1_000_000, "wrong_gap": 1e-2}


@dataclass(frozen=True)
class Expectation:
    """status: those that are right. works: CPU seconds that must be charged, or named as unaccounted, if it is solved.

    spared: CPU seconds that must not be charged. words: a pattern of the message. repeats: rows, of which each counts.
    validate: a pattern of what `validate` must say of a broken promise or contract; empty where `run` has to see it.
    """

    target: str
    pen: str
    status: tuple[str, ...]
    reason: str
    works: float = 0.0
    spared: float = 0.0
    words: str = ""
    false_claim: bool = False
    validate: str = ""
    repeats: int = 1
    limits: dict[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.target.rpartition('.')[2]}@{self.pen}"

    def cells(self, **settings) -> list[Cell]:
        pen = PENS[self.pen]
        return [
            Cell(
                dataset=pen.dataset,
                problem=pen.problem,
                formulation=pen.formulation,
                solver={"_target_": f"zoo.{self.target}", **settings},
                dataset_name=self.pen,
                formulation_name=pen.formulation["_target_"].rpartition(".")[2],
                solver_name=self.name,
                budget=BUDGET,
                limits={"seconds": 10.0, "memory_mb": 2000.0} | self.limits,
                repeat=repeat,
            )
            for repeat in range(self.repeats)
        ]


def complaints(record: Record, expected: Expectation) -> list[str]:
    """Why the row is not what it must be; nothing where all is well."""
    found = []
    if record.status not in expected.status:
        found.append(f"{record.status}, not {' or '.join(expected.status)}: {record.message[:120]!r}")
    if record.status == "solved" and expected.works and not UNACCOUNTED.search(record.message):
        charged = record.solve_seconds or 0.0
        if charged < CHARGED * expected.works:
            found.append(f"charged {charged:.2g} s of {expected.works:g} s, and says nothing of the rest")
    if expected.spared and (record.solve_seconds or 0.0) > 0.5 * expected.spared:
        found.append(f"charged {record.solve_seconds:.2g} s, of which {expected.spared:g} s are paid once per process")
    if not re.search(expected.words, record.message):
        found.append(f"does not say {expected.words!r}: {record.message[:120]!r}")
    if expected.false_claim and not (getattr(record, "false_claim", None) or "false claim" in record.message):
        found.append(f"the false claim is not shown: {record.message[:120]!r}")
    return found + _impossible(record, expected.pen) + _unfit(record)


def _impossible(record: Record, pen: str) -> list[str]:
    """What contradicts the proven optimum, whatever was expected."""
    proven, found = truth(pen), []
    if record.primal is not None and record.primal < proven.lower * (1.0 - PROVEN):
        found.append(f"P = {record.primal!r} is below the proven bound {proven.lower!r}")
    if record.dual is not None and record.dual > proven.upper * (1.0 + PROVEN):
        found.append(f"D = {record.dual!r} is above the proven bound {proven.upper!r}")
    if record.status == "solved" and (record.primal or 0.0) > proven.upper * (1.0 + 2.0 * BUDGET["gap"]):
        found.append(f"solved at P = {record.primal!r}, where P* <= {proven.upper!r}")
    if record.status == "infeasible" and not proven.infeasible:
        found.append(f"infeasible, where P* <= {proven.upper!r}")
    return found


def _unfit(record: Record) -> list[str]:
    """What no table should have to show."""
    found = []
    if (size := len(dumps(record_to_plain(record)))) > LARGEST_RECORD:
        found.append(f"a record of {size} bytes")
    if len(record.message) > LONGEST_MESSAGE or any(ord(letter) < 32 for letter in record.message):
        found.append(f"a message of {len(record.message)} letters: {record.message[:60]!r}")
    return found
