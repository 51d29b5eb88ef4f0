"""What a person sees while a sweep runs: right counts, names of what runs, lines where there is no terminal."""

import io

import pytest
from sample_records import a_run

from marginbench.harness.printable import Printable
from marginbench.harness.running import live
from marginbench.harness.running.live import InLines, OnTerminal, clock, view


@pytest.fixture
def now(monkeypatch):
    """A clock that the test moves."""
    at = [0.0]
    monkeypatch.setattr(live.time, "monotonic", lambda: at[0])
    return at


def names(records, more=2):
    return {r.hash: f"{r.solver} on {r.dataset}" for r in records} | {f"k{i}": f"other {i}" for i in range(more)}


def test_done_running_bad_and_the_time_left(now):
    records = a_run(2)
    seen = InLines()
    seen.planned(names(records), found=5)
    seen.started("k0", "n1")
    now[0] = 10.0
    for record in records:
        seen.stored(record)
        seen.stored(record)  # run again alone: counted once
    assert seen.headline().startswith(f"{len(records)} of {len(records) + 2} cells, 5 found earlier")
    assert seen.headline().endswith(f"about {clock(10.0 / len(records) * 2)} left")
    assert seen.bad == sum(r.status in ("wrong", "failed", "crashed", "invalid") for r in records)
    assert list(seen.running) == ["k0"]


def test_a_log_gets_a_line_every_half_minute(now, capsys):
    records = a_run(3)
    seen = InLines()
    seen.planned(names(records), found=0)
    for k, record in enumerate(records):
        now[0] = 20.0 * (k + 1)
        seen.stored(record)
    lines = capsys.readouterr().err.splitlines()
    assert 0 < len(lines) < len(records)
    assert all("cells" in line for line in lines)


def test_what_runs_is_named_and_nothing_a_stranger_wrote_is_obeyed(now):
    seen = OnTerminal()
    seen.names, seen.found, seen.begun = {"a": "evil\x1b[2J on data"}, 0, 0.0
    super(OnTerminal, seen).planned(seen.names, 0)
    seen.started("a", "n1")
    now[0] = 65.0
    text = seen._shown().plain
    assert "1:05" in text
    assert "\x1b" not in text


def test_the_view_fits_where_it_goes(monkeypatch):
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert isinstance(view(), InLines)


@pytest.mark.parametrize(("seconds", "shown"), [(0.4, "0:00"), (67, "1:07"), (3725, "1:02:05")])
def test_clocks(seconds, shown):
    assert clock(seconds) == shown


class Terminal(io.StringIO):
    """As far as rich looks: text, and a claim to be one."""

    def isatty(self) -> bool:
        return True


def test_the_view_moves_the_cursor_though_the_streams_spell_out_what_strangers_write(monkeypatch):
    """As `main` runs a verb: its streams let no escape through, but those of the view are its own."""
    screen = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(live.sys, "stderr", Printable(screen, kept="\n\t\r"))
    seen = view()
    assert isinstance(seen, OnTerminal)
    seen.planned({"k0": "\x1b[2J evil"}, found=0)
    seen.started("k0", "here")
    seen._live.refresh()
    seen.close()
    print("\x1b[2J", file=live.sys.stderr)
    shown = screen.getvalue()
    assert "\x1b[2K" in shown  # a line is erased
    assert "\x1b[2J" not in shown  # the screen is not
    assert shown.count(r"\x1b[2J") >= 2
