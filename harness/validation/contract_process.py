"""Checking contracts: in this process, or each as a job, whose crash or hang breaks one contract only."""

from collections.abc import Iterator
from dataclasses import asdict

from marginbench.harness.records.codec import dumps
from marginbench.harness.running.isolation import Isolation
from marginbench.harness.running.job import Job, Limits, framed
from marginbench.harness.validation.contracts import CONTRACTS
from marginbench.harness.validation.probes import first_line
from marginbench.harness.validation.scorecard import ContractLine
from marginbench.harness.validation.testbed import Broken, NotApplicable, Subject, Testbed

COMPILE_SECONDS = 240.0
"""For a contract beside its solves: importing and compiling. Another type of number compiles all kernels of a solver
again, a minute on a busy machine."""

SOLVES = 20
"""The most solves that a contract takes, over all settings."""


def check(subject: Subject, names: tuple[str, ...] = tuple(CONTRACTS)) -> Iterator[ContractLine]:
    """The contracts in this process, each in all settings."""
    beds = [Testbed(subject, setting) for setting in subject.settings]
    for name in names:
        yield combined(name, [examine(name, bed) for bed in beds])


def examine(name: str, bed: Testbed) -> ContractLine:
    where = f"{bed.setting.name}, bias {bed.setting.problem['bias']}"
    try:
        return ContractLine(name, "pass", CONTRACTS[name](bed))
    except NotApplicable as reason:
        return ContractLine(name, "not applicable", str(reason))
    except Broken as reason:
        return ContractLine(name, "fail", f"{where}: {reason}")
    except Exception as error:  # whatever a solver raises on a program that it accepts
        return ContractLine(name, "fail", f"{where}: {first_line(error)}")


def combined(name: str, lines: list[ContractLine]) -> ContractLine:
    """The worst result: one setting in which a contract is broken breaks it."""
    for result in ("fail", "pass", "not applicable"):
        for line in lines:
            if line.result == result:
                return line
    return ContractLine(name, "not applicable", "no setting to check it in")


# -- as jobs ------------------------------------------------------------------------------------------------------


def check_isolated(
    subject: Subject, isolation: Isolation, names: tuple[str, ...] = tuple(CONTRACTS)
) -> Iterator[ContractLine]:
    """The contracts, each in a process of its own."""
    for name in names:
        result = isolation.do(_job(subject, name))
        if result.status:
            yield ContractLine(name, "fail", result.message)
            continue
        try:
            yield ContractLine(**result.text)
        except TypeError:
            yield ContractLine(name, "fail", "its answer cannot be read")


def _job(subject: Subject, name: str) -> Job:
    return Job(
        function=f"{__name__}.answer",
        arguments=(subject, name),
        limits=Limits(seconds=COMPILE_SECONDS + SOLVES * subject.seconds),
        module=str(subject.solver["_target_"]),
        warm_up=f"{__name__}.warm_up",
        kind=_key(subject),
    )


_BEDS: dict[str, list[Testbed]] = {}
"""Of the subjects that this process was warmed up for: what is in them, a fork of it finds done."""


def _key(subject: Subject) -> str:
    return dumps(["contracts", asdict(subject)])


def warm_up(subject: Subject, _: str) -> None:
    """In the process that contracts are forked from: import, compile, and find the optimum of each setting."""
    _BEDS[_key(subject)] = beds = [Testbed(subject, setting) for setting in subject.settings]
    for bed in beds:
        bed.warm_up()


def answer(subject: Subject, name: str) -> bytes:
    """In the process of one contract."""
    beds = _BEDS.get(_key(subject)) or [Testbed(subject, setting) for setting in subject.settings]
    return framed(asdict(combined(name, [examine(name, bed) for bed in beds])))
