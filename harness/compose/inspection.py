"""`run --cfg job` and `run --info defaults`: what would be run, and where it comes from."""

from typing import Any

from omegaconf import OmegaConf

from marginbench.harness.compose.data import Resolution, at, steps
from marginbench.harness.compose.grid import Grid
from marginbench.harness.errors import InputError


def configurations(grid: Grid, what: str, resolve: bool, package: str | None) -> str:
    """The configuration of every cell as YAML, with --- between them; of `package` alone if that is given."""
    if what != "job":
        raise InputError(f"--cfg {what}: marginbench uses Hydra to compose only; possible is --cfg job")
    texts, known, resolution = [], dict[str, str](), Resolution()
    for run in grid.runs:
        for cell in run.cells:
            config = resolution(cell.config) if resolve else cell.config
            if package is None or package == "_global_":
                texts.append("".join(_yaml({key: part}, known) for key, part in config.items()))
                continue
            node = at(config, steps(package))[1]
            if not isinstance(node, dict | list):
                raise InputError(f"--package {package}: there is none; possible are {', '.join(config)}")
            texts.append(f"# @package {package}\n{_yaml(node, known)}")
    return "---\n".join(texts).rstrip("\n")


def _yaml(node: Any, known: dict[str, str]) -> str:
    """`known` remembers the texts of parts that cells share."""
    asked = repr(node)
    if asked not in known:
        known[asked] = OmegaConf.to_yaml(OmegaConf.create(node))
    return known[asked]


def information(grid: Grid, what: str) -> str:
    """The files that are merged for the first cell, in order, or the places where they are looked for."""
    rows: list[tuple[str, ...]]
    if what == "searchpath":
        rows = [("provider", "path"), *grid.composer.loader.sources()]
    elif what == "defaults":
        rows = [("file", "package", "named by"), *grid.composer.defaults(grid.runs[0].first)]
    else:
        raise InputError(f"--info {what}: possible are defaults, searchpath; `--cfg job` prints the configuration")
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return "\n".join(line.rstrip() for line in lines)
