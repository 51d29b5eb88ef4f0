"""`run --cfg job` and `run --info defaults`: what would be run, and where it comes from."""

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from marginbench.harness.compose.composer import plain
from marginbench.harness.compose.grid import Grid
from marginbench.harness.errors import InputError


def configurations(grid: Grid, what: str, resolve: bool, package: str | None) -> str:
    """The configuration of every cell as YAML, with --- between them; of `package` alone if that is given."""
    if what != "job":
        raise InputError(f"--cfg {what}: marginbench uses Hydra to compose only; possible is --cfg job")
    texts = []
    for run in grid.runs:
        for cell in run.cells:
            config = cell.config
            if resolve:
                config = OmegaConf.create({key: value for key, value in plain(cell).items() if key != "choices"})
            if package is None or package == "_global_":
                texts.append(OmegaConf.to_yaml(config))
                continue
            try:
                node = OmegaConf.select(config, package)
            except OmegaConfBaseException:
                node = None
            if not OmegaConf.is_config(node):
                raise InputError(f"--package {package}: there is none; possible are {', '.join(map(str, config))}")
            texts.append(f"# @package {package}\n{OmegaConf.to_yaml(node)}")
    return "---\n".join(texts).rstrip("\n")


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
