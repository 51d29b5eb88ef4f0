"""load: a data set by name or from a file, as the command line reads it."""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from marginbench.harness.data_parts import data_parts
from marginbench.harness.interface.data import checked
from marginbench.harness.interface.engine import composer
from marginbench.harness.model.problem import Array, InputError, Matrix


def load(
    name_or_path: str | PathLike[str],
    *,
    preprocess: Mapping[str, Any] | None = None,
    part: Literal["train", "test"] = "train",
    **options: Any,
) -> tuple[Matrix, Array]:
    """(X, y) of a data set that `marginbench list dataset` names, or of a file; y is -1 and +1.

    preprocess: the options of that name on the command line: `{"test": 0.2, "columns": "max_abs", "rows": "unit"}`.
    part: the rows to learn from, or those that preprocess["test"] holds out.
    options: those of conf/dataset/NAME.yaml, or of conf/dataset/file.yaml for a file (`labels`, `scale`, ...).

    >>> import marginbench as mb
    >>> X, y = mb.load("overlapping", n=50)
    >>> X.shape[0], sorted(set(y.tolist()))
    (50, [-1.0, 1.0])
    """
    config = _config(name_or_path)
    for option, value in options.items():
        if option not in config:
            possible = ", ".join(key for key in config if key not in ("_target_", "path"))
            raise InputError(f"load({str(name_or_path)!r}): there is no option {option!r}; possible are {possible}")
        config[option] = value
    try:
        parts = data_parts(config, preprocess or {}, str(name_or_path))
    except (ValueError, OSError) as error:
        raise InputError(f"load({str(name_or_path)!r}): {error}") from None
    if part == "train":
        return _own(*checked(*parts.train))
    if parts.test is None or part != "test":
        needs = "needs preprocess={'test': ...}" if part == "test" else "possible are train, test"
        raise InputError(f"load({str(name_or_path)!r}, part={part!r}): {needs}")
    return _own(*checked(*parts.test))


def _own(X: Matrix, y: Array) -> tuple[Matrix, Array]:
    """Arrays that the caller may write to: what comes from the cache is mapped from files."""
    return (X, y) if y.flags.writeable else (X.copy(), y.copy())


def _config(name_or_path: str | PathLike[str]) -> dict[str, Any]:
    names = composer().names("dataset")
    if isinstance(name_or_path, str) and name_or_path in names and name_or_path != "file":
        return dict(composer().config([f"dataset={name_or_path}"])["dataset"])
    if not Path(name_or_path).exists():
        known = ", ".join(name for name in names if name != "file")
        raise InputError(f"load({str(name_or_path)!r}): no such file, and no such data set; possible are {known}")
    config = dict(composer().config(["dataset=file", "dataset.path=file"])["dataset"])
    return config | {"path": str(name_or_path)}
