"""Functions that tests run as jobs: they answer, crash, hang, forge."""

import os
import signal
import time

from marginbench.harness.running.job import framed

WARMED: list[str] = []


def warm_up(word: str) -> None:
    WARMED.append(word)


def echo(word: str) -> bytes:
    return framed({"word": word, "warmed": WARMED, "pid": os.getpid()}, word.encode())


def sizes(X, y, word: str) -> bytes:
    return framed({"shape": list(X.shape), "labels": sorted(set(y.tolist())), "word": word})


def crash(_: str) -> bytes:
    os.kill(os.getpid(), signal.SIGSEGV)
    return b""


def hang(_: str) -> bytes:
    time.sleep(60.0)
    return b""


def nothing(_: str) -> bytes:
    return framed({})[:-1] + b"["


def refuse(word: str) -> bytes:
    raise ValueError(f"no\n{word}")
