"""The process that a data set is loaded in, as a job: make the data, check them, write them to disk."""

import errno
import importlib
from pathlib import Path

from marginbench.datasets.cache import data_folder
from marginbench.datasets.digest import digest
from marginbench.datasets.eviction import trim
from marginbench.datasets.mapped import folder_name
from marginbench.datasets.samples import Samples
from marginbench.harness.cell.spec import Config
from marginbench.harness.data_parts import data_parts
from marginbench.harness.errors import StoreError
from marginbench.harness.old_names import current_name
from marginbench.harness.running.job import framed
from marginbench.harness.running.mapped_data import spill


def loaded(config: Config, preprocess: Config, name: str, folder: str) -> bytes:
    """The digest under which the data are in the folder, and what to tell the user; or why there are none."""
    try:
        _check_target(current_name(str(config.get("_target_"))))
        made, test = data_parts(config, preprocess, name)
        train, held_out = (_spilled(part, Path(folder)) if part is not None else None for part in (made, test))
    except (ValueError, OSError) as error:
        if isinstance(error, OSError) and error.errno == errno.ENOMEM:
            raise MemoryError(str(error)) from None
        said = " ".join(str(error).split())[:1000] or type(error).__name__
        return framed({"bad_input": f"dataset={name}: {said}"})
    except StoreError as error:
        return framed({"bad_store": str(error)})
    return framed({"train": train, "notes": list(made.notes), "held_out": held_out})


def _spilled(part: Samples, folder: Path) -> dict[str, str]:
    """The digest of these rows, and the folder below `folder` where they are."""
    X, y = part
    found = part.digest or digest(X, y)
    if not (part.digest and folder == data_folder()):  # else they come from there
        spill(X, y, found, folder)
        trim(folder)
    return {"digest": found, "folder": folder_name(X, found)}


def _check_target(target: str) -> None:
    """Whether there is such a function. What its module raises by itself passes through."""
    module, _, name = target.rpartition(".")
    if not module:
        raise ValueError(f"_target_={target}: needs package.module.function")
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ValueError(f"_target_={target}: {error}") from None
    if not callable(getattr(found, name, None)):
        raise ValueError(f"_target_={target}: {module} has no function {name}")
