"""The protocol of a solver: a generator of iterates.

    @dataclass(frozen=True)
    class Halving(Solver):
        accepts = (RegularisedRisk,)

        def iterates(self, program):
            w = np.zeros(program.d)
            while True:
                ...                       # one step, epoch or rung
                yield Iterate(w)

The harness owns the loop, the clock and the stopping rule; a solver knows nothing of budgets and tolerances of the
benchmark and works in a notebook: `next(itertools.islice(Halving().iterates(program), 99, None))`.

A solver that can begin from an earlier answer has a second parameter, `iterates(self, program, start=None)`, which
is a `Start`: its own answer at another C (`start.py`). Nothing else is declared.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from inspect import signature
from itertools import islice
from typing import Any, ClassVar, Literal, NamedTuple

from marginbench.harness.model.kernel_dual import KernelDual
from marginbench.harness.model.needs import Need
from marginbench.harness.model.problem import Array
from marginbench.harness.model.programs import OnSamples, Program

Claim = Literal["", "converged", "inaccurate", "infeasible", "unbounded", "limit", "failed"]


@dataclass(frozen=True)
class Iterate:
    """What a solver holds after a step. Arrays may be the solver's own: whoever keeps them copies them.

    x, dual: in the program's variables; for an infeasible or unbounded program, dual or x is the certificate.
    claim: what the solver says of it. A generator that ends without a word on its last iterate claims `converged`.
    said: the library's own words. info: counts worth a column (`updates`, `library_seconds`, `epochs`, ...).
    look: certify this one whatever the schedule; for the first expensive steps after many cheap ones.
    """

    x: Array | None
    dual: Array | None = None
    claim: Claim = ""
    said: str = ""
    info: Mapping[str, Any] = field(default_factory=dict)
    look: bool = False


class Start(NamedTuple):
    """What a warm solver begins from, in arrays of its own.

    alpha: feasible: in the box and, with a free bias, with sum alpha_i y_i = 0. Zeros where the solver gave none.
    w: coefficients on the columns of the program's X; empty with a kernel. (w, b) need not belong to alpha.
    """

    alpha: Array
    w: Array
    b: float


class Solver(ABC):
    """Base of all solvers: a frozen dataclass whose fields are its hyper-parameters."""

    accepts: ClassVar[tuple[type[Program], ...]]
    """Programs it takes, the preferred first."""

    requires: ClassVar[Mapping[str, str]] = {}
    """Libraries it wraps -> what installs them: an extra of marginbench, a requirement for pip (`name>=1.0`), or
    `""` where marginbench itself does."""

    licence: ClassVar[str] = ""
    """Of the library it wraps; empty where it is no library's."""

    restarts: ClassVar[bool] = False
    """True when every iterate is a cold, independent solve. Each rung of a `Ladder` is run in a process of its own and
    charged its own time. Any other solver is charged the sum, whatever it says here."""

    single: ClassVar[bool] = False
    """Whether it takes float32 entries as they are, with sums in float64; else it is given a float64 copy."""

    deterministic: ClassVar[bool] = True
    """Same program, same fields: same bits."""

    accuracy: ClassVar[float] = 1e-6
    """The relative gap that `marginbench validate` holds it to, on every program it accepts."""

    baseline: ClassVar[bool] = False
    """True for the one that a report compares the others with, unless its reader chooses."""

    memory_field: ClassVar[str] = ""
    """The field that says how many MB it may keep, if there is one. `marginbench validate` makes it small: memory that
    is constant shall not hide memory that grows."""

    rows_of_kernel: ClassVar[bool] = False
    """Whether it takes a KernelDual whose K is computed row by row: where the matrix does not fit into memory, others
    are refused with its size."""

    bounds_dual: ClassVar[bool] = False
    """Whether `bound` is one of D* - D, not of P - P*."""

    def bound(self, program: Program) -> Callable[[Mapping[str, Any]], float | None] | None:
        """What theory promises of P - P*, as a function of an iterate's `info`; None without such a promise."""
        return None

    def refuses(self, program: Program) -> str | None:
        """Why this program cannot be solved although its type is accepted; None when it can."""
        return None

    def needs(self, program: Program) -> Need | None:
        """The largest matrix that it makes for this program; None where it makes none that matters."""
        return None

    def warm_up(self, program: Program) -> None:
        """Whatever is paid once per process (compiling, importing), before the clock starts.

        `program` is a small one, of a few rows of the data. Unless a solver knows better, two iterates on it.
        """
        for _ in islice(self.iterates(program), 2):
            pass

    @abstractmethod
    def iterates(self, program: Program) -> Iterator[Iterate]:
        """Yield after each step, epoch or rung; return when it believes it is done."""

    @classmethod
    def takes_start(cls) -> bool:
        """Whether it can begin from an earlier answer: its `iterates` has a parameter `start`."""
        return "start" in signature(cls.iterates).parameters

    def iterates_from(self, program: Program, start: Start | None) -> Iterator[Iterate]:
        """`iterates`, from `start` where there is one."""
        return self.iterates(program) if start is None else self.iterates(program, start=start)  # type: ignore[call-arg]


class Compiled(Solver):
    """A solver with compiled kernels: compiling and loading them is its warm-up."""

    warm_up_rows: ClassVar[int] = 2
    """Rows on which the first few iterates meet every kernel."""

    def warm_up(self, program: Program) -> None:
        """The first five iterates on the first rows."""
        assert isinstance(program, OnSamples | KernelDual)
        for _ in islice(self.iterates(program.head(self.warm_up_rows)), 5):
            pass
