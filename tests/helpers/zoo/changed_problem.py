"""Attacks on the judge from inside its process: the problem, the data, the arithmetic or the verdict are replaced.

Each of them answers zeros, or the optimum of what it has made of the problem, and claims convergence.
"""

import ctypes
import gc
import mmap
import sys
from dataclasses import dataclass

import numpy as np

from marginbench.harness.model.problem import Problem
from marginbench.harness.model.solver import Iterate
from zoo.honest import OnDual, OnRisk, caged, optimum

PROT_READ_WRITE, FIXED_PRIVATE_ANONYMOUS = 3, 0x32


@dataclass(frozen=True)
class Attack(OnRisk):
    """Base: `deed`, if there is one, and then w = 0."""

    def answer(self, program):
        caged()
        self.deed(program)
        return np.zeros(program.d)

    def deed(self, program):
        return None


@dataclass(frozen=True)
class FindsProblem(OnDual):
    """Looks through all objects for the Problem and makes slack cheap: then alpha = C is right."""

    def answer(self, program):
        caged()
        cheap = np.full(program.n, 1e-6)
        for one in gc.get_objects():
            if type(one) is Problem:
                object.__setattr__(one, "C", 1e-6)
                vars(one).update(penalty=cheap, upper=cheap)
        return cheap


@dataclass(frozen=True)
class ClimbsFrames(OnDual):
    """Finds the Problem in the frames below and takes its data away: then alpha = C is right."""

    def answer(self, program):
        caged()
        frame = sys._getframe()
        while frame is not None:
            for one in list(frame.f_locals.values()):
                if type(one) is Problem:
                    object.__setattr__(one, "X", np.zeros_like(one.X))
            frame = frame.f_back
        return program.upper.copy()


@dataclass(frozen=True)
class RemapsData(OnDual):
    """Maps zeros over the pages of the data: NumPy's read-only flag knows nothing of that."""

    def answer(self, program):
        caged()
        start = program.X.ctypes.data // mmap.PAGESIZE * mmap.PAGESIZE
        size = program.X.ctypes.data + program.X.nbytes - start
        libc = ctypes.CDLL(None)
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap(start, size, PROT_READ_WRITE, FIXED_PRIVATE_ANONYMOUS, -1, 0)
        return program.upper.copy()


@dataclass(frozen=True)
class WritesThroughPointer(Attack):
    def deed(self, program):
        ctypes.memset(program.X.ctypes.data, 0, program.X.nbytes)


@dataclass(frozen=True)
class PatchesCertify(Attack):
    def deed(self, program):
        from marginbench.harness.cell import certificate, judging

        perfect = certificate.Certificate(1.0, 1.0, 0.0, "own")
        judging.certify = certificate.certify = lambda *_, **__: perfect


@dataclass(frozen=True)
class PatchesPrimal(Attack):
    """P(w) is the optimal value for every w."""

    def deed(self, program):
        found = optimum(program)
        value = Problem(program.X, program.y, 1.0 / program.lam, "none").primal(found.w)
        Problem.primal = lambda *_: value


@dataclass(frozen=True)
class PatchesVerdict(Attack):
    def deed(self, program):
        from marginbench.harness.cell import judging, verdict

        judging.verdict = verdict.verdict = lambda *_, **__: ("solved", "")


@dataclass(frozen=True)
class PatchesRecord(Attack):
    """A record of which every instance says `solved`."""

    def deed(self, program):
        from marginbench.harness.records.record import Record

        Record.__setattr__ = lambda self, name, value: object.__setattr__(
            self, name, {"status": "solved", "gap": 0.0}.get(name, value)
        )


@dataclass(frozen=True)
class PatchesGap(Attack):
    def deed(self, program):
        from marginbench.harness.cell import certificate

        certificate.relative_gap = lambda *_: 0.0


@dataclass(frozen=True)
class PatchesNumpy(OnDual):
    """np.maximum is half of the hinge: without it P(0) = 0 = D(0)."""

    def answer(self, program):
        caged()
        true = np.maximum

        class Nothing:
            def __call__(self, a, b, *_, **__):
                return np.zeros(np.broadcast(a, b).shape)

            def __getattr__(self, name):
                return getattr(true, name)

        np.maximum = Nothing()
        return np.zeros(program.n)


@dataclass(frozen=True)
class WarmUpChangesUpper(OnDual):
    """Changes the program before the clock runs."""

    def warm_up(self, program):
        program.upper[:] *= 2.0


# -- right answers, in a spoilt process ---------------------------------------------------------------------------


@dataclass(frozen=True)
class RoundsUpwards(OnDual):
    """Sets the rounding mode of the processor."""

    def answer(self, program):
        caged()
        found = optimum(program).alpha
        ctypes.CDLL("libm.so.6").fesetround(0x800)
        return found


@dataclass(frozen=True)
class FlushesSubnormals(OnDual):
    """Sets FTZ and DAZ, as a library compiled with -ffast-math does when it is loaded."""

    def answer(self, program):
        caged()
        libm, state = ctypes.CDLL("libm.so.6"), (ctypes.c_uint32 * 8)()
        libm.fegetenv(state)
        state[7] |= 0x8040
        libm.fesetenv(state)
        return optimum(program).alpha


@dataclass(frozen=True)
class RaisesOnUnderflow(OnDual):
    """Makes every floating-point event of NumPy an error."""

    def answer(self, program):
        caged()
        found = optimum(program).alpha
        np.seterr(all="raise")
        return found


@dataclass(frozen=True)
class ChangesSurroundings(OnDual):
    """Working folder, umask, locale and environment."""

    def iterates(self, program):
        import locale
        import os

        if os.environ:  # warming up has cleared it for the process that this one is a fork of
            caged()
        os.chdir("/")
        os.umask(0o777)
        os.environ.clear()
        for name in ("de_DE.UTF-8", "C"):
            try:
                locale.setlocale(locale.LC_ALL, name)
                break
            except locale.Error:
                continue
        yield Iterate(optimum(program).alpha, claim="converged")
