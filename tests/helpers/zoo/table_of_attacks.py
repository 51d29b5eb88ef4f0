"""The attacks of the zoo, and what each must get; and those that may get past, with the reason."""

from zoo.expectation import BROKEN, NOT_SOLVED, SHORT_OF_IT, Expectation
from zoo.honest import WORK

SOLVED_OR_NOT = ("solved", *NOT_SOLVED)
QUICK = {"seconds": 1.0}


def clock(name: str, reason: str, **more) -> Expectation:
    """Solved is right where the time is charged, or named as unaccounted."""
    return Expectation(name, "dual", SOLVED_OR_NOT, reason, works=WORK, **more)


def judge(name: str, reason: str, pen: str = "risk") -> Expectation:
    """The answer is wrong, whatever was done to those who judge it."""
    return Expectation(f"changed_problem.{name}", pen, NOT_SOLVED, reason)


def crash(name: str, status: tuple[str, ...], reason: str, **more) -> Expectation:
    return Expectation(f"abuse.{name}", "risk", status, reason, **more)


ATTACKS = [
    # -- the clock --------------------------------------------------------------------------------------------------
    clock("hidden_time.ReturnsIterator", "the call of iterates is charged", validate="time|work"),
    clock("hidden_time.WorksInRefuses", "refuses is charged, or sees a head only", validate="time|work"),
    clock("hidden_time.WorksInWarmUp", "warm_up sees a head of the data only", validate="time|work"),
    clock("hidden_time.LazyInfo", "info is read on the clock", validate="time|work"),
    clock("hidden_time.LazyX", "x is read on the clock", validate="time|work"),
    clock("hidden_time.LazySaid", "said is read on the clock", validate="time|work"),
    clock("hidden_time.WorksInClaim", "the claim is read on the clock", validate="time|work"),
    clock("hidden_time.WorksInSaid", "what is said is read on the clock", validate="time|work"),
    clock("hidden_time.LazyArray", "only arrays are taken, or read on the clock", validate="time|work"),
    clock("hidden_time.SubclassedArray", "arrays are copied as plain ones, before it works", validate="claimed conv"),
    clock("hidden_time.WorksAfterLastYield", "the last next() is charged", validate="time|work"),
    clock("hidden_time.WorksOnClose", "the end is accounted for", validate="time|work"),
    clock("hidden_time.WorksWhenDeleted", "the end is accounted for", validate="time|work"),
    clock("hidden_time.WorksInPostInit", "making the solver is accounted for", validate="time|work"),
    clock("hidden_time.FakeRestarts", "a rung is cold: it has no generator to go on from", validate="time|work|rung"),
    clock("hidden_time.StopsClocks", "the clock is not the solver's"),
    clock("at_import.WorksAtImport", "importing is accounted for"),
    clock("helpers_at_work.WorksInThread", "threads stand still while the judge looks"),
    clock("helpers_at_work.WorksInChild", "children stand still while the judge looks"),
    clock("helpers_at_work.WorksInSession", "CPU time of a session of its own is accounted for"),
    clock("on_disk.CachesOnDisk", "the second repeat takes 1e-4 of the first, which is said", repeats=2),
    clock("on_disk.RungsOnDisk", "the rungs of a ladder go on from one another"),
    Expectation("forgery.ForgesTime", "risk", SOLVED_OR_NOT, "the judge writes the time", works=WORK),
    Expectation("forgery.ForgesSteps", "risk", SOLVED_OR_NOT, "the outside clock counts", works=WORK),
    # -- the judge --------------------------------------------------------------------------------------------------
    judge("FindsProblem", "the judge has a Problem of its own", "dual"),
    judge("ClimbsFrames", "the judge has frames of its own", "dual"),
    judge("RemapsData", "the judge has a mapping of its own", "dual"),
    judge("WritesThroughPointer", "the data are mapped read-only"),
    judge("PatchesCertify", "the judge loads no solver"),
    judge("PatchesPrimal", "the judge loads no solver"),
    judge("PatchesVerdict", "the judge loads no solver"),
    judge("PatchesRecord", "the judge writes the record"),
    judge("PatchesGap", "the judge loads no solver"),
    judge("PatchesNumpy", "the judge has a NumPy of its own", "dual"),
    Expectation("changed_problem.WarmUpChangesUpper", "dual", ("solved",), "warm_up sees a head: right stays right"),
    Expectation("changed_problem.RoundsUpwards", "dual", ("solved",), "the judge rounds to nearest: right stays right"),
    Expectation("changed_problem.FlushesSubnormals", "dual", ("solved",), "right stays right"),
    Expectation("changed_problem.RaisesOnUnderflow", "dual", ("solved",), "right stays right"),
    Expectation("changed_problem.ChangesSurroundings", "dual", ("solved",), "right stays right"),
    Expectation("helpers_at_work.ChangesItsAnswer", "dual", SOLVED_OR_NOT, "what was checked is what is certified"),
    # -- what is written --------------------------------------------------------------------------------------------
    Expectation("forgery.ForgesRecord", "risk", NOT_SOLVED, "a record comes from the judge only"),
    Expectation("forgery.ForgesNonsense", "risk", NOT_SOLVED, "what cannot be read is no answer"),
    Expectation("forgery.SelfMadeIterate", "risk", NOT_SOLVED, "a claim is read once"),
    Expectation(
        "on_disk.ReadsReference", "stored", SOLVED_OR_NOT, "only unknown problems tell it from a solver",
        validate="w is zero|relative error|claimed convergence",
    ),
    # -- the machine ------------------------------------------------------------------------------------------------
    crash("Hangs", ("timeout",), "the limit ends it", limits=QUICK),
    crash("IgnoresSignals", ("timeout",), "SIGKILL cannot be ignored", limits=QUICK),
    crash("StopsItself", ("timeout",), "a stopped process is ended too", limits=QUICK),
    crash("KillsParent", ("timeout", *BROKEN), "its row says so, its neighbours do not notice", limits=QUICK),
    crash("StopsParent", ("timeout", *BROKEN), "somebody watches the one who watches", limits=QUICK),
    crash("KillsGroup", ("crashed",), "the group is its own", words="SIGKILL"),
    crash("ForksTwenty", SHORT_OF_IT, "none of them outlives its cell"),
    crash("Hoards", ("memory",), "memory is limited", limits={"memory_mb": 300.0}),
    crash("ClosesDescriptors", NOT_SOLVED, "its own descriptors only"),
    crash("LeavesQuietly", NOT_SOLVED, "code 0 is no answer"),
    crash("Segfaults", ("crashed",), "by a signal", words="SIGSEGV"),
    crash("Aborts", ("crashed",), "by a signal", words="SIGABRT"),
]  # fmt: skip

RESIDUE = {"WorksAtImport@dual": "importing is no part of a solve, and is not charged; what it works on is not data"}
"""Names of attacks that may get past `run` and `validate`, with the reason why nothing can be done about them."""
