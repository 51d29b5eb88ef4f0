"""Crashes and abuse of the machine. All act only in the process of a cell, and end by themselves after a while."""

import ctypes
import os
import signal
import time
from dataclasses import dataclass

import numpy as np

from zoo.changed_problem import Attack

LONG = 20.0
"""Seconds after which whatever was left behind ends by itself."""


@dataclass(frozen=True)
class Hangs(Attack):
    def deed(self, program):
        time.sleep(LONG)


@dataclass(frozen=True)
class IgnoresSignals(Attack):
    def deed(self, program):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGXCPU, signal.SIGALRM):
            signal.signal(number, signal.SIG_IGN)
        time.sleep(LONG)


@dataclass(frozen=True)
class StopsItself(Attack):
    def deed(self, program):
        os.kill(os.getpid(), signal.SIGSTOP)


@dataclass(frozen=True)
class KillsParent(Attack):
    def deed(self, program):
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(LONG)


@dataclass(frozen=True)
class StopsParent(Attack):
    """The process that watches it cannot watch any more."""

    def deed(self, program):
        os.kill(os.getppid(), signal.SIGSTOP)
        time.sleep(LONG)


@dataclass(frozen=True)
class KillsGroup(Attack):
    def deed(self, program):
        os.killpg(os.getpgrp(), signal.SIGKILL)


@dataclass(frozen=True)
class ForksTwenty(Attack):
    """Twenty children, half of them in sessions of their own, that outlive it if they may."""

    def deed(self, program):
        for k in range(20):
            if os.fork() == 0:
                if k % 2:
                    os.setsid()
                time.sleep(LONG)
                os._exit(0)


@dataclass(frozen=True)
class Hoards(Attack):
    """Takes memory, up to a gigabyte."""

    def deed(self, program):
        self.__dict__["hoard"] = [np.ones(2**22) for _ in range(32)]


@dataclass(frozen=True)
class ClosesDescriptors(Attack):
    def deed(self, program):
        os.closerange(0, 1000)


@dataclass(frozen=True)
class LeavesQuietly(Attack):
    """Ends its process with code 0 after its only yield."""

    def iterates(self, program):
        yield from super().iterates(program)
        os._exit(0)


@dataclass(frozen=True)
class Segfaults(Attack):
    def deed(self, program):
        ctypes.string_at(0)


@dataclass(frozen=True)
class Aborts(Attack):
    def deed(self, program):
        os.abort()
