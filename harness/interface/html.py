"""Small tables for notebooks. Every value is escaped: labels and messages come from outside."""

from collections.abc import Sequence
from html import escape

CELL = "text-align:left;padding:2px 10px 2px 0"


def pairs(title: str, rows: Sequence[tuple[str, str]], notes: Sequence[str] = ()) -> str:
    """A table of two columns below a title, and notes below it."""
    lines = [
        f'<tr><th scope="row" style="{CELL}">{escape(name)}</th><td style="{CELL}">{escape(value)}</td></tr>'
        for name, value in rows
    ]
    return _around(title, "".join(lines), notes)


def table(title: str, headers: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str] = ()) -> str:
    """A table with headers below a title, and notes below it."""
    head = "".join(f'<th scope="col" style="{CELL}">{escape(name)}</th>' for name in headers)
    body = ("".join(f'<td style="{CELL}">{escape(value)}</td>' for value in row) for row in rows)
    return _around(title, f"<thead><tr>{head}</tr></thead>" + "".join(f"<tr>{row}</tr>" for row in body), notes)


def _around(title: str, rows: str, notes: Sequence[str]) -> str:
    below = "".join(f"<p>{escape(note)}</p>" for note in notes)
    head = f"<p><strong>{escape(title)}</strong></p>"
    return f'<div>{head}<table style="border-collapse:collapse">{rows}</table>{below}</div>'
