"""Weights of rows and classes: a weight of 2 is a repeated row, one of 0 an absent one."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from problems import random_problem

from marginbench.harness.cell.spec import make_problem
from marginbench.harness.cell.weights import weights_of
from marginbench.harness.cli import main
from marginbench.harness.model.problem import InputError, Point, problem_key
from marginbench.harness.references.enclosure import enclose
from marginbench.harness.references.polish import polish

BASE = random_problem(3)
X, y = BASE.X, BASE.y
CONFIG = {"C": 0.7, "bias": "free"}


def optimum(problem):
    point = polish(problem, Point(np.zeros(problem.d), 0.0, np.zeros(problem.n)))
    return enclose(problem, point), point


counts = st.lists(st.integers(0, 3), min_size=y.size, max_size=y.size).filter(
    lambda found: all(any(c for c, label in zip(found, y, strict=True) if label == sign) for sign in (-1, 1))
)


@given(counts=counts, bias=st.sampled_from(["none", "free", "augmented"]), seed=st.integers(0, 99))
def test_whole_weights_are_repetitions(counts, bias, seed):
    """P of any hyperplane is that of the data in which row i stands weight_i times."""
    config = {"C": 0.7, "bias": bias}
    weighted = make_problem(X, y, {**config, "weight": [float(count) for count in counts]})
    repeated = make_problem(np.repeat(X, counts, axis=0), np.repeat(y, counts), config)
    w, b = np.random.default_rng(seed).standard_normal(X.shape[1]), 0.0 if bias == "none" else 0.3
    assert weighted.primal(w, b) == pytest.approx(repeated.primal(w, b), rel=1e-13)
    assert weighted.best_bias(w) == pytest.approx(repeated.best_bias(w), abs=1e-9)
    assert weighted.n == np.count_nonzero(counts)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("bias", ["none", "free", "augmented"])
def test_repetitions_and_weights_have_one_optimum(bias, loss):
    counts = np.random.default_rng(1).integers(0, 4, y.size)
    config = {"C": 0.7, "bias": bias, "loss": loss}
    found, one = optimum(make_problem(X, y, {**config, "weight": counts}))
    expected, other = optimum(make_problem(np.repeat(X, counts, axis=0), np.repeat(y, counts), config))
    assert found.width < 1e-12
    assert found.lower <= expected.upper
    assert expected.lower <= found.upper
    assert one.w == pytest.approx(other.w, abs=1e-7)


def test_sparse_rows_are_left_out_like_dense_ones():
    weight = np.where(np.arange(y.size) % 4 == 0, 0.0, 1.0)
    dense = make_problem(X, y, {**CONFIG, "weight": weight})
    sparse = make_problem(sp.csr_array(X), y, {**CONFIG, "weight": weight})
    assert (sparse.X.toarray() == dense.X).all()


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_rows_that_are_left_out_leave_data_that_cannot_be_written_to(layout):
    """Kernels are warmed up for read-only data; for other data they would be compiled again, on the clock."""
    X, y = layout(np.eye(4)), np.array([1.0, -1.0, 1.0, -1.0])
    problem = make_problem(X, y, {"weight": [1.0, 1.0, 0.0, 2.0]})
    parts = (problem.X.data, problem.X.indices, problem.X.indptr) if sp.issparse(problem.X) else (problem.X,)
    assert not any(array.flags.writeable for array in (*parts, problem.y))


def test_keys_tell_weights_apart_and_stay_as_they_are_without_any():
    plain = problem_key(make_problem(X, y, CONFIG), "d" * 64)
    ones, first, second = np.ones(y.size), np.ones(y.size), np.ones(y.size)
    first[0] = second[1] = 0.0
    keys = [problem_key(make_problem(X, y, {**CONFIG, "weight": w}), "d" * 64) for w in (ones, first, second, 2 * ones)]
    assert keys[0] == plain == "dddddddddddddddd-C0.7-free-hinge"
    assert len({plain, *keys}) == 4


def test_classes_have_weights_by_number():
    found = weights_of({"positive": 2, "negative": 0.5}, y)
    assert (found == np.where(y > 0, 2.0, 0.5)).all()
    assert (weights_of({"positive": 3.0}, y) == np.where(y > 0, 3.0, 1.0)).all()
    share = (y > 0).mean()
    balanced = {"positive": 0.5 / share, "negative": 0.5 / (1.0 - share)}
    assert weights_of("balanced", y) == pytest.approx(weights_of(balanced, y))


def test_files_and_columns_give_a_number_for_each_row(tmp_path):
    numbers = np.arange(y.size) / 4.0
    np.save(tmp_path / "w.npy", numbers)
    np.savetxt(tmp_path / "w.txt", numbers)
    (tmp_path / "w.csv").write_text("a,mine\n" + "".join(f"0,{number}\n" for number in numbers))
    for name in ("w.npy", "w.txt", "w.csv:mine"):
        assert (weights_of(str(tmp_path / name), y) == numbers).all()
    with pytest.raises(InputError, match="no such column; possible are a, mine"):
        weights_of(str(tmp_path / "w.csv:yours"), y)


@pytest.mark.parametrize(
    ("weight", "said"),
    [
        (np.append(np.ones(y.size - 1), -1.0), "has weight -1.0; needs a finite number, 0 or more"),
        (np.append(np.ones(y.size - 1), np.nan), "has weight nan"),
        (np.append(np.ones(y.size - 1), np.inf), "has weight inf"),
        (np.ones(y.size + 1), f"has {y.size + 1} numbers; needs {y.size}"),
        (np.where(y > 0, 1.0, 0.0), "needs both classes"),
        (["many"] * y.size, "one for each row"),
        ({"positive": -2}, "problem.weight.positive=-2"),
        ({"plus": 2}, "the classes are called positive and negative"),
        ("nowhere.txt", "problem.weight=nowhere.txt: no such file; possible are null, balanced"),
        (3.0, "problem.weight=3.0: possible are null"),
    ],
)
def test_what_is_no_weight_is_refused_in_one_line(weight, said):
    with pytest.raises(InputError) as error:
        weights_of(weight, y)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.long
def test_the_command_takes_weights_of_classes_and_of_a_file(tmp_path, monkeypatch, capsys):
    """Doubling C is doubling all weights; half of the rows left out by a file give another problem."""
    monkeypatch.chdir(tmp_path)
    np.savetxt("w.txt", np.where(np.arange(40) < 20, 2.0, 0.0))
    run = ["run", "dataset=overlapping", "dataset.n=40", "method=clarabel", "figures=none", f"out={tmp_path}"]
    assert main([*run, "problem.weight={positive:2,negative:2}", "name=classes"]) == 0
    assert main([*run, "problem.C=2", "name=price"]) == 0
    assert main([*run, "problem.weight=w.txt", "name=file"]) == 0
    tables = [
        next(tmp_path.glob(f"**/{name}/table.csv")).read_text().splitlines() for name in ("classes", "price", "file")
    ]
    rows = [dict(zip(header.split(","), row.split(","), strict=False)) for header, row in tables]
    assert [row["status"] for row in rows] == ["solved"] * 3
    assert float(rows[0]["primal"]) == pytest.approx(float(rows[1]["primal"]), rel=1e-8)
    assert rows[2]["n"] == "20"
    capsys.readouterr()
    assert main([*run, "problem.weight=none.txt", "name=bad"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
