"""marginbench doctor: what this machine can measure and enforce."""

from collections.abc import Sequence

from marginbench.harness.cell.spec import instantiate
from marginbench.harness.compose import Composer
from marginbench.harness.compose.cells import cells_of
from marginbench.harness.errors import InputError
from marginbench.harness.running import doctor as examine


def main(arguments: Sequence[str]) -> int:
    if arguments:
        raise InputError(f"doctor {' '.join(arguments)}: takes no options")
    (cell,) = cells_of(Composer("run").config([]))
    X, y = instantiate(cell.dataset)
    print(examine.text(examine.report((cell, X, y))))
    return 0
