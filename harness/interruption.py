"""SIGTERM and SIGHUP end a command as Ctrl-C does: what exists is written, temporary folders are removed."""

import contextlib
import signal
from collections.abc import Callable, Iterator
from types import FrameType

Handler = Callable[[int, FrameType | None], object] | int

SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """The first of SIGNALS raises KeyboardInterrupt. Those after it do not disturb what is still written.

    A signal that is ignored, as SIGHUP is under `nohup`, stays ignored.
    """
    before = _handled(_interrupt)
    try:
        yield
    finally:
        _restore(before)


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """A signal that arrives here takes effect at the end."""
    arrived: list[int] = []
    before = _handled(lambda number, _: arrived.append(number))
    try:
        yield
    finally:
        _restore(before)
    if arrived:
        raise KeyboardInterrupt


def _interrupt(*_: object) -> None:
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _handled(handler: Handler) -> dict[int, Handler]:
    """Set the handler of all that are not ignored; those of before. Outside of the main thread nothing can be set."""
    before: dict[int, Handler] = {}
    with contextlib.suppress(ValueError):
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, handler) or signal.SIG_DFL
    return before


def _restore(before: dict[int, Handler]) -> None:
    for number, handler in before.items():
        signal.signal(number, handler)
