"""Do all methods agree? Read from the records of a run: which rows say something else than the proven optimum.

A method that is held to 1e-6 or less disagrees where it ended by itself and is not there. Every method disagrees where
it claimed an optimum that is none, or broke. What is known of a solver stands at the head of its YAML, one line each:

    # known to be wrong: its stopping rule is satisfied far from the optimum where C is large
"""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from marginbench.harness.cell.spec import instantiate
from marginbench.harness.cell.verdict import SPENT
from marginbench.harness.model.formulation import Formulation
from marginbench.harness.model.solver import Solver
from marginbench.harness.records.record import Record
from marginbench.harness.records.status import STATUSES

ACCURATE = 1e-6
"""The relative gap that agreement means."""

KNOWN = re.compile(r"^# known to be (\w+): (.+)$", re.MULTILINE)


class Agreement(NamedTuple):
    agree: list[Record]
    rough: list[Record]
    """Not within 1e-6, and not held to it."""
    late: list[Record]
    """Still on their way when the budget was spent."""
    known: list[tuple[Record, str]]
    """Disagree, as the YAML of their solver says; with the reason."""
    disagree: list[Record]


def reasons(text: str) -> dict[str, str]:
    """status -> reason, from the YAML of a solver."""
    return {status: reason.strip() for status, reason in KNOWN.findall(text)}


def agreement(records: Iterable[Record], known: Mapping[str, Mapping[str, str]]) -> Agreement:
    """known: solver -> status -> reason. Rows of what never ran are left out."""
    found = Agreement([], [], [], [], [])
    for record in records:
        status = STATUSES[record.status]
        reason = known.get(record.solver, {}).get(record.status)
        if not status.ran:
            continue
        if status.success:
            found.agree.append(record)
        elif not status.bad and on_its_way(record):
            found.late.append(record)
        elif not status.bad and not held_to_it(record):
            found.rough.append(record)
        elif reason is not None:
            found.known.append((record, reason))
        else:
            found.disagree.append(record)
    return found


def on_its_way(record: Record) -> bool:
    """Whether the budget ended it: right too late, no word of its own yet, or a ladder with tighter rungs to go."""
    return record.status == "timeout" or not record.claim or record.message.endswith(SPENT)


def held_to_it(record: Record) -> bool:
    """Whether solver and formulation promise the optimum of the judged problem to 1e-6."""
    solver: Solver = instantiate(record.cell["solver"])
    formulation: Formulation = instantiate(record.cell["formulation"])
    return solver.accuracy <= ACCURATE and formulation.exact and formulation.judge == "optimum"
