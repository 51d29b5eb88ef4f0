"""The contract of a warm start: from its answer at another C a solver comes to the optimum as well as from nothing."""

from itertools import islice

from marginbench.harness.model.start import start_at
from marginbench.harness.validation.testbed import LOST, SLACK, STEPS, Broken, NotApplicable, Testbed, started

FURTHER = 10.0
"""The other C, in units of the one that is solved."""


def warm_start(bed: Testbed) -> str:
    if not bed.solver().takes_start():
        raise NotApplicable("it takes no start")
    if bed.hard:
        raise NotApplicable("a hard margin has no other C")
    problem, other, point = bed.problem(), bed.problem(C=FURTHER * bed.setting.problem["C"]), None
    program = bed.program(other)
    with started(bed.solver(), program) as iterates:
        for iterate in islice(iterates, STEPS):
            point = point if iterate.x is None else bed.point(other, program, iterate)
    if point is None:
        raise NotApplicable("it has no answer at another C")
    error, own = bed.answers(problem, start=start_at(problem, point))[-1], bed.own[-1]
    if not error <= max(SLACK * bed.subject.accuracy, LOST * own):
        raise Broken(f"has a relative error of {error:.0e} from its answer at {FURTHER:g} C, of {own:.0e} from nothing")
    return f"the answer has a relative error of {error:.0e}"
