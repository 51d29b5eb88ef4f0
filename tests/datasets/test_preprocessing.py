"""Preprocessing: what each option promises, the same for dense and sparse data, learnt from the training rows alone."""

import csv

import numpy as np
import pytest
import scipy.sparse as sp
from sample_data import dense

import marginbench as mb
from marginbench.datasets import scaling
from marginbench.datasets.digest import digest
from marginbench.datasets.preprocessing import Preprocessing
from marginbench.datasets.samples import samples, samples_of
from marginbench.harness.cli import main
from marginbench.harness.data_parts import data_parts
from marginbench.harness.errors import InputError


def made(n=60, d=5, share=0.4, seed=0):
    """Sparse data with zeros in every column, rows of zeros, and a column of very large numbers."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((n, d)), 3) * 10.0 ** np.arange(d)
    X[rng.random(X.shape) > share] = 0.0
    X[3] = 0.0
    return X, np.where(rng.random(n) < 0.3, 1.0, -1.0)


def prepared(X, y, **options):
    return Preprocessing(**options).parts(samples_of((X, y), "made"), None, "made")


# -- scales --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"columns": "max_abs"}, {"columns": "deviation"}, {"rows": "unit"}])
def test_dense_and_sparse_storage_give_the_same_bits(options):
    X, y = made()
    one, other = prepared(X, y, **options).train, prepared(sp.csr_array(X), y, **options).train
    assert isinstance(one[0], np.ndarray)
    assert isinstance(other[0], sp.csr_array)
    assert digest(*one) == digest(*other)
    assert digest(*one) != digest(X, y)


def test_pieces_of_the_data_do_not_show_in_the_result(monkeypatch):
    X, y = made()
    whole = prepared(X, y, columns="deviation", rows="unit").train
    monkeypatch.setattr(scaling, "STEP", 7)
    assert digest(*prepared(X, y, columns="deviation", rows="unit").train) == digest(*whole)


def test_each_scale_of_columns_is_what_it_says():
    X, y = made()
    scaled = {name: dense(prepared(X, y, columns=name).train[0]) for name in scaling.COLUMNS}
    assert np.array_equal(scaled["none"], X)
    assert np.abs(scaled["max_abs"]).max(axis=0).tolist() == [1.0] * 5
    assert scaled["zero_to_one"].min(axis=0).tolist() == [0.0] * 5
    assert scaled["zero_to_one"].max(axis=0).tolist() == [1.0] * 5
    np.testing.assert_allclose(scaled["minus_one_to_one"].min(axis=0), -1.0, rtol=1e-15)
    np.testing.assert_allclose(scaled["minus_one_to_one"].max(axis=0), 1.0, rtol=1e-15)
    np.testing.assert_allclose(scaled["standard"].mean(axis=0), 0.0, atol=1e-15)
    for name in ("standard", "deviation"):
        np.testing.assert_allclose(scaled[name].std(axis=0), 1.0, rtol=1e-14)
    assert np.array_equal(scaled["deviation"] == 0.0, X == 0.0)


def test_standard_columns_are_those_of_the_option_scale():
    X, y = made()
    assert np.array_equal(prepared(X, y, columns="standard").train[0], scaling.scaled(X, "standard"))


def test_constant_columns_are_no_division_by_zero():
    X, y = made()
    X[:, 1], X[:, 2] = 7.0, 0.0
    for name in scaling.COLUMNS:
        found = prepared(X, y, columns=name).train[0]
        assert np.isfinite(found).all()
        assert set(found[:, 2].tolist()) == {0.0}
        assert np.unique(found[:, 1]).size == 1


def test_rows_of_unit_norm_keep_their_direction_and_their_zeros():
    X, y = made()
    X[5] = [3e300, -4e300, 0, 0, 0]  # whose squares overflow
    found = prepared(X, y, rows="unit", columns="none").train[0]
    norms = np.sqrt((found**2).sum(axis=1))
    np.testing.assert_allclose(norms[X.any(axis=1)], 1.0, rtol=1e-15)
    assert not found[3].any()
    np.testing.assert_allclose(found[5], [0.6, -0.8, 0, 0, 0], rtol=1e-15)


def test_rows_come_last_so_that_their_norm_is_one():
    X, y = made()
    found = prepared(X, y, rows="unit", columns="max_abs").train[0]
    np.testing.assert_allclose(np.linalg.norm(found[X.any(axis=1)], axis=1), 1.0, rtol=1e-15)


def test_what_would_fill_the_zeros_of_sparse_data_is_refused():
    X, y = made()
    for name in ("standard", "minus_one_to_one", "zero_to_one"):
        with pytest.raises(ValueError, match=f"preprocess.columns={name}: .*possible for sparse data are max_abs, dev"):
            prepared(sp.csr_array(X), y, columns=name)
    found = prepared(sp.csr_array(np.abs(X)), y, columns="zero_to_one").train[0]  # here 0 is the smallest value
    assert np.array_equal(found.toarray(), prepared(np.abs(X), y, columns="zero_to_one").train[0])


# -- rows ----------------------------------------------------------------------------------------------------------


def test_held_out_rows_and_the_others_are_all_rows_once():
    X, y = made(n=200)
    X[:, 0] = np.arange(200)
    train, test = prepared(X, y, test=0.25)
    assert test[0].shape[0] == 50
    ids = [set(part[0][:, 0].astype(int).tolist()) for part in (train, test)]
    assert not ids[0] & ids[1]
    assert ids[0] | ids[1] == set(range(200))
    assert np.array_equal(test[1], y[sorted(ids[1])])
    assert prepared(X, y, test=50).test[0].tolist() == test[0].tolist()
    assert prepared(X, y, test=50, seed=1).test[0].tolist() != test[0].tolist()


def test_stratified_parts_have_each_class_in_its_proportion():
    X, y = made(n=400)
    share = (y > 0).mean()
    train, test = prepared(X, y, test=100, subsample=60)
    assert abs((test[1] > 0).sum() - 100 * share) <= 0.5
    assert abs((train[1] > 0).sum() - 60 * share) <= 1.0
    rare = np.where(np.arange(400) == 7, 1.0, -1.0)
    assert (prepared(X, rare, subsample=10).train[1] > 0).sum() == 1
    with pytest.raises(ValueError, match=r"one class only; preprocess\.stratified=true keeps both"):
        prepared(X, rare, subsample=10, stratified=False)


def test_held_out_rows_do_not_depend_on_the_size_of_the_subsample():
    X, y = made(n=200)
    one, two = prepared(X, y, test=0.2), prepared(X, y, test=0.2, subsample=30)
    assert digest(*one.test) == digest(*two.test)
    assert two.train[0].shape[0] == 30


def test_scales_are_learnt_from_the_training_rows_and_applied_to_the_others():
    X, y = made(n=200)
    plain, scaled = prepared(X, y, test=0.5), prepared(X, y, test=0.5, columns="max_abs")
    largest = np.abs(plain.train[0]).max(axis=0)
    np.testing.assert_array_equal(scaled.test[0], plain.test[0] / largest)
    assert np.abs(scaled.test[0]).max() != 1.0


def test_a_test_file_gets_the_columns_of_the_training_rows():
    X, y = made(n=40)
    whole, held_out = samples(X, y), samples(X[:10, :3], y[:10])
    parts = Preprocessing(test="file").parts(whole, held_out, "made")
    assert parts.test[0].shape == (10, 5)
    assert not parts.test[0][:, 3:].any()


# -- classes -------------------------------------------------------------------------------------------------------


def parts_of_three(**preprocess):
    return data_parts({"_target_": "sample_data.three_classes"}, preprocess, "three")


def test_pairs_and_groups_of_classes_and_one_against_the_rest():
    X, y = parts_of_three(positive="c").train
    assert y.tolist() == [-1, -1, 1, -1, -1, 1]
    X, y = parts_of_three(positive="a", negative="c").train
    assert X[:, 0].tolist() == [0, 4, 6, 10]
    assert y.tolist() == [1, -1, 1, -1]
    assert parts_of_three(positive=["a", "b"], negative="c").train[1].tolist() == [1, 1, -1, 1, 1, -1]
    assert parts_of_three(negative="b").train[1].tolist() == [1, -1, 1, 1, -1, 1]
    with pytest.raises(ValueError, match=r"labels a, b, c: need exactly two classes; choose with preprocess\.positive"):
        parts_of_three()
    with pytest.raises(ValueError, match="a is both in"):
        parts_of_three(positive="a", negative="a")
    with pytest.raises(ValueError, match="negative=z is not among the labels a, b, c"):
        parts_of_three(negative="z")


def test_classes_of_a_data_set_with_such_options_are_given_to_it():
    X, y = mb.load("digits", preprocess={"positive": 1, "negative": 7}, scale="none")
    again = mb.load("digits", positive=1, negative=7, scale="none")
    assert digest(X, y) == digest(*again)
    assert (mb.load("wine", negative=None)[1] > 0).sum() == 71


# -- interfaces ----------------------------------------------------------------------------------------------------


def test_python_gets_both_parts():
    how = {"test": 0.2, "columns": "max_abs"}
    X, y = mb.load("overlapping", n=100, preprocess=how)
    held_out, signs = mb.load("overlapping", n=100, preprocess=how, part="test")
    assert (X.shape, held_out.shape, y.size, signs.size) == ((80, 20), (20, 20), 80, 20)
    with pytest.raises(InputError, match=r"part='test'\): needs preprocess={'test': ...}"):
        mb.load("overlapping", part="test")
    with pytest.raises(InputError, match=r"preprocess\.scale: there is no such option; possible are positive, neg"):
        mb.load("overlapping", preprocess={"scale": "unit"})


def rows_of(out):
    (path,) = out.glob("*/*/table.csv")
    with path.open() as file:
        return list(csv.DictReader(file))


def test_a_run_measures_the_certified_point_on_rows_that_no_solver_saw(tmp_path, capsys):
    asked = ["dataset=overlapping", "dataset.n=400", "preprocess.test=0.5", "problem.C=0.01,1", "method=auto"]
    assert main(["run", *asked, "keep=solution", f"out={tmp_path}"]) == 0
    assert "200 rows are held out" in capsys.readouterr().out
    X, y = mb.load("overlapping", n=400, preprocess={"test": 0.5}, part="test")
    table = rows_of(tmp_path)
    assert len(table) == 2
    for row in table:
        (path,) = tmp_path.glob(f"*/*/solutions/{row['hash']}.npz")
        point = np.load(path)
        assert float(row["test_accuracy"]) == np.mean(y * (X @ point["w"] + point["b"]) > 0)
        assert row["n"] == "200"


def test_a_row_is_told_apart_by_its_preprocessing_and_never_served_for_other_held_out_rows(tmp_path, capsys):
    asked = ["dataset=overlapping", "dataset.n=100", "method=auto", f"out={tmp_path}"]
    assert main(["run", *asked, "preprocess.rows=none,unit", "name=one"]) == 0
    table = rows_of(tmp_path)
    assert {row["preprocess.rows"] for row in table} == {"none", "unit"}
    assert {row["test_accuracy"] for row in table} == {""}
    assert main(["run", *asked, "preprocess.test=40", "name=two"]) == 0
    assert main(["run", *asked, "preprocess.test=40", "name=three"]) == 0
    assert "1 found in earlier runs" in capsys.readouterr().out


def test_workers_know_the_held_out_rows(tmp_path):
    asked = ["dataset=overlapping", "dataset.n=200", "preprocess.test=50", "preprocess.seed=0,1", "method=auto"]
    assert main(["run", *asked, f"out={tmp_path}/one"]) == 0
    assert main(["run", *asked, "launcher=local", "launcher.jobs=2", f"out={tmp_path}/two"]) == 0
    alone, together = ({row["hash"]: row["test_accuracy"] for row in rows_of(tmp_path / run)} for run in ("one", "two"))
    assert alone == together
    assert len(alone) == 2
    assert all(alone.values())


# -- precision -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_float32_entries_are_rounded_and_have_the_digest_of_these_numbers(layout):
    X, y = made()
    rounded = X.astype(np.float32)
    train = prepared(layout(X), y, precision="float32").train
    assert train[0].dtype == np.float32
    assert digest(*train) == digest(rounded.astype(np.float64), y) != digest(X, y)
    assert train.notes == ("entries are rounded to float32",)
    assert prepared(layout(X), y, precision="float64").train[0].dtype == np.float64


def test_held_out_rows_are_rounded_too_after_scaling():
    X, y = made()
    train, test = prepared(X, y, precision="float32", test=0.25, rows="unit")
    scaled, held = prepared(X, y, test=0.25, rows="unit")
    assert np.array_equal(train[0], scaled[0].astype(np.float32))
    assert np.array_equal(test[0], held[0].astype(np.float32))


def test_a_precision_that_is_none_and_entries_beyond_float32_are_refused():
    X, y = made()
    with pytest.raises(ValueError, match=r"preprocess\.precision=half: possible are float64, float32"):
        prepared(X, y, precision="half")
    X[0, 0] = 1e39
    with pytest.raises(ValueError, match=r"preprocess\.precision=float32: has entries beyond 3\.4e\+38; use float64"):
        prepared(X, y, precision="float32")
