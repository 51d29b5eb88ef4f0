"""Earlier runs, as far as they answer what is asked now: which records are served again, and which are left aside."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from marginbench.harness.records.accident import accident
from marginbench.harness.records.record import Record
from marginbench.harness.records.solution import has_solution
from marginbench.harness.records.store import ASKED, Store
from marginbench.harness.running.fingerprint import changed_code, changed_versions


class Earlier:
    """Folders of earlier runs, the newest first. They are read, and never written into."""

    def __init__(self, folders: Sequence[Path], keep: str = "nothing") -> None:
        self.stores = [Store(path) for path in folders]
        self.keep = keep
        self.left_aside: Counter[str] = Counter()
        """Why a record that answers what is asked was not served -> how many cells are run for that reason."""
        self.missing = 0

    def find(self, key: str, code: Mapping[str, str], versions: Mapping[str, str]) -> tuple[Store, Record] | None:
        """The newest record of this cell, and where it is."""
        reason = ""
        for store in self.stores:
            record = store.get(key)
            if record is None:
                continue
            happened = accident(record)
            if not happened and self._kept(store, record):
                return store, record
            reason = reason or (f"run again: {happened}" if happened else "run again: its solution was not kept")
        self.missing += 1
        if reason := reason or self._other_answer(key, code, versions):
            self.left_aside[reason] += 1
        return None

    def _kept(self, store: Store, record: Record) -> bool:
        return self.keep != "solution" or record.primal is None or has_solution(store.folder, record.hash)

    def _other_answer(self, key: str, code: Mapping[str, str], versions: Mapping[str, str]) -> str:
        """Why the newest record that answers the same question does not count; nothing where there is none."""
        for store in self.stores:
            for record in store.answers(key[:ASKED]):
                if changed := changed_code(record.code, code):
                    return f"made by other code: {changed}"
                return f"made with other versions: {changed_versions(record.versions, versions)}"
        return ""

    def notes(self) -> list[str]:
        """How many records were left aside, and why; which cannot be read."""
        found = [f"{_records(count)} {reason}" for reason, count in self.left_aside.items()]
        if self.missing and self.stores and (old := self.stores[0].without_code()):
            found.append(f"{_records(old)} made by an earlier marginbench, which did not note its code: not used")
        damaged = [
            f"{store.folder / 'cells'}/{ascii(name)[1:-1]}: {reason}"
            for store in self.stores
            for name, reason in store.damaged.items()
        ]
        more = [f"... and {len(damaged) - 5} more"] if len(damaged) > 5 else []
        if damaged:
            found.append(f"{_records(len(damaged))} unreadable in earlier runs, left where they are:")
        return [*found, *damaged[:5], *more]


def _records(count: int) -> str:
    return "1 record was" if count == 1 else f"{count} records were"
