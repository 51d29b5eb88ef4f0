"""Nothing on disk is trusted: cached data and references that were damaged, copied or changed convince nobody."""

import json
import shutil

import numpy as np
import pytest
from zoo.expectation import Expectation, complaints
from zoo.honest import KEEPERS, ascend, keepers
from zoo.keeper import run
from zoo.pens import PENS, problem, truth

from marginbench.datasets.digest import digest
from marginbench.harness.cell.spec import instantiate
from marginbench.harness.cli import main
from marginbench.harness.commands import reference as command
from marginbench.harness.model.problem import Point, problem_key
from marginbench.harness.references import library as stored
from marginbench.harness.references.library import STORED, Entry, Library
from marginbench.harness.references.reference import make, save

HONEST = {pen: Expectation("honest.Honest", pen, ("solved",), "right") for pen in ("dual", "risk")}


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv(KEEPERS, keepers())
    monkeypatch.setenv("MARGINBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path


def key_of(pen: str) -> str:
    return problem_key(problem(pen), digest(*instantiate(PENS[pen].dataset)))


def flip(path):
    """One bit: the first number of a row that carries weight is doubled or halved."""
    X, asked = np.load(path), problem("dual")
    row = int(ascend(asked.X, asked.y, asked.upper, False).alpha.argmax())
    data = bytearray(path.read_bytes())
    data[len(data) - X[row:].nbytes + 6] ^= 0x10
    path.write_bytes(data)


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(flip, id="a bit flipped"),
        pytest.param(lambda path: path.write_bytes(path.read_bytes()[:-64]), id="cut"),
        pytest.param(lambda path: np.save(path, np.ones((40, 5))), id="another array"),
    ],
)
def test_damaged_data_in_the_cache_are_made_again(damage, home):
    run(HONEST["dual"].cells(), home / "first")
    (path,) = (home / "cache" / "data").glob("*/X.npy")
    path.chmod(0o644)
    damage(path)
    (row,) = run(HONEST["dual"].cells(), home / "second")
    assert complaints(row, HONEST["dual"]) == []


@pytest.mark.parametrize("pen", HONEST)
def test_the_reference_of_another_problem_is_not_used(pen, home):
    """A file copied under the name of this problem; its text and checksum are those of the other."""
    key, folder = key_of(pen), home / "cache" / "reference"
    folder.mkdir(parents=True)
    other = key_of("stored")
    shutil.copy(STORED / f"{other}.json", folder / f"{key}.json")
    for arrays in STORED.glob(f"{other}-????????.npz"):
        shutil.copy(arrays, folder)
    known = Library().bounds(key)
    assert known is None or known.lower <= truth(pen).upper
    (row,) = run(HONEST[pen].cells(), home / "out")
    assert complaints(row, HONEST[pen]) == []


# -- reference --check ------------------------------------------------------------------------------------------------


@pytest.fixture
def two_references(home, monkeypatch):
    """The shipped references are two: one of data at hand, and one whose data are absent. Returns the latter."""
    folder, pen = home / "shipped", PENS["stored"]
    folder.mkdir()
    here = key_of("stored")
    absent = next(path.stem for path in sorted(STORED.glob("*.json")) if not path.stem.startswith(here[:16]))
    for key in (here, absent):
        for path in [STORED / f"{key}.json", *STORED.glob(f"{key}-????????.npz")]:
            shutil.copy(path, folder)
    at_hand = [Entry("at-hand", pen.dataset, pen.problem)]
    for module in (stored, command):
        monkeypatch.setattr(module, "STORED", folder)
        monkeypatch.setattr(module, "entries", lambda *_, **__: at_hand)
    return folder / f"{absent}.json"


def test_references_that_could_not_be_proven_for_want_of_data_are_counted(two_references, capsys):
    assert main(["reference", "--check"]) == 0
    *_, said, last = capsys.readouterr().out.splitlines()
    assert last == "1 of 1 proven"
    assert said.startswith("1 more are undamaged, and cannot be proven for want of their data")


def test_a_changed_digit_of_a_reference_whose_data_are_absent_is_noticed(two_references, capsys):
    said = json.loads(two_references.read_text())
    number = said["upper"]["decimal"]
    said["upper"]["decimal"] = number[:-1] + str((int(number[-1]) + 1) % 10)
    two_references.chmod(0o644)
    two_references.write_text(json.dumps(said, indent=2) + "\n")
    assert main(["reference", "--check"]) == 1
    assert two_references.stem[:16] in capsys.readouterr().out


def test_a_lower_bound_alone_is_not_called_proven(home, capsys):
    """Margins of 1e-12 of the rows: P* >= 5e23 is proven, and nothing of a hyperplane."""
    rng = np.random.default_rng(2)
    y = np.where(np.arange(40) % 2 == 0, -1.0, 1.0)
    X = np.column_stack([1e-12 * y, rng.normal(size=40)])
    path = home / "thin.csv"
    np.savetxt(path, np.column_stack([y, X]), delimiter=",", fmt="%.17g")
    large = y * X[:, 1]
    alpha = np.zeros(40)
    alpha[large.argmax()], alpha[large.argmin()] = -large.min(), large.max()
    asked = ["dataset=file", f"dataset.path={path}", "problem.C=inf", "problem.bias=none"]
    hard = problem("thin").with_(X=X, y=y)
    reference = make(hard, digest(X, y), {"two rows": Point(np.zeros(2), 0.0, alpha)})
    assert 4e23 < reference.bounds.lower < 6e23
    assert np.isinf(reference.bounds.upper)
    save(reference, home / "cache" / "reference")
    assert main(["reference", "--check", *asked]) == 1
    assert "0 of 1 proven" in capsys.readouterr().out


# -- what validate looks at -------------------------------------------------------------------------------------------


def test_validate_has_large_problems_and_other_constants():
    chosen = list(stored.entries())
    assert any(int(entry.dataset.get("n", 0)) >= 10_000 for entry in chosen)
    assert any(entry.problem.get("s", 1.0) != 1.0 for entry in chosen)
