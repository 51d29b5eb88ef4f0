"""marginbench list: what there is, and what goes with what."""

from collections.abc import Sequence

from marginbench.harness import config_files
from marginbench.harness.commands.listing import listing
from marginbench.harness.commands.options import CONFIG_DIR, split_flags, user_folder


def main(arguments: Sequence[str]) -> int:
    flags, what = split_flags(arguments, CONFIG_DIR)
    print(listing(what, config_files.folders(user_folder(flags))))
    return 0
