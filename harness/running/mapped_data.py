"""A data set of a run: a verified folder on disk that every cell maps, and that no process holds a copy of."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from marginbench.datasets.eviction import hold
from marginbench.datasets.mapped import Stamp, intact
from marginbench.datasets.mapped import folder_name as folder_name
from marginbench.datasets.mapped import open_data as open_data
from marginbench.datasets.mapped import spill as spill
from marginbench.datasets.mapped import stamp as stamp
from marginbench.harness.model.problem import Array, Matrix


@dataclass(frozen=True)
class Data:
    """`seen`: the stamp of the files when they were found to have this digest. It may travel to other processes."""

    path: Path
    digest: str
    notes: tuple[str, ...] = ()
    """What was decided on reading it, for the user."""
    seen: Stamp = ()
    held_out: "Data | None" = None
    """The rows that no solver sees; None where all rows are to learn from."""

    @property
    def X(self) -> Matrix:
        """The pages of the files, mapped anew: a file that was replaced is not seen through an old mapping."""
        return open_data(self.path, touched=False)[0]

    @property
    def y(self) -> Array:
        return open_data(self.path, touched=False)[1]

    @property
    def unchanged(self) -> bool:
        """Whether no file was touched since they were verified."""
        beside = self.held_out is None or self.held_out.unchanged
        return beside and bool(self.seen) and stamp(self.path) == self.seen


def verified(path: Path, digest: str, notes: Sequence[str] = ()) -> Data:
    """The data of this folder, kept there as long as this process lives; ValueError where they are not those of the
    digest. All of them are read."""
    hold(path)
    seen = stamp(path)
    if not (intact(path, digest) and stamp(path) == seen):
        raise ValueError("the files are damaged, or other data than their name says")
    return Data(path, digest, tuple(notes), seen)
