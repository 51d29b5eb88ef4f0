"""The zoo: what each wrong, sloppy or cheating solver gets from `run`. Mistakes are all caught; of attacks, all but
those that are listed with a reason; and nobody who is right is accused."""

import os

import pytest
from zoo.expectation import BUDGET, Expectation, complaints
from zoo.honest import KEEPERS, keepers
from zoo.keeper import run, run_all, survivors
from zoo.pens import PENS, truth
from zoo.score import note
from zoo.table_of_attacks import ATTACKS, RESIDUE
from zoo.table_of_mistakes import CONTROLS, MISTAKES

pytestmark = pytest.mark.long

ZERO = Expectation("mistakes.Nothing", "risk", ("wrong",), "w = 0 is far from the optimum, whatever a file says")
HONEST = Expectation("honest.Honest", "dual", ("solved",), "right")
EVERYONE = [*CONTROLS, *MISTAKES, *ATTACKS]
TOKEN = f"zoo-of-{os.getpid()}"


def names(expected):
    return [pytest.param(one, id=one.name) for one in expected]


@pytest.fixture(scope="module")
def cage(tmp_path_factory):
    """Everything that an animal can find by its environment is the zoo's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(KEEPERS, keepers())
        patch.setenv("MARGINBENCH_ZOO", TOKEN)
        patch.setenv("MARGINBENCH_CACHE", str(tmp_path_factory.mktemp("zoo-cache")))
        yield tmp_path_factory.mktemp("zoo-results")


@pytest.fixture(scope="module")
def rows(cage):
    return run_all(EVERYONE, cage)


def test_there_are_enough_animals_with_names_and_reasons():
    assert len({one.name for one in EVERYONE}) == len(EVERYONE)
    assert len({one.target for one in [*MISTAKES, *ATTACKS]}) >= 60
    assert all(one.reason and one.pen in PENS for one in EVERYONE)
    assert set(RESIDUE) <= {one.name for one in ATTACKS}


@pytest.mark.parametrize("pen", PENS)
def test_what_is_proven_of_a_pen_is_narrow(pen):
    proven = truth(pen)
    assert proven.infeasible or proven.upper - proven.lower <= BUDGET["gap"] / 10.0 * proven.upper


@pytest.mark.parametrize("expected", names(CONTROLS))
def test_who_is_right_is_not_accused(expected, rows):
    assert [complaints(row, expected) for row in rows[expected.name]] == [[]]


@pytest.mark.parametrize("expected", names(MISTAKES))
def test_a_mistake_is_caught(expected, rows, request):
    found = [text for row in rows[expected.name] for text in complaints(row, expected)]
    note(request, "mistakes by run", expected.name, not found)
    assert not found, expected.reason


@pytest.mark.parametrize("expected", names(ATTACKS))
def test_an_attack_is_caught(expected, rows, request):
    found = [text for row in rows[expected.name] for text in complaints(row, expected)]
    note(request, "attacks by run", expected.name, not found)
    assert not found or expected.name in RESIDUE, expected.reason


def test_nobody_is_left_in_the_cage(rows):
    assert rows
    assert not survivors(TOKEN)


# -- what one leaves behind for the next --------------------------------------------------------------------------


@pytest.fixture
def own_cage(cage, tmp_path, monkeypatch):
    monkeypatch.setenv("MARGINBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path


def animal(target: str, pen: str) -> Expectation:
    return Expectation(target, pen, (), "")


def test_a_planted_reference_convinces_nobody(own_cage, request):
    run(animal("on_disk.PlantsReference", "risk").cells(), own_cage / "first")
    assert list((own_cage / "cache" / "reference").glob("*.json"))
    (row,) = run(ZERO.cells(), own_cage / "second")
    found = complaints(row, ZERO)
    note(request, "attacks by run", "PlantsReference", not found)
    assert not found


def test_a_planted_reference_of_an_earlier_run_convinces_nobody(own_cage, request):
    planted = animal("on_disk.PlantsRunReference", "risk").cells(folder=str(own_cage / "out"))
    run(planted, own_cage / "out")
    _, row = run([*planted, *ZERO.cells()], own_cage / "out")
    found = complaints(row, ZERO)
    note(request, "attacks by run", "PlantsRunReference", not found)
    assert not found


def test_data_changed_in_the_cache_are_made_again(own_cage, request):
    changed = Expectation("on_disk.ChangesCachedData", "dual", ("invalid",), "")
    (own,) = run(changed.cells(), own_cage / "first")
    (row,) = run(HONEST.cells(), own_cage / "second")
    found = complaints(own, changed) + complaints(row, HONEST)
    note(request, "attacks by run", "ChangesCachedData", not found)
    assert not found
