"""A record of any schema so far can be read. The files are kept: never write them again.

Those of schema 1 are from version 0.1. Schemas 2 and 3 were never released: theirs are that of schema 4, without the
fields that came later.
"""

from dataclasses import fields
from pathlib import Path

import pytest

from marginbench.harness.records.record import ADDED, SCHEMA, Record
from marginbench.harness.records.store import Store

KEPT = Path(__file__).resolve().parents[1] / "data"
FOLDERS = {1: KEPT / "v0.1", **{int(path.name): path for path in (KEPT / "schemas").iterdir()}}


def test_there_is_a_record_of_every_schema():
    assert set(FOLDERS) == set(range(1, SCHEMA + 1)), "keep a record of the new schema in tests/data/schemas"
    assert set(ADDED) == set(range(2, SCHEMA + 1))
    assert {name for names in ADDED.values() for name in names} <= {f.name for f in fields(Record)}


@pytest.mark.parametrize("schema", sorted(FOLDERS))
def test_a_record_of_every_schema_is_read_with_defaults_for_what_came_later(schema):
    store = Store(FOLDERS[schema])
    records = store.records()
    assert records
    assert store.damaged == {}
    empty = Record()
    for record in records:
        assert record.schema == schema
        assert record.primal is not None or record.status != "solved"
        later = [name for since, names in ADDED.items() if since > schema for name in names]
        assert all(getattr(record, name) == getattr(empty, name) for name in later)
