"""marginbench list: what there is, and what goes with what."""

from collections.abc import Sequence

from marginbench.harness.commands.listing import listing
from marginbench.harness.commands.options import split_flags, user_folder
from marginbench.harness.compose import CONF


def main(arguments: Sequence[str]) -> int:
    flags, what = split_flags(arguments, {"--config-dir": True})
    folder = user_folder(flags)
    print(listing(what, [folder, CONF] if folder else [CONF]))
    return 0
