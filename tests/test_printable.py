"""No character that a terminal obeys is printed; it is spelled out."""

import io
import unicodedata

import pytest
from tqdm import tqdm

from marginbench.harness.printable import Printable, printable, printable_lines


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("\x1b]0;title\x07\x1b[2J", r"\x1b]0;title\x07\x1b[2J"),
        ("a\nb\tc\r\nd\u2028e", "a b c d e"),
        ("\u202eevil\u200b", r"\u202eevil\u200b"),
        ("\x9b31m\x00", r"\x9b31m\x00"),
        ("half \ud800", r"half \ud800"),
        ("é ∞ 漢 ½", "é ∞ 漢 ½"),
        ("", ""),
    ],
)
def test_what_would_be_obeyed_is_spelled_out(given, shown):
    assert printable(given) == shown


def test_every_character_is_printable_afterwards_or_a_blank():
    every = "".join(map(chr, range(0x110000)))
    assert printable(every).isprintable()
    kept = printable_lines(every)
    assert {c for c in kept if not c.isprintable()} == {"\n", "\t"}
    assert {unicodedata.category(c) for c in kept} & {"Cf", "Cs", "Cn", "Zl", "Zp"} == set()


def test_a_stream_keeps_lines_and_tabs():
    behind = io.StringIO()
    stream = Printable(behind)
    print("one\ttwo\n\x1b[31mred", file=stream, flush=True)
    assert behind.getvalue() == "one\ttwo\n\\x1b[31mred\n"
    assert not stream.isatty()


def test_a_progress_bar_is_drawn_as_ever():
    behind, straight = io.StringIO(), io.StringIO()
    for stream in (Printable(behind, kept="\n\t\r"), straight):
        for _ in tqdm(range(3), file=stream, ascii=False, mininterval=0.0, bar_format="{n_fmt} {bar}"):
            pass
    assert "\r" in straight.getvalue()
    assert behind.getvalue() == straight.getvalue()
