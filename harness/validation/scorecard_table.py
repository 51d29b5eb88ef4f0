"""One table of many scorecards, as CSV; `results/readme/validation.csv` was made so:

    for name in $(ls conf/solver | sed s/.yaml//); do marginbench validate solver=$name --json cards/$name.json; done
    python -m marginbench.harness.validation.scorecard_table cards/*.json > results/readme/validation.csv

with every extra installed, for a library that is missing is a solver that ran on nothing.
"""

import csv
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from marginbench.harness.validation.scorecard import Scorecard


def entry(card: Scorecard) -> dict[str, str | int]:
    """late: problems on which the budget ended it on its way; they are not among those that it is held to."""
    libraries = [f"{name} {version}" for name, version in card.versions.items() if "." not in name]
    return {
        "solver": card.solver,
        "libraries": "; ".join(libraries),
        "accuracy": f"{card.accuracy:.0e}",
        "problems_kept": len(card.promised) - len(card.broken),
        "problems": len(card.promised),
        "late": sum(row.late for row in card.rows),
        "contracts_kept": len(card.held) - len(card.failed),
        "contracts": len(card.held),
        "verdict": "pass" if card.ok else "FAIL",
        "contracts_broken": "; ".join(line.contract for line in card.failed),
    }


def write(cards: Sequence[Scorecard], file: TextIO) -> None:
    entries = [entry(card) for card in cards]
    table = csv.DictWriter(file, list(entries[0]), lineterminator="\n")
    table.writeheader()
    table.writerows(entries)


if __name__ == "__main__":
    write([Scorecard.of(Path(name).read_text()) for name in sorted(sys.argv[1:])], sys.stdout)
