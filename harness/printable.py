"""Text from data, files and solvers as a terminal or a table may show it: what would be obeyed is spelled out.

An escape sequence can rename a window, overwrite the line above or hide what follows. Here it becomes visible: the
escape character is shown as the four characters \\x1b.
"""

from typing import Any, TextIO


def printable(value: object) -> str:
    """One line. White space of any kind is a single blank; every other character that is not printable is spelled."""
    text = str(value)
    return " ".join((text if text.isprintable() else "".join(map(_in_line, text))).split())


def printable_lines(text: str, kept: str = "\n\t") -> str:
    """Text of several lines: the characters of `kept` stay as they are."""
    return text if text.isprintable() else "".join(c if c in kept else _spelled(c) for c in text)


def _in_line(c: str) -> str:
    return " " if c.isspace() else _spelled(c)


def _spelled(c: str) -> str:
    return c if c.isprintable() else c.encode("unicode_escape").decode()


class Printable:
    """A stream in front of another one: what is written passes through `printable_lines`."""

    def __init__(self, stream: TextIO, kept: str = "\n\t") -> None:
        self._stream = stream
        self._kept = kept

    def write(self, text: str) -> int:
        self._stream.write(printable_lines(text, self._kept))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def behind(stream: TextIO) -> TextIO:
    """The stream that a `Printable` stands in front of: for colours and cursor movements of our own. Whoever writes
    there makes every text from elsewhere printable first."""
    found: Any = stream
    return found._stream if isinstance(found, Printable) else stream
