"""A sweep as a person sees it: a live view on a terminal, a line now and then elsewhere. Both go to standard error."""

import sys
import time
from collections import Counter
from collections.abc import Mapping

from rich.console import Console
from rich.live import Live
from rich.text import Text

from marginbench.harness.printable import behind, printable
from marginbench.harness.records.record import Record
from marginbench.harness.records.status import TONES, status_of
from marginbench.harness.running.progress import Progress

MOST_RUNNING = 8
"""Lines for cells that run now."""

LINE_SECONDS = 30.0
"""Between two lines, where there is no terminal."""


def view() -> Progress:
    """The one that fits where standard error goes."""
    return OnTerminal() if sys.stderr.isatty() else InLines()


class Tally(Progress):
    """What is known of a sweep: done, running with names, failed, time left."""

    def planned(self, names: Mapping[str, str], found: int) -> None:
        self.names, self.found, self.begun = names, found, time.monotonic()
        self.done: set[str] = set()
        self.running: dict[str, tuple[str, float]] = {}
        self.statuses: Counter[str] = Counter()

    def started(self, key: str, where: str) -> None:
        if key not in self.running:
            self.running[key] = where, time.monotonic()

    def stored(self, record: Record) -> None:
        self.running.pop(record.hash, None)
        if record.hash not in self.done:
            self.done.add(record.hash)
            self.statuses[record.status] += 1

    def left_out(self, key: str) -> None:
        self.done.add(key)

    def lost(self, key: str, why: str) -> None:
        self.running.pop(key, None)

    @property
    def bad(self) -> int:
        """Rows that make the exit code 1."""
        return sum(k for status, k in self.statuses.items() if status_of(status).bad)

    def headline(self) -> str:
        """`12 of 40 cells, 3 found earlier, 1 bad, about 2:10 left`"""
        parts = [f"{len(self.done)} of {len(self.names)} cells"]
        parts += [f"{self.found} found earlier"] if self.found else []
        parts += [f"{self.bad} bad"] if self.bad else []
        if self.done and len(self.done) < len(self.names):
            spent = time.monotonic() - self.begun
            parts.append(f"about {clock(spent / len(self.done) * (len(self.names) - len(self.done)))} left")
        return ", ".join(parts)


class InLines(Tally):
    """For logs: the headline every half minute, and nothing of a sweep that is shorter."""

    def planned(self, names: Mapping[str, str], found: int) -> None:
        super().planned(names, found)
        self.last = self.begun

    def stored(self, record: Record) -> None:
        super().stored(record)
        if time.monotonic() - self.last >= LINE_SECONDS:
            self.last = time.monotonic()
            print(self.headline(), file=sys.stderr, flush=True)


class OnTerminal(Tally):
    """Redrawn in place, and gone when the sweep is over."""

    _live: Live | None = None

    def planned(self, names: Mapping[str, str], found: int) -> None:
        super().planned(names, found)
        if names:
            console = Console(file=behind(sys.stderr), highlight=False, emoji=False)
            self._live = Live(
                get_renderable=self._shown, console=console, refresh_per_second=2, transient=True, redirect_stdout=False
            )
            self._live.start()

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _shown(self) -> Text:
        text = Text(self.headline() + "\n", no_wrap=True, overflow="ellipsis")
        counts = [(f"{k} {status}", TONES[status_of(status).tone]) for status, k in self.statuses.most_common()]
        for k, (words, colour) in enumerate(counts):
            text.append(", " if k else "")
            text.append(words, colour)
        text.append("\n" if counts else "")
        now, running = time.monotonic(), list(self.running.items())
        for key, (where, since) in running[:MOST_RUNNING]:
            name = printable(self.names.get(key, key))
            text.append(
                f"  {clock(now - since)}  {name}{f'  on {printable(where)}' if len(running) > 1 else ''}\n", "dim"
            )
        if len(running) > MOST_RUNNING:
            text.append(f"  and {len(running) - MOST_RUNNING} more\n", "dim")
        return text


def clock(seconds: float) -> str:
    """`0:07`, `12:30`, `3:05:00`"""
    whole = int(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"
