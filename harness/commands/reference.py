"""marginbench reference: compute and prove optima; --check proves stored ones again."""

from collections.abc import Sequence
from pathlib import Path

from marginbench.datasets import cache
from marginbench.harness.commands.options import CONFIG_DIR, split_flags, user_folder
from marginbench.harness.compose import Composer
from marginbench.harness.compose.cells import cells_of
from marginbench.harness.compose.grid import expand
from marginbench.harness.errors import InputError
from marginbench.harness.references.library import STORED, Entry, Library, entries
from marginbench.harness.running.optima import check_all, check_files, make_all


def main(arguments: Sequence[str]) -> int:
    flags, words = split_flags(arguments, {"--check": "", **CONFIG_DIR})
    overrides = [word for word in words if "=" in word]
    names = [word for word in words if "=" not in word]
    composer, library = Composer("run", user_folder(flags)), Library()
    config = composer.config([word for word in overrides if word.startswith("data=")])
    asked = [word for word in overrides if not word.startswith("data=")]
    if asked:  # problems of the user's own, into the user's cache
        cells = [cell for one in expand(composer, overrides).configs() for cell in cells_of(one)]
        titles = [f"{c.dataset_name}-{c.problem['C']}-{c.problem['bias']}" for c in cells]
        chosen = [Entry(name, c.dataset, c.problem, c.preprocess) for name, c in zip(titles, cells, strict=True)]
        folder = cache.folder() / "reference"
    else:
        folder_of_files = Path(str(config["data"]))
        chosen = list(entries(folder_of_files if folder_of_files.is_dir() else None))
        folder = STORED
    known = {entry.name for entry in chosen}
    for name in names:
        if name not in known:
            raise InputError(f"reference {name}: possible are {', '.join(sorted(known))}")
    chosen = [entry for entry in chosen if not names or entry.name in names]
    proofs = (
        check_all(chosen, library) if "--check" in flags else make_all(chosen, config["reference"], folder, library)
    )
    failed = count = 0
    keys = []
    for proof in proofs:
        print(proof, flush=True)
        count, failed = count + 1, failed + (proof.reference is None)
        keys.append(proof.key)
    if "--check" in flags and not names and not asked:
        damaged, unproven = check_files(library, keys)
        for proof in damaged:
            print(proof, flush=True)
        count, failed = count + len(damaged), failed + len(damaged)
        if unproven:
            print(f"{unproven} more are undamaged, and cannot be proven for want of their data (data=DIR)")
    print(f"{count - failed} of {count} proven" if count else "every reference asked for is there already")
    return int(failed > 0)
