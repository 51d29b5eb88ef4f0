"""What `validate` says of those animals that it has to find: a broken promise or contract, in the words expected."""

import gc
import re

import pytest
from zoo.expectation import Expectation
from zoo.honest import KEEPERS, keepers
from zoo.keeper import REFERENCE
from zoo.pens import DUAL, PENS, SUM
from zoo.score import note
from zoo.sloppy import StaleState
from zoo.table_of_attacks import ATTACKS, RESIDUE
from zoo.table_of_mistakes import CONTROLS, MISTAKES

from marginbench.harness.references.library import Entry, Library
from marginbench.harness.running.isolation import Isolation
from marginbench.harness.validation.contract_process import check
from marginbench.harness.validation.examination import Examination, anytime, honest_accepts, honest_claims
from marginbench.harness.validation.scorecard import Scorecard
from marginbench.harness.validation.testbed import Setting, Subject

pytestmark = pytest.mark.long

SECONDS = 0.05
"""CPU time that is hidden here: contracts solve many times."""

NAMES = {"dual": "dual_qp", "dual_free": "dual_qp"}


@pytest.fixture(scope="module")
def isolation(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(KEEPERS, keepers())
        patch.setenv("MARGINBENCH_CACHE", str(tmp_path_factory.mktemp("cache")))
        gc.freeze()  # contracts collect garbage again and again, and the tests' own is most of it
        with Isolation() as isolation:
            yield isolation
        gc.unfreeze()


def scorecard(expected: Expectation, isolation: Isolation, folder) -> Scorecard:
    """On the animal's own pen, in a process of its own, and with every contract, in this one."""
    pen = PENS[expected.pen]
    kind = NAMES.get(expected.pen, "regularised_sum")
    formulations = {kind: DUAL if kind == "dual_qp" else SUM}
    solver = {"_target_": f"zoo.{expected.target}"} | ({"seconds": SECONDS} if expected.works else {})
    exam = Examination(
        solver, expected.name, formulations, Library(()), REFERENCE, isolation, seconds=1.0, folder=folder
    )
    rows = list(exam.rows([Entry(expected.pen, pen.dataset, pen.problem)]))
    asked = {key: value for key, value in pen.problem.items() if key != "weight"}
    subject = Subject(solver, (Setting(kind, formulations[kind], asked),), REFERENCE, exam.held_to, 1.0)
    lines = [honest_accepts(rows), honest_claims(rows), anytime(rows, exam.held_to), *check(subject)]
    return Scorecard(expected.name, exam.held_to, rows, lines)


def broken(card: Scorecard) -> str:
    """All that is said against it."""
    return "\n".join([row.why for row in card.broken] + [f"{line.contract}: {line.sentence}" for line in card.failed])


def found(expected: Expectation, isolation: Isolation, folder, request, kind: str) -> bool:
    StaleState.answers.clear()
    said = broken(scorecard(expected, isolation, folder))
    caught = re.search(expected.validate, said) is not None
    note(request, f"{kind} by validate", expected.name, caught)
    return caught or expected.name in RESIDUE


def with_words(expected):
    return [pytest.param(one, id=one.name) for one in expected if one.validate]


@pytest.mark.parametrize("expected", [one for one in CONTROLS if one.name in ("Honest@risk", "Honest@dual_free")])
def test_who_is_right_keeps_everything(expected, isolation, tmp_path):
    card = scorecard(expected, isolation, tmp_path)
    assert card.ok, card.text()


@pytest.mark.parametrize("expected", with_words(MISTAKES))
def test_a_mistake_is_named(expected, isolation, tmp_path, request):
    assert found(expected, isolation, tmp_path, request, "mistakes"), expected.validate


@pytest.mark.parametrize("expected", with_words(ATTACKS))
def test_an_attack_is_named(expected, isolation, tmp_path, request):
    assert found(expected, isolation, tmp_path, request, "attacks"), expected.validate


SYMMETRIES = (
    "row permutation",
    "label swap",
    "feature permutation",
    "row duplication, half C",
    "scaling of data with C",
    "dense and CSR the same",
    "Fortran order",
    "non-contiguous",
)


def test_slowness_is_not_reported_as_asymmetry():
    """Its iterates are those of the transformed problem, one by one; it is only far from the end."""
    setting = Setting("regularised_sum", SUM, {"C": 1.0, "bias": "none", "loss": "hinge"})
    subject = Subject({"_target_": "zoo.honest.SlowAndRight"}, (setting,), REFERENCE, 1e-6, 0.1)
    failed = [f"{line.contract}: {line.sentence}" for line in check(subject, SYMMETRIES) if line.result == "fail"]
    assert not failed
