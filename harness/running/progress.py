"""What a sweep tells while it runs. Whoever shows it to a person derives from `Progress`."""

from collections.abc import Mapping

from marginbench.harness.records.record import Record


class Progress:
    """Events of one sweep. By default nobody listens."""

    def planned(self, names: Mapping[str, str], found: int) -> None:
        """The cells that are to be run, key -> name; `found` more have a record already."""

    def started(self, key: str, where: str) -> None:
        """A cell runs now; `where`: its node and core. Nobody says that it ended without a record."""

    def stored(self, record: Record) -> None:
        """A cell has a record now, and perhaps a second time: a disturbed cell is run again."""

    def left_out(self, key: str) -> None:
        """A repeat that is not run."""

    def lost(self, key: str, why: str) -> None:
        """A cell has no result for a reason outside of its own processes; its row is stored, too."""

    def close(self) -> None:
        """The sweep is over or interrupted."""
