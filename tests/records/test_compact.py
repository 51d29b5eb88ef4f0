"""Curves as columns read like the entries that they were made from."""

import math
from pathlib import Path

import numpy as np
from sample_records import a_large_run, a_run

from marginbench.harness.commands.stored import stored_records
from marginbench.harness.records.compact import CompactCurve
from marginbench.harness.records.record import SCHEMA
from marginbench.harness.records.store import Store
from marginbench.harness.reporting.accuracy import arrivals
from marginbench.harness.reporting.comparison import Comparison

DATA = Path(__file__).resolve().parents[1] / "data"


def test_it_reads_like_the_list():
    entries = [
        {"iteration": 1, "seconds": 0.5, "gap": None},
        {"iteration": 2, "seconds": 1, "gap": math.inf, "w1": 3.0},
    ]
    found = CompactCurve(entries)
    assert (len(found), bool(found), bool(CompactCurve([]))) == (2, True, False)
    for k, entry in enumerate(entries):
        assert {name: v for name, v in found[k].items() if v is not None} == {
            name: v for name, v in entry.items() if v is not None
        }
    assert found[-1] == list(found)[1] == found[1:][0]
    assert type(found[0]["iteration"]) is int
    assert np.isnan(found.column("gap")[0])
    assert np.isnan(found.column("nothing")).all()


def test_times_to_an_accuracy_are_the_same():
    for r in [*a_run(1), *a_large_run(2, 4)]:
        known = Comparison.of([r]).bounds[r.problem]
        expected = arrivals(r, known)
        r.curve = CompactCurve(r.curve)
        assert np.array_equal(arrivals(r, known), expected, equal_nan=True)


def test_a_copy_is_the_file_itself_whatever_its_schema(tmp_path):
    """Records of an earlier schema are not encoded again, which costs as much as all the rest of a report."""
    for name, schema in (("repeated", 4), ("v0.1", 1)):
        store, source = Store(tmp_path / name), Store(DATA / name)
        for record in stored_records(DATA / name).records:
            path = store.copy(record, source)
            assert path.read_bytes() == (DATA / name / "cells" / path.name).read_bytes()
        copied = Store(tmp_path / name).records()
        assert {r.schema for r in copied} == {schema}
        assert [r.curve for r in copied] == [r.curve for r in source.records()]


def test_a_record_whose_file_has_gone_is_written_as_this_version_would_write_it(tmp_path):
    record = stored_records(DATA / "v0.1").records[0]
    Store(tmp_path / "copy").copy(record, Store(tmp_path / "gone"))
    (copied,) = Store(tmp_path / "copy").records()
    assert (copied.schema, copied.curve) == (SCHEMA, list(record.curve))
