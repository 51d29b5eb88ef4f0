"""The store: what was written comes back to the last bit, and nothing else comes back at all."""

import hashlib
import json
import math
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marginbench.harness.errors import StoreError
from marginbench.harness.records.codec import Damaged, dumps
from marginbench.harness.records.record import SCHEMA, Record
from marginbench.harness.records.store import Store, asked_key, cell_key, decode, encode


def key(k: int) -> str:
    return f"{k:020x}"


def record(k: int = 1, **changes) -> Record:
    usual = Record(
        dataset="iris",
        n=100,
        C=math.inf,
        status="solved",
        primal=1.0 / 3.0,
        gap=5e-324,
        iterations=7,
        hash=key(k),
        cell={"problem": {"C": math.inf}, "sizes": [1, 2.5, None, True]},
        curve=[{"iteration": 1, "seconds": 0.1, "gap": None}],
        versions={"osqp": "1.0"},
        info={"text": 'a "quoted" \\ué line\n'},
    )
    return replace(usual, **changes)


def framed(payload: bytes, schema: int = SCHEMA) -> bytes:
    digest = hashlib.sha256(payload).hexdigest().encode()
    return b'{"schema": %d, "sha256": "%s", "record": %s}\n' % (schema, digest, payload)


def plant(store: Store, name: str, data: bytes) -> Path:
    store.cells.mkdir(parents=True, exist_ok=True)
    path = store.cells / name
    path.write_bytes(data)
    return path


# -- the round trip -----------------------------------------------------------------------------------------------


def test_a_record_comes_back_equal(tmp_path):
    store = Store(tmp_path)
    path = store.put(record())
    assert path == tmp_path / "cells" / f"{key(1)}.json"
    assert store.get(key(1)) == record()
    assert store.get(key(2)) is None
    assert store.records() == [record()]
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
    json.loads(path.read_text(), parse_constant=pytest.fail)  # any JSON reader can read it


@given(st.floats(-1e100, 1e100), st.floats(allow_nan=False), st.text(), st.integers(-(2**63) + 1, 2**63 - 1))
@settings(max_examples=60, deadline=None)
def test_every_number_and_text_survives(primal, C, message, seed):
    message = message.encode("utf-8", "replace").decode()
    before = record(primal=primal, C=C, message=message, seed=seed, info={message: [primal, seed]})
    after = decode(encode(before), f"{key(1)}.json")
    assert after == before
    assert math.copysign(1.0, after.primal) == math.copysign(1.0, primal)


def test_what_numpy_gives_is_written_as_plain_numbers():
    before = record(
        n=np.int64(3), primal=np.float64(0.1), updates_bound=4, info={"a": np.arange(2), "b": np.bool_(True)}
    )
    after = decode(encode(before), f"{key(1)}.json")
    assert (after.n, after.primal, after.updates_bound) == (3, 0.1, 4.0)
    assert after.info == {"a": [0, 1], "b": True}
    assert type(after.updates_bound) is float


@pytest.mark.parametrize("changes", [{"gap": math.nan}, {"n": "many"}, {"status": "great"}, {"versions": {"a": 1}}])
def test_what_could_not_be_read_is_not_written(changes, tmp_path):
    with pytest.raises(Damaged):
        Store(tmp_path).put(record(**changes))
    assert Store(tmp_path).records() == []


def test_a_record_needs_the_key_of_its_cell(tmp_path):
    for name in ("", "../../etc/passwd", "A" * 20, "abc"):
        with pytest.raises(ValueError, match="key"):
            Store(tmp_path).put(record(hash=name))
        assert Store(tmp_path).get(name) is None


# -- damage -------------------------------------------------------------------------------------------------------


def test_a_record_cut_at_any_byte_is_no_record():
    whole = encode(record())
    for end in range(len(whole)):
        with pytest.raises(Damaged):
            decode(whole[:end], f"{key(1)}.json")


def test_a_flipped_bit_anywhere_is_seen():
    whole = encode(record())
    for at in range(len(whole)):
        for bit in (0, 5):
            spoilt = bytearray(whole)
            spoilt[at] ^= 1 << bit
            with pytest.raises(Damaged):
                decode(bytes(spoilt), f"{key(1)}.json")


def tree(folder: Path) -> dict[str, bytes | None]:
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def test_damaged_records_are_named_with_the_reason_and_stay_where_they_are(tmp_path):
    store = Store(tmp_path)
    for k in range(4):
        store.put(record(k))
    (store.cells / f"{key(1)}.json").write_bytes(encode(record(1))[:-40])
    os.rename(store.cells / f"{key(2)}.json", store.cells / f"{key(9)}.json")
    plant(store, "notes.txt", b"hello")
    before = tree(tmp_path)
    for reader in (store, Store(tmp_path)):  # the second reader sees what the first one saw
        assert [found.hash for found in reader.records()] == [key(0), key(3)]
        assert set(reader.damaged) == {f"{key(1)}.json", f"{key(9)}.json", "notes.txt"}
        assert all(reader.damaged.values())
        assert reader.get(key(1)) is None
    assert tree(tmp_path) == before
    store.put(record(1))
    assert store.get(key(1)) == record(1)


def test_another_schema_is_foreign(tmp_path):
    store = Store(tmp_path)
    plant(store, f"{key(1)}.json", framed(encode(record())[100:], schema=SCHEMA + 1))
    assert store.records() == []
    assert f"newer marginbench: schema {SCHEMA + 1}" in store.damaged[f"{key(1)}.json"]


def stranger(old: str = "", new: str = "", **changes) -> bytes:
    """A file with the right checksum, of a record with some fields changed, or some of its text."""
    payload = json.dumps(json.loads(dumps(record().to_dict())) | changes)
    assert old in payload
    return framed(payload.replace(old, new, 1).encode())


HOSTILE = {
    "text for a number": (stranger(primal="<script>alert(1)</script>"), "primal is a str"),
    "a whole number for a float": (stranger(primal=1), "primal is a int"),
    "a truth value for a number": (stranger(n=True), "n is a bool"),
    "a list for a text": (stranger(dataset=["x"]), "dataset is a list"),
    "an unknown field": (stranger(evil=1), "fields"),
    "a missing field": (stranger('"n": 100, ', ""), "fields"),
    "a field twice": (stranger('"n": 100', '"n": 100, "n": 1'), "twice"),
    "a text in the curve": (stranger(curve=[{"gap": "<b>"}]), "curve"),
    "a list as curve entry": (stranger(curve=[[1]]), "curve"),
    "versions of another type": (stranger(versions={"numpy": {}}), "versions"),
    "an unknown status": (stranger(status="excellent"), "status"),
    "half a character": (stranger(message="\ud800"), "half"),
    "NaN": (stranger(primal=math.nan), "NaN"),
    "Infinity": (stranger(primal=math.inf), "Infinity"),
    "beyond a double": (stranger('"primal": 0.3', '"primal": 1e999'), "beyond"),
    "a strange infinity": (stranger(primal={"$float": "nan"}), "neither"),
    "the name of another cell": (stranger(hash="../../etc/passwd"), "holds the cell"),
    "deep": (framed(b"[" * 100_000 + b"]" * 100_000), "not a record"),
    "deep objects": (framed(b'{"a":' * 100_000 + b"1" + b"}" * 100_000), "not a record"),
    "endless digits": (framed(b"1" * 100_000), "not a record"),
    "not UTF-8": (framed(b'"\xff"'), "not a record"),
    "no object": (framed(b"[]"), "fields"),
    "pickle": (b"\x80\x04cos\nsystem\n(S'true'\ntR.", "not a record"),
    "nothing": (b"", "not a record"),
}


def test_a_stranger_who_changes_nothing_is_read(tmp_path):
    assert decode(stranger(), f"{key(1)}.json") == record()


@pytest.mark.parametrize("what", HOSTILE)
def test_a_strangers_record_is_only_ever_data(what, tmp_path):
    data, reason = HOSTILE[what]
    store = Store(tmp_path)
    plant(store, f"{key(1)}.json", data)
    store.put(record(2))
    assert store.records() == [record(2)]
    assert list(store.damaged) == [f"{key(1)}.json"]
    assert reason in store.damaged[f"{key(1)}.json"]


def test_links_and_pipes_are_not_followed(tmp_path):
    secret = Store(tmp_path / "outside")
    secret.put(record(1))
    store = Store(tmp_path / "folder")
    store.put(record(2))
    (store.cells / f"{key(1)}.json").symlink_to(secret.cells / f"{key(1)}.json")
    os.mkfifo(store.cells / f"{key(3)}.json")
    (store.cells / f"{key(4)}.json").mkdir()
    assert store.records() == [record(2)]
    assert len(store.damaged) == 3
    assert secret.records() == [record(1)]
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / "cells").symlink_to(secret.cells)
    assert Store(linked).records() == []
    assert Store(linked).get(key(1)) is None
    assert secret.get(key(1)) == record(1)


def test_a_file_too_large_is_not_read(tmp_path):
    store = Store(tmp_path)
    with plant(store, f"{key(1)}.json", b"").open("r+b") as file:
        file.truncate(2**40)
    assert store.records() == []
    assert "too large" in store.damaged[f"{key(1)}.json"]


# -- writers ------------------------------------------------------------------------------------------------------

WRITER = """
import sys
from pathlib import Path
from marginbench.harness.records.record import Record
from marginbench.harness.records.store import Store
first = int(sys.argv[2])
for k in range(first, first + 30):
    Store(Path(sys.argv[1])).put(Record(hash=f"{k:020x}", status="solved", message=f"writer {first} " * 500))
"""


def test_eight_writers_with_overlapping_keys_give_the_union(tmp_path):
    script = [sys.executable, "-c", WRITER, str(tmp_path)]
    writers = [subprocess.Popen([*script, str(5 * k)]) for k in range(8)]
    seen: list[int] = []
    while any(writer.poll() is None for writer in writers):
        reader = Store(tmp_path)
        seen.append(len(reader.records()))
        assert not reader.damaged  # a reader never meets half a record
    assert [writer.wait() for writer in writers] == [0] * 8
    assert seen == sorted(seen)
    found = Store(tmp_path).records()
    assert [r.hash for r in found] == [key(k) for k in range(65)]
    assert {entry.suffix for entry in (tmp_path / "cells").iterdir()} == {".json"}


def test_the_last_writer_of_a_cell_wins(tmp_path):
    store = Store(tmp_path)
    store.put(record(message="first"))
    threads = [threading.Thread(target=store.put, args=(record(message=f"{k}" * 5000),)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (found,) = store.records()
    assert found.message in {f"{k}" * 5000 for k in range(8)}


# -- a folder that cannot be written ------------------------------------------------------------------------------


def test_a_full_disk_is_named_and_leaves_earlier_records_whole(full_disk):
    store = Store(full_disk)
    store.put(record(1))
    store.put(record(2))
    with pytest.raises(StoreError) as error:
        store.put(record(3, cell={"long": "x" * 2**17}))
    assert str(store.cells) in str(error.value)
    assert "\n" not in str(error.value)
    assert not [entry for entry in store.cells.iterdir() if entry.suffix != ".json"]
    assert store.records() == [record(1), record(2)]
    assert not store.damaged


@pytest.mark.parametrize("folder", ["/proc/marginbench", "/dev/null/results"])
def test_a_folder_that_cannot_be_written_is_named(folder):
    with pytest.raises(StoreError, match=f"{folder}/cells"):
        Store(Path(folder)).put(record())


# -- keys ---------------------------------------------------------------------------------------------------------

ASKED = {
    "problem": "abc-C1.0-free-hinge",
    "formulation": {"_target_": "f.F", "delta": 0.1},
    "solver": {"_target_": "s.S", "step": 10},
    "budget": {"seconds": 10.0},
    "limits": {"seconds": 60.0},
    "seed": 0,
    "repeat": 0,
}
CODE, VERSIONS = {"solvers/s.py": "abc"}, {"osqp": "1.0"}


def test_a_key_depends_on_everything_that_matters_and_on_nothing_else():
    usual = asked_key(**ASKED)
    assert asked_key(**ASKED | {"solver": {"step": 10.0, "_target_": "s.S"}, "budget": {"seconds": 10}}) == usual
    others = {
        "problem": "abc-C1.0-none-hinge",
        "formulation": {"_target_": "f.F", "delta": 0.2},
        "solver": {"_target_": "s.S", "step": math.inf},
        "budget": {"seconds": 11.0},
        "limits": {"seconds": 61.0},
        "seed": 1,
        "repeat": 1,
    }
    assert len({usual} | {asked_key(**ASKED | {name: value}) for name, value in others.items()}) == 1 + len(others)
    keys = {cell_key(usual, CODE, VERSIONS), cell_key(usual, {"solvers/s.py": "abd"}, VERSIONS)}
    keys |= {cell_key(usual, CODE, {"osqp": "1.1"}), cell_key(usual, {**CODE, "new.py": ""}, VERSIONS)}
    assert len(keys) == 4
    assert {len(name) for name in keys} == {24}
    assert cell_key(usual, dict(reversed(CODE.items())), VERSIONS) in keys


def test_answers_of_other_code_to_one_question_are_found_together(tmp_path):
    store, asked = Store(tmp_path), asked_key(**ASKED)
    mine = [record(hash=cell_key(asked, {"a.py": str(k)}, VERSIONS), seed=k) for k in range(3)]
    for one in [*mine, record(7)]:
        store.put(one)
    assert {found.seed for found in Store(tmp_path).answers(asked)} == {0, 1, 2}
    assert Store(tmp_path).answers("0" * 15 + "f") == []
