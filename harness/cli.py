"""The command line: marginbench VERB [options]. `main` returns the exit code: 0 well, 1 bad rows, 2 bad input."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from harness.problem import InputError
from harness.record import Record
from harness.store import StoreError

USAGE = """marginbench: certified benchmarks of max-margin solvers

usage: marginbench VERB [key=value ...]

  run        one cell, or with comma-separated values or experiment=NAME a sweep
  report     PATH...: tables, figures and report again from stored records
  validate   solver=NAME|FILE.py:Class: a solver against the reference problems
  reference  compute and prove an optimum; --check re-proves the stored ones
  reproduce  PATH: run a stored report's cells again and compare
  list       [dataset|formulation|solver|method|experiment]: what there is
  doctor     what this machine can measure and enforce

Without a verb: the comparison of all methods, `marginbench run experiment=comparison`.
--config-dir DIR adds a folder of your own configurations; DIR and its parent are importable.

examples
  marginbench run method=pegasos,coordinate_descent dataset=breast_cancer problem.C=0.1,1,10
  marginbench run method=coordinate_descent dataset=file dataset.path=heart_scale problem.bias=none
"""


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments:
        arguments = ["run", "experiment=comparison"]
    verb = "run" if "=" in arguments[0] or arguments[0].startswith("-m") else arguments.pop(0)
    if verb in ("-h", "--help", "help") or "--help" in arguments or "-h" in arguments:
        print(USAGE)
        return 0
    try:
        if verb not in VERBS:
            raise InputError(f"{verb}: there is no such verb; possible are {', '.join(VERBS)}")
        return VERBS[verb](arguments)
    except InputError as error:
        print(f"marginbench: {error}", file=sys.stderr)
        return 2
    except StoreError as error:
        print(f"marginbench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def split_flags(arguments: Sequence[str], flags: dict[str, bool]) -> tuple[dict[str, str], list[str]]:
    """Flags (name -> whether it takes a value) and what is left."""
    given: dict[str, str] = {}
    rest: list[str] = []
    words = iter(arguments)
    for word in words:
        name, _, value = word.partition("=")
        if not word.startswith("-"):
            rest.append(word)
        elif name not in flags:
            raise InputError(f"{word}: no such option; possible are {', '.join(flags) or 'none'}")
        elif flags[name]:
            given[name] = value or next(words, "")
            if not given[name]:
                raise InputError(f"{name}: needs a value")
        else:
            given[name] = "yes"
    return given, rest


def user_folder(flags: dict[str, str]) -> Path | None:
    """The folder of --config-dir, which becomes importable together with its parent and the current folder."""
    folder = Path(flags["--config-dir"]).resolve() if "--config-dir" in flags else None
    if folder is not None and not folder.is_dir():
        raise InputError(f"--config-dir {folder}: no such folder")
    for path in (Path.cwd(), *((folder, folder.parent) if folder else ())):
        if str(path) not in sys.path:
            sys.path.append(str(path))
    return folder


def run(arguments: Sequence[str]) -> int:
    from harness.compose import Composer, cells_of
    from harness.sweep import run_cells

    flags, overrides = split_flags(arguments, {"-m": False, "--multirun": False, "--config-dir": True})
    composer = Composer("run", user_folder(flags))
    configs = composer.cells(overrides)
    first = configs[0]
    name = first["choices"].get("experiment") or "run"
    cells = [cell for config in configs for cell in cells_of(config)]
    command = " ".join(["marginbench", "run", *arguments])
    return run_cells(cells, first, name, command).code


def stored_records(path: str) -> list[Record]:
    """The records of a results folder; damaged ones are set aside and named."""
    from harness.store import Store

    if not (Path(path) / "cells").is_dir():
        raise InputError(f"{path}: no results there (a results folder has a folder `cells`)")
    store = Store(Path(path))
    records = store.records()
    for damaged in store.damaged:
        print(f"set aside, unreadable: {damaged}", file=sys.stderr)
    return records


def report(arguments: Sequence[str]) -> int:
    from harness.results import finish

    flags, paths = split_flags(arguments, {"--out": True})
    if not paths:
        raise InputError("report: which results? Give one folder or more, as in results/comparison/2026-01-31_12-00-00")
    records = {record.hash: record for path in paths for record in stored_records(path)}
    folder = Path(flags.get("--out", paths[0]))
    command = " ".join(["marginbench", "report", *arguments])
    return finish(list(records.values()), folder, command, sources=[Path(path) for path in paths])


def reproduce(arguments: Sequence[str]) -> int:
    from harness.compose import Composer
    from harness.reproduce import Comparison, cell_again, compare, named_files, text
    from harness.sweep import run_cells

    flags, words = split_flags(arguments, {"--out": True})
    if not words:
        raise InputError("reproduce: which results? Give a folder, as in results/comparison/2026-01-31_12-00-00")
    stored, files = stored_records(words[0]), named_files(words[1:])
    composer = Composer("run")
    again = [cell_again(record, composer.part, files) for record in stored]
    config = {**composer.config([]), "fresh": True, "out": flags.get("--out", "results")}
    command = " ".join(["marginbench", "reproduce", *arguments])
    finished = run_cells([cell for cell in again if not isinstance(cell, str)], config, "reproduce", command)
    now = iter(finished.records)
    pairs = [
        Comparison(then, None, cell) if isinstance(cell, str) else compare(then, next(now))
        for then, cell in zip(stored, again, strict=True)
    ]
    print(text(pairs))
    return finished.code or int(not all(pair.holds for pair in pairs))


def validate(arguments: Sequence[str]) -> int:
    from harness.compose import CONF, Composer
    from harness.listing import configs
    from harness.proof.library import Library, entries
    from harness.sweep import check_numbers
    from harness.validation.choice import solver_of
    from harness.validation.validate import validate as examine

    flags, overrides = split_flags(arguments, {"--json": True, "--markdown": True, "--config-dir": True})
    folder = user_folder(flags)
    composer = Composer("validate", folder)
    name = next((word.removeprefix("solver=") for word in overrides if word.startswith("solver=")), "")
    if not name:
        raise InputError("validate: which solver? solver=NAME, solver=FILE.py:Class or solver=package.module.Class")
    own = "." in name and name not in composer.names("solver")
    options = [word.removeprefix("solver.") for word in overrides if own and word.startswith("solver.")]
    config = composer.config([word for word in overrides if not (own and word.startswith(("solver=", "solver.")))])
    check_numbers("budget.", config["budget"])
    check_numbers("limits.", config["limits"])
    formulation = config["choices"]["formulation"]
    known = {key: value for key, value, _ in configs("formulation", [folder, CONF] if folder else [CONF])}
    card = examine(
        solver_of(name, options, config["seed"]) if own else config["solver"],
        name,
        {formulation: config["formulation"]} if formulation else known,
        Library(),
        entries(),
        config["reference"],
        accuracy=config["accuracy"],
        seconds=config["budget"]["seconds"],
        limits=config["limits"],
        seed=config["seed"],
    )
    print(card.text())
    for flag, text in (("--json", card.json()), ("--markdown", card.markdown())):
        if flag in flags:
            Path(flags[flag]).write_text(text)
    return 0 if card.ok else 1


def reference(arguments: Sequence[str]) -> int:
    from datasets import cache
    from harness.compose import Composer, cells_of
    from harness.proof.library import STORED, Entry, Library, entries
    from harness.proof.optima import check_all, make_all

    flags, words = split_flags(arguments, {"--check": False})
    overrides = [word for word in words if "=" in word]
    names = [word for word in words if "=" not in word]
    composer, library = Composer("run"), Library()
    config = composer.config([word for word in overrides if word.startswith("data=")])
    asked = [word for word in overrides if not word.startswith("data=")]
    if asked:  # problems of the user's own, into the user's cache
        cells = [cell for one in composer.cells(overrides) for cell in cells_of(one)]
        chosen = [Entry(f"{c.dataset_name}-{c.problem['C']}-{c.problem['bias']}", c.dataset, c.problem) for c in cells]
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
    for proof in proofs:
        print(proof, flush=True)
        count, failed = count + 1, failed + (proof.reference is None)
    print(f"{count - failed} of {count} proven" if count else "every reference asked for is there already")
    return int(failed > 0)


def list_(arguments: Sequence[str]) -> int:
    from harness.compose import CONF
    from harness.listing import listing

    flags, what = split_flags(arguments, {"--config-dir": True})
    folder = user_folder(flags)
    print(listing(what, [folder, CONF] if folder else [CONF]))
    return 0


def doctor(arguments: Sequence[str]) -> int:
    from harness import doctor as examine
    from harness.cell import instantiate
    from harness.compose import Composer, cells_of

    if arguments:
        raise InputError(f"doctor {' '.join(arguments)}: takes no options")
    (cell,) = cells_of(Composer("run").config([]))
    X, y = instantiate(cell.dataset)
    print(examine.text(examine.report((cell, X, y))))
    return 0


VERBS: dict[str, Callable[[Sequence[str]], int]] = {
    "run": run,
    "report": report,
    "validate": validate,
    "reproduce": reproduce,
    "reference": reference,
    "list": list_,
    "doctor": doctor,
}
