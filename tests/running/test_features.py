"""[X, s] of an augmented bias on disk: what it holds, that damage is noticed, and that cells see no difference."""

import os

import numpy as np
import pytest
import scipy.sparse as sp

from marginbench.datasets.eviction import HELD
from marginbench.datasets.mapped import mapped, spill, stamp
from marginbench.harness import matrices
from marginbench.harness.cell.run import run_cell
from marginbench.harness.cell.spec import Cell
from marginbench.harness.model.problem import Problem
from marginbench.harness.running import features
from marginbench.harness.running.isolation import Isolation
from marginbench.harness.running.job import Limits

LAYOUTS = {"dense": np.asarray, "csr": sp.csr_array}


def data(n: int = 60, d: int = 4):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    X[3] = 0.0
    return X, np.where(X @ np.ones(d) + rng.normal(size=n) > 0.0, 1.0, -1.0)


def cell(bias: str = "augmented", formulation: str = "dual_qp.DualQP", **problem) -> Cell:
    target = "marginbench.solvers.coordinate_descent.solver.CoordinateDescent"
    return Cell(
        {},
        {"C": 1.0, "bias": bias, "loss": "hinge", **problem},
        {"_target_": f"marginbench.harness.formulations.{formulation}"},
        {"_target_": target, "seed": 3},
        "data",
        "dual_qp",
        "coordinate_descent",
        budget={"seconds": 60.0, "gap": 1e-9},
    )


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("block", [2**18, 7])
def test_it_is_the_matrix_that_the_problem_would_make(tmp_path, layout, block, monkeypatch):
    monkeypatch.setattr(matrices, "BLOCK", block)
    X, y = data()
    found = features.opened(features.widened(spill(LAYOUTS[layout](X), y, "name", tmp_path), 2.5), touched=True)
    made = Problem(LAYOUTS[layout](X), y, bias="augmented", s=2.5).features
    assert type(found) is type(made)
    assert found.has_canonical_format if sp.issparse(found) else found.flags.c_contiguous
    for name in ("data", "indices", "indptr") if sp.issparse(made) else ("T",):
        one, other = getattr(found, name), getattr(made, name)
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("damage", ["flipped", "cut", "gone", "more"])
def test_what_was_changed_is_made_again(tmp_path, layout, damage):
    X, y = data()
    folder = spill(LAYOUTS[layout](X), y, "name", tmp_path)
    path = features.widened(folder, 1.0)
    before = stamp(path)
    assert features.widened(folder, 1.0) == path
    assert stamp(path) == before
    for file in sorted(path.iterdir()):
        whole = file.read_bytes()
        if damage == "gone":
            file.unlink()
        elif damage == "more":
            (path / "y.npy").write_bytes(whole)
        else:
            file.write_bytes(whole[:-8] if damage == "cut" else whole[:-3] + bytes([whole[-3] ^ 1]) + whole[-2:])
        features.widened(folder, 1.0)
        assert file.read_bytes() == whole
        assert not (path / "y.npy").exists()


def test_only_large_data_with_an_augmented_bias_need_it(tmp_path, monkeypatch):
    folder = spill(*data(), "name", tmp_path)
    assert features.prepared(cell(), folder) is None
    monkeypatch.setattr(features, "LARGE", 1)
    assert features.prepared(cell("none"), folder) is None
    assert features.prepared(cell("free"), folder) is None
    assert features.prepared(cell(), folder) == tmp_path / "name-s1.0"
    assert features.prepared(cell(s=0.5), folder) == tmp_path / "name-s0.5"
    perceptron = cell("free", "perceptron.Perceptron")  # runs, and is judged, with a constant feature
    assert features.prepared(perceptron, folder) == tmp_path / "name-s1.0"
    assert mapped(tmp_path / "name-s0.5" / "X.npy", False)[:, -1].tolist() == [0.5] * 60


def test_a_disk_without_room_is_no_error(tmp_path, monkeypatch, full_disk):
    monkeypatch.setattr(features, "LARGE", 1)
    X, y = data(5000, 1)
    folder = spill(X[:1], y[:1], "name", full_disk)
    monkeypatch.setattr(features, "open_data", lambda *_, **__: (X, y))
    assert features.prepared(cell(), folder) is None
    os.close(HELD.pop(full_disk / "name-s1.0"))  # else the disk cannot be taken away


@pytest.mark.parametrize("layout", LAYOUTS)
def test_cells_see_no_difference_and_a_point_comes_only_where_it_is_wanted(tmp_path, layout, monkeypatch):
    X, y = LAYOUTS[layout](data()[0]), data()[1]
    folder = spill(X, y, "name", tmp_path)
    here = run_cell(cell(), X, y, "d")
    monkeypatch.setattr(features, "LARGE", 1)
    with Isolation() as isolation:
        outcome = isolation.run(cell(), folder, "d", None, Limits(60.0, 2048.0))
        without = isolation.run(cell(), folder, "d", None, Limits(60.0, 2048.0), point=False)
    assert features.prepared(cell(), folder).is_dir()
    for record in (outcome.record, without.record):
        assert record.status == here.record.status == "solved"
        assert (record.primal, record.dual, record.iterations) == (
            here.record.primal,
            here.record.dual,
            here.record.iterations,
        )
    for one, other in zip(outcome.point[:3], here.point[:3], strict=True):
        np.testing.assert_array_equal(one, other)
    assert without.point is None
