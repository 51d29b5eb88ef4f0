"""Tables: separators, headers, label columns, text and categories; CSV, Parquet, ARFF and what functions return."""

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from file_contents import parquet
from sample_data import dense, put
from sklearn.datasets import load_breast_cancer, load_iris

from marginbench.datasets import files
from marginbench.datasets.samples import samples_of


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MARGINBENCH_CACHE", str(tmp_path / "cache"))


ROWS = [(0.5, "red", 12, "yes"), (1.5, "blue", 7, "no"), (2.5, "red", 3, "no"), (-4.25, "green", 12, "yes")]
ONE_HOT = [[0.5, 0, 0, 1, 12], [1.5, 1, 0, 0, 7], [2.5, 0, 0, 1, 3], [-4.25, 0, 1, 0, 12]]
"""Colours in alphabetical order: blue, green, red."""


def lines(separator, header=""):
    rows = "".join(separator.join(map(str, row)) + "\n" for row in ROWS)
    return (header.replace(",", separator) + "\n" if header else "") + rows


# -- CSV ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "tsv"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("header", ["", "size,colour,count,class"])
def test_separator_header_and_categories_are_found_and_said(tmp_path, separator, header, ending):
    read = files.file(put(tmp_path, lines(separator, header), f"a.{ending}"), labels=None if header else 3)
    assert dense(read[0]).tolist() == ONE_HOT
    assert read[1].tolist() == [1, -1, -1, 1]
    said = "; ".join(read.notes)
    assert {",": "commas", ";": "semicolons", "\t": "tabs"}[separator] in said
    assert ("column 'class', by its name" if header else "column 3 (counted from 0)") in said
    assert "1 columns of text became 3 columns of 0 and 1" in said
    assert "+1 stands for yes, -1 for no (2 and 2 rows)" in said


def test_commas_are_decimal_points_between_semicolons(tmp_path):
    X, y = files.file(put(tmp_path, "y;a;b\n1;1,5;2\n0;-2,25;3,0\n", "a.csv"), layout="dense")
    assert X.tolist() == [[1.5, 2], [-2.25, 3]]
    assert y.tolist() == [1, -1]


def test_a_table_of_words_alone(tmp_path):
    text = "a,x,p\nb,x,p\na,y,e\nb,y,e\n"
    X, y = files.file(put(tmp_path, text, "none.csv"), labels=2)
    assert dense(X).tolist() == [[1, 0, 1, 0], [0, 1, 1, 0], [1, 0, 0, 1], [0, 1, 0, 1]]
    assert y.tolist() == [1, 1, -1, -1]
    assert np.array_equal(dense(files.file(put(tmp_path, "u,v,class\n" + text, "named.csv"))[0]), dense(X))


def test_options_for_header_labels_and_columns_to_leave_out(tmp_path):
    path = put(tmp_path, "\ufeffage, kind,size\n\n1.5,benign,+2\n3,malignant, 4\n0.1,benign,1e3\n", "a.csv")
    X, y = files.file(path, labels="kind")
    assert X.tolist() == [[1.5, 2], [3, 4], [0.1, 1000]]
    assert y.tolist() == [-1, 1, -1]
    assert np.array_equal(files.file(path, labels=1)[0], X)
    assert files.file(path, labels=1, positive="benign")[1].tolist() == [1, -1, 1]
    assert files.file(path, labels=1, drop=["age"])[0].tolist() == [[2], [4], [1000]]
    numbered = put(tmp_path, "0,1,2\n1,5,6\n0,7,8\n", "c.csv")
    assert files.file(numbered, header=True, labels=0)[0].tolist() == [[5, 6], [7, 8]]
    for option, value in (("labels", "sex"), ("drop", ["sex"])):
        with pytest.raises(ValueError, match=rf"dataset\.{option}=sex: no such column; possible are age, kind, size"):
            files.file(path, **{"labels": 1, option: value})


NAMES = [f"person {k}" for k in range(40)]


def test_names_of_persons_are_no_categories(tmp_path):
    text = "y,who,x\n" + "".join(f"{k % 2},{name},{k}\n" for k, name in enumerate(NAMES))
    path = put(tmp_path, text, "a.csv")
    with pytest.raises(ValueError, match=r"40 different texts in 40 rows.*dataset\.drop=\[who\]"):
        files.file(path)
    assert files.file(path, drop=["who"])[0].shape == (40, 1)


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("Class,a\n1,5\n0,6\n", "'Class', by its name"),
        ("a,TARGET\n1,5\n0,6\n", "'TARGET', by its name"),
        ("-1,1,0\n1,0,1\n", "0 (counted from 0), the only one of -1 and +1"),
        ("0,1,-1\n1,0,1\n", "2 (counted from 0), the only one of -1 and +1"),
        ("1,4,5\n0,4.5,6\n0,5,7\n", "0 (counted from 0), the only one of two values"),
        ("4,5,b\n4.5,6,g\n5,7,g\n", "2 (counted from 0), the only one of two values"),
    ],
)
def test_an_obvious_label_column_is_taken_and_said(tmp_path, text, taken):
    assert f"the labels are column {taken}" in files.file(put(tmp_path, text, "a.csv")).notes


@pytest.mark.parametrize(
    "text",
    [
        "sex,age,smokes\n0,30,1\n1,40,0\n1,50,1\n",  # the first column is no label because it is the first
        "sex,age,size\n0,30,1.5\n1,40,2\n1,50,7\n",
        "label,target,x\n0,1,2\n1,0,3\n",
        "0,30,1\n1,40,0\n1,50,1\n",
        "3,0,4\n5,1,6\n7,1,8\n",
        "1,2,3\n2,3,4\n3,4,5\n",
    ],
)
def test_a_label_column_that_is_not_obvious_is_asked_for(tmp_path, text):
    first = text.splitlines()[0]
    columns = first.split(",") if first[0].isalpha() else ["0", "1", "2"]
    with pytest.raises(ValueError, match=rf"Say dataset\.labels=.*the columns are {', '.join(columns)}$"):
        files.file(put(tmp_path, text, "a.csv"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1,2,3\n\n-1,abc,5\n", "line 3: column 1 (counted from 0): expected a finite number, got 'abc'"),
        ("y,a,b\n1,2,3\n-1,4,\n", "line 3: column 'b': expected a finite number, got ''"),
        ("1,2,3\n-1,nan,5\n", "line 2: column 1 (counted from 0): expected a finite number, got 'nan'"),
        ("1,2,3\n-1,1e999,5\n", "line 2: column 1 (counted from 0): expected a finite number, got '1e999'"),
        ("1,2,3\n-1,NA,5\n", "line 2: column 1 (counted from 0): expected a finite number, got 'NA'"),
        ("1,2,3\n-1,True,5\n", "line 2: column 1 (counted from 0): expected a finite number, got 'True'"),
        ("y,a\n1,red\n0,2\n", "line 2: column 'a': expected a finite number as in other rows, got 'red'"),
        ("y,a\n1,red\n0,?\n", "line 3: column 'a': '?' stands for a missing value"),
        ("y,a\n1,red\n0,\n", "line 3: column 'a': expected a label or a text, got nothing"),
        ("1,2,3\n-1,4\n", "line 2: 2 fields, but the first line has 3"),
        ("1,2,3\n-1,4,5,6\n", "line 2: 4 fields, but the first line has 3"),
        ("1,2,3\n-1,4,5,6\n1,2,3,4\n", "line 2: 4 fields, but the first line has 3"),
        ("y,a,b\n1,2,3,4\n-1,4,5,6\n", "line 2: 4 fields, but the first line has 3"),
        ("1,2,3\n,4,5\n", "line 2: column 0 (counted from 0): expected a finite number, got ''"),
        ("1\n-1\n", "1 column; need the labels and at least one feature"),
        ("y,a\n", "no rows"),
        ("\n \n", "no rows"),
        ("", "no rows"),
        (b"1,\xff\n", "not UTF-8 text"),
        ("1,2\nnan,3\n", "line 2: column 0 (counted from 0): expected a finite number, got 'nan'"),
    ],
)
def test_a_malformed_csv_line_is_named(tmp_path, text, says):
    path = put(tmp_path, text, "made.csv")
    with pytest.raises(ValueError, match=re.escape(f"{path}: {says}")) as caught:
        files.file(path)
    assert "\n" not in str(caught.value)


def test_notes_survive_the_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LARGE", 1)
    path = put(tmp_path, lines(";", "size,colour,count,class"), "a.csv")
    first, again = files.file(path), files.file(path)
    assert list((tmp_path / "cache").glob("*.json"))
    assert first.notes == again.notes
    assert again.notes


# -- Parquet and ARFF -------------------------------------------------------------------------------------------------


def test_parquet_with_categories_and_an_index(tmp_path):
    size, colour, count, label = zip(*ROWS, strict=True)
    table = pa.table(
        {
            "size": size,
            "colour": pa.array(colour).dictionary_encode(),
            "count": count,
            "class": label,
            "__index_level_0__": [7, 8, 9, 10],
        }
    )
    read = files.file(put(tmp_path, parquet(table), "a.parquet"))
    assert dense(read[0]).tolist() == ONE_HOT
    assert read[1].tolist() == [1, -1, -1, 1]
    assert "the row index that pandas stored is left out" in read.notes


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"y": [1, 2], "x": [0.5, None]}, "row 1 (counted from 0) of column 'x' is missing"),
        ({"y": [1, 2], "x": [[1], [2]]}, "column 'x' is of type list"),
        ({"y": [1, 2], "x": [0.5, np.inf]}, "row 1 (counted from 0) of column 'x' is missing or not finite"),
        ({"a": [1, 2], "x": [0.5, 2]}, "the columns are a, x"),
        ({"y": [1, 2]}, "need the labels and at least one feature"),
    ],
)
def test_a_bad_parquet_is_refused(tmp_path, columns, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        files.file(put(tmp_path, parquet(columns), "bad.parquet"))
    with pytest.raises(ValueError, match="not a parquet file"):
        files.file(put(tmp_path, b"PAR1nonsense", "bad.parquet"))


ARFF = """% a comment
@relation things
@attribute size numeric
@attribute colour {red, blue, green}
@attribute count real
@attribute class {yes, no}
@data
"""


def test_arff(tmp_path):
    read = files.file(put(tmp_path, ARFF + lines(","), "a.arff"))
    assert dense(read[0]).tolist() == ONE_HOT
    assert read[1].tolist() == [1, -1, -1, 1]
    assert "the labels are column 'class', by its name" in read.notes
    with pytest.raises(ValueError, match=r"row 4 .* of column 'colour' is missing"):
        files.file(put(tmp_path, ARFF + lines(",") + "1,?,2,yes\n", "a.arff"))
    with pytest.raises(ValueError, match=r"row 4 .* of column 'size' is missing"):
        files.file(put(tmp_path, ARFF + lines(",") + "?,red,2,yes\n", "a.arff"))


# -- what functions return --------------------------------------------------------------------------------------------


def test_scikit_learns_loaders_in_all_their_forms():
    expected, target = load_breast_cancer(return_X_y=True)
    forms = [
        load_breast_cancer(),
        load_breast_cancer(return_X_y=True),
        load_breast_cancer(as_frame=True),
        load_breast_cancer(as_frame=True).frame,
        load_breast_cancer(return_X_y=True, as_frame=True),
        (sp.csc_matrix(expected), np.where(target, "good", "bad")),
        [expected.tolist(), pd.DataFrame({"t": target})],
    ]
    for form in forms:
        X, y = samples_of(form, "cancer")
        assert np.array_equal(dense(X), expected)
        assert np.array_equal(y, np.where(target, 1.0, -1.0))
    assert "+1 stands for 1, -1 for 0 (357 and 212 rows)" in samples_of(forms[0], "cancer").notes


def test_a_frame_with_categories():
    frame = pd.DataFrame(ROWS, columns=["size", "colour", "count", "class"])
    for kind in ("object", "category", "string"):
        X, y = samples_of(frame.astype({"colour": kind}), "made")
        assert dense(X).tolist() == ONE_HOT
        assert y.tolist() == [1, -1, -1, 1]
    missing = frame.astype({"count": "Int64"})
    missing.loc[2, "count"] = None
    with pytest.raises(ValueError, match=r"made: row 2 .* of column 'count' is missing"):
        samples_of(missing, "made")


@pytest.mark.parametrize(
    ("returned", "says"),
    [
        (None, "the data are a NoneType"),
        (np.eye(3), "the data are a ndarray"),
        (load_iris(), "labels 0, 1, 2: need exactly two classes"),
        ((np.eye(2, dtype=complex), [0, 1]), "X has entries of type complex128"),
        ((np.array([["a"], ["b"]], dtype=object), [0, 1]), "X holds Python objects"),
        ((np.eye(2), [0, None]), "labels of type object"),
        ((np.eye(2), np.array([0, 1], dtype="datetime64[s]")), "labels of type datetime64"),
        ((np.eye(2), [0, 1, 1]), "labels of shape (3,) for 2 rows"),
        ({"data": np.eye(2), "target": None}, "the data are a dict"),
    ],
)
def test_what_is_no_data_set_is_refused(returned, says):
    with pytest.raises(ValueError, match=re.escape(f"made: {says}")) as caught:
        samples_of(returned, "made")
    assert "\n" not in str(caught.value)
