"""The YAML files below conf/ and below a folder of the user's own. A light module: neither Hydra nor numpy."""

from collections.abc import Iterator, Sequence
from pathlib import Path

CONF = Path(__file__).resolve().parents[1] / "conf"


def folders(user: Path | None = None) -> list[Path]:
    """Where configurations are looked for; the first folder that has a name wins."""
    return [user, CONF] if user is not None else [CONF]


def names(group: str, places: Sequence[Path]) -> list[str]:
    """The choices of a group, `dataset` for example."""
    return sorted({path.stem for place in places for path in (place / group).glob("*.yaml")})


def file_of(group: str, name: str, places: Sequence[Path]) -> Path | None:
    """The file behind group=name; a name may lead into a folder, as in solver=mine/fast."""
    found = (place / group / f"{name}.yaml" for place in places)
    return next((path for path in found if path.is_file()), None)


def is_group(key: str, places: Sequence[Path]) -> bool:
    return any((place / key).is_dir() for place in places)


def texts(group: str, places: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """(name, text) of every file of a group."""
    for name in names(group, places):
        path = file_of(group, name, places)
        assert path is not None
        yield name, path.read_text()
