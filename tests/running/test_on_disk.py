"""Nothing on disk is trusted: changed data are made again, false references are refused and named."""

import json
import math
import shutil

import numpy as np
import pytest
import scipy.sparse as sp

from marginbench.datasets import cache
from marginbench.datasets.digest import digest
from marginbench.harness.cell.spec import Cell, instantiate
from marginbench.harness.commands import reference as command
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.model.problem import Point, Problem, problem_key
from marginbench.harness.references.computed import bounds_of_point, path_of, read_bounds, write_bounds
from marginbench.harness.references.enclosure import enclose
from marginbench.harness.references.library import STORED, Entry, Library, entries
from marginbench.harness.references.reference import Reference, load, save
from marginbench.harness.running.mapped_data import open_data, spill, stamp
from marginbench.harness.running.optima import Proof, check_files
from marginbench.harness.running.sweep import run_cells

DATA = {"_target_": "marginbench.datasets.generators.overlapping", "n": 60, "d": 3, "distance": 2.0, "seed": 5}
CD = "marginbench.solvers.coordinate_descent.solver.CoordinateDescent"
REFERENCE = {
    "soft": {
        "formulation": {"_target_": "marginbench.harness.formulations.dual_qp.DualQP"},
        "solver": {"_target_": CD},
    },
    "budget": {"seconds": 5.0, "gap": 1e-9},
}


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("MARGINBENCH_CACHE", str(tmp_path / "cache"))


def cell(solver: str = CD, **problem) -> Cell:
    return Cell(
        DATA,
        {"C": 1.0, "bias": "none", "loss": "hinge", **problem},
        {"_target_": "marginbench.harness.formulations.dual_qp.DualQP"},
        {"_target_": solver},
        "data",
        "dual_qp",
        solver,
        budget={"seconds": 5.0, "gap": 1e-6, "iterations": 100_000, "wrong_gap": 1e-2},
        limits={"seconds": 30.0, "memory_mb": 2048.0},
    )


def run(out, *cells: Cell, reference=None):
    config = {"out": str(out), "repeat_below": math.inf, "fresh": True, "reference": reference or {}, "seed": 0}
    return run_cells(list(cells), config, "disk", "disk")


def truth() -> tuple[Problem, str]:
    X, y = instantiate(DATA)
    return Problem(X, y, 1.0, "none"), digest(X, y)


# -- data ------------------------------------------------------------------------------------------------------------


def flip(path, where: int = -3):
    data = bytearray(path.read_bytes())
    data[where] ^= 1
    path.write_bytes(bytes(data))


DAMAGE = {
    "a flipped bit": lambda folder, name: flip(folder / name),
    "cut": lambda folder, name: (folder / name).write_bytes((folder / name).read_bytes()[:-8]),
    "cut to nothing": lambda folder, name: (folder / name).write_bytes(b""),
    "no array": lambda folder, name: (folder / name).write_bytes(b"text"),
    "a bit of its header": lambda folder, name: flip(folder / name, 30),
    "gone": lambda folder, name: (folder / name).unlink(),
    "other numbers": lambda folder, name: np.save(folder / name, np.zeros(3)),
    "one more": lambda folder, name: np.save(folder / "weight.npy", np.zeros(3)),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_data_that_were_changed_are_made_again(tmp_path, damage, layout):
    X, y = np.random.default_rng(0).normal(size=(9, 4)), np.where(np.arange(9) % 2, 1.0, -1.0)
    path = spill(layout(X), y, "name", tmp_path)
    before = stamp(path)
    assert spill(layout(X), y, "name", tmp_path) == path
    assert stamp(path) == before
    DAMAGE[damage](path, "X.npy" if layout is np.asarray else "data.npy")
    assert stamp(path) != before
    Z, z = open_data(spill(layout(X), y, "name", tmp_path))
    np.testing.assert_array_equal(Z.toarray() if sp.issparse(Z) else Z, X)
    np.testing.assert_array_equal(z, y)
    assert list(tmp_path.iterdir()) == [path]


def test_a_flipped_bit_in_the_cache_changes_no_result(tmp_path):
    (honest,) = run(tmp_path / "a", cell()).records
    (path,) = (cache.folder() / "data").glob("*/X.npy")
    flip(path, -2)
    (again,) = run(tmp_path / "b", cell()).records
    assert (again.status, again.primal) == (honest.status, honest.primal) == ("solved", honest.primal)


def test_a_cell_that_changes_its_data_is_void_and_its_neighbours_are_not(tmp_path):
    rows = run(tmp_path / "out", cell("disk_solvers.ChangesData"), cell(), cell(C=2.0), cell(C=3.0)).records
    status = {(row.solver, row.C): row.status for row in rows}
    assert status.pop(("disk_solvers.ChangesData", 1.0)) == "invalid"
    assert set(status.values()) == {"solved"}
    problem, _ = truth()
    for row in rows:
        if row.status == "solved":
            assert row.primal == pytest.approx(problem.with_(C=row.C).primal(*best(problem.with_(C=row.C))), rel=1e-5)


def best(problem: Problem) -> tuple[np.ndarray, float]:
    from marginbench.harness.references.polish import polish

    point = polish(problem, Point(np.zeros(problem.d)))
    return point.w, point.b


# -- references ------------------------------------------------------------------------------------------------------


def false_reference(problem: Problem, name: str) -> Reference:
    """All checksums fit; the proof does not."""
    zero = Point(np.zeros(problem.d), 0.0, np.zeros(problem.n))
    value = problem.primal(zero.w)
    return Reference(problem_key(problem, name), name, Bounds(value, value), zero, ("", ""))


def test_a_planted_reference_is_refused_and_named(tmp_path):
    problem, name = truth()
    save(false_reference(problem, name), cache.folder() / "reference")
    done = run(tmp_path / "out", cell(), reference=REFERENCE)
    (row,) = done.records
    assert row.status == "solved"
    assert row.primal < 0.9 * problem.primal(np.zeros(3))
    assert any("a stored reference was not used" in note and "proven" in note for note in done.notes)


def test_a_copy_under_another_name_is_refused(tmp_path):
    problem, name = truth()
    zero = Point(np.zeros(3), 0.0, np.zeros(60))
    other = problem.with_(C=10.0)
    true = Reference(problem_key(other, name), name, enclose(other, zero), zero, ("", ""))
    path = save(true, tmp_path)
    key = problem_key(problem, name)
    shutil.copy(path, tmp_path / f"{key}.json")
    library = Library([tmp_path])
    assert library.bounds(key) is None
    assert library.proven(problem, name) is None
    assert "is a copy of the reference of" in library.refused[key]
    assert library.proven(other, name) == true.bounds
    damaged, rest = check_files(library, [])
    assert [proof.name for proof in damaged] == [key]
    assert rest == 1


def test_a_stored_reference_is_proven_once_per_run(monkeypatch):
    entry = next(entries())
    problem, name = entry.build()
    library = Library([STORED])
    found = library.proven(problem, name)
    assert found == load(STORED / f"{problem_key(problem, name)}.json").bounds
    monkeypatch.setattr("marginbench.harness.references.library.prove", None)
    assert library.proven(problem, name) is found


def test_bounds_kept_by_an_earlier_run_are_proven_again_by_whoever_has_the_data(tmp_path):
    problem, name = truth()
    key = problem_key(problem, name)
    point = Point(*best(problem), np.zeros(60))
    write_bounds(tmp_path, key, Bounds(30.0, 30.0, "computed", point))
    assert read_bounds(tmp_path, key) == Bounds(30.0, 30.0)
    again = bounds_of_point(problem, read_bounds(tmp_path, key).point)
    assert again.lower == 0.0
    assert again.upper == pytest.approx(problem.primal(point.w))
    shutil.copy(path_of(tmp_path, key), path_of(tmp_path, "other"))
    assert read_bounds(tmp_path, "other") is None
    with np.load(path_of(tmp_path, key)) as stored:
        arrays = dict(stored)
    np.savez(path_of(tmp_path, key), **arrays | {"bounds": np.array([29.0, 30.0])})
    assert read_bounds(tmp_path, key) is None


@pytest.mark.parametrize("bias", ["none", "free", "augmented"])
def test_that_there_is_no_solution_is_proven_again_too(bias, tmp_path):
    rng = np.random.default_rng(3)
    problem = Problem(rng.normal(size=(60, 4)), np.where(rng.random(60) < 0.5, 1.0, -1.0), np.inf, bias)
    found = bounds_of_point(problem, Point(np.zeros(4), 0.0, np.ones(60)))
    assert found.infeasible
    write_bounds(tmp_path, "k", found)
    assert bounds_of_point(problem, read_bounds(tmp_path, "k").point).infeasible
    assert not bounds_of_point(problem, Point(np.zeros(4), 0.0, np.zeros(60))).infeasible


def test_check_sees_damage_where_the_data_are_absent_and_counts_the_rest(monkeypatch, capsys):
    """Of 115 references, 30 are of public files that need not be here."""
    some = Entry("overlapping", DATA, {"C": 1.0, "bias": "none"})
    problem, name = some.build()
    folder = cache.folder() / "reference"
    save(Reference(problem_key(problem, name), name, enclose(problem, at := nothing(problem)), at, ("", "")), folder)
    monkeypatch.setattr(command, "entries", lambda *_: iter([some]))
    absent = sum(1 for _ in STORED.glob("*.json"))
    assert command.main(["--check"]) == 0
    said = capsys.readouterr().out
    assert f"{absent} more are undamaged, and cannot be proven for want of their data" in said
    assert "1 of 1 proven" in said
    victim = folder / next(STORED.glob("*.json")).name.replace("-C", "-D")
    text = json.loads(next(STORED.glob("*.json")).read_text())
    text["lower"]["decimal"] = "1" + text["lower"]["decimal"]
    victim.write_text(json.dumps(text))
    assert command.main(["--check"]) == 1
    assert "the checksum does not fit" in capsys.readouterr().out


def nothing(problem: Problem) -> Point:
    return Point(np.zeros(problem.d), 0.0, np.zeros(problem.n))


def test_a_bound_on_one_side_is_not_a_proven_optimum():
    point = Point(np.zeros(1), 0.0, np.zeros(1))
    one_sided = Reference("k", "d", Bounds(5e23, math.inf), point, ("a", "a"))
    assert Proof.of("thin", one_sided).reference is None
    assert "only P* >= 5e+23 is proven" in str(Proof.of("thin", one_sided))
    for bounds in (Bounds(1.0, 2.0), Bounds(math.inf, math.inf)):
        assert Proof.of("k", Reference("k", "d", bounds, point, ("a", "a"))).reference is not None
