"""The process that a data set is loaded in, as a job: make the data, check them, write them to disk."""

import errno
import importlib
from pathlib import Path

from marginbench.datasets.digest import digest
from marginbench.datasets.samples import samples_of
from marginbench.harness.cell.spec import Config, instantiate
from marginbench.harness.errors import StoreError
from marginbench.harness.old_names import current_name
from marginbench.harness.running.job import framed
from marginbench.harness.running.mapped_data import spill


def loaded(config: Config, name: str, folder: str) -> bytes:
    """The digest under which the data are in the folder, and what to tell the user; or why there are none."""
    try:
        _check_target(current_name(str(config.get("_target_"))))
        X, y = made = samples_of(instantiate(config), name)
        found = digest(X, y)
        spill(X, y, found, Path(folder))
    except (ValueError, OSError) as error:
        if isinstance(error, OSError) and error.errno == errno.ENOMEM:
            raise MemoryError(str(error)) from None
        said = " ".join(str(error).split())[:1000] or type(error).__name__
        return framed({"bad_input": f"dataset={name}: {said}"})
    except StoreError as error:
        return framed({"bad_store": str(error)})
    return framed({"digest": found, "notes": list(made.notes)})


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
