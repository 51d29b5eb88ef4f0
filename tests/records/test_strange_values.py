"""A value of any size in one record may cost its row, and never the report: 600 of them, seeded."""

import hashlib
import json
import math
import random
from dataclasses import fields
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sample_records import solved

from marginbench.harness.cli import main
from marginbench.harness.records.codec import dumps, record_to_plain
from marginbench.harness.records.record import SCHEMA, Record
from marginbench.harness.records.sizes import LONGEST_TEXT
from marginbench.harness.records.store import LARGEST_FILE, Store, encode

VALUES: tuple[Any, ...] = (
    *(10**100, 10**400, -(10**100), 2**63, -(2**63), 2**64, 2**53 + 1, 0, -1, 1),
    *(1e308, -1e308, 1.7e308, 5e-324, -0.0, 0.0, 1e16, 1e99, 1e-99, -1e99, {"$float": "inf"}, {"$float": "-inf"}),
    *(None, True, "", "x" * 5000, "\x1b[2J", "=1+1", "nan", [], [1], {}, {"a": 1}, [[[]]]),
)
WHERE = ("field", "field", "curve", "curves", "cell", "budget", "info", "machine")
HEALTHY = 3


def strange(rng: random.Random, key: str) -> bytes:
    """The file of a record with one or two strange values, and the right checksum."""
    method = rng.choice(["a", "b", "c"])
    data = json.loads(dumps(record_to_plain(solved(method, "p", hash=key))))
    for _ in range(rng.choice([1, 1, 2])):
        value, place = rng.choice(VALUES), rng.choice(WHERE)
        if place == "field":
            data[rng.choice([f.name for f in fields(Record) if f.name not in ("hash", "schema", "status")])] = value
        elif place in ("curve", "curves") and isinstance(data["curve"], list) and data["curve"]:
            name = rng.choice(["iteration", "seconds", "primal", "dual", "gap", "own_residual", "bound"])
            for entry in data["curve"] if place == "curves" else [rng.choice(data["curve"])]:
                if isinstance(entry, dict):
                    entry[name] = value
        elif place == "cell" and isinstance(data["cell"], dict):
            data["cell"][rng.choice(["budget", "limits", "solver", "formulation", "dataset", "problem", "seed"])] = (
                value
            )
        elif place == "budget" and isinstance(data["cell"], dict):
            data["cell"][rng.choice(["budget", "limits"])] = {rng.choice(["seconds", "gap"]): value}
        elif place in ("info", "machine") and isinstance(data[place], dict):
            data[place][rng.choice(["restarts", "updates", "judge", "peer", "processor", "cores", "signal"])] = value
    payload = json.dumps(data).encode()
    return b'{"schema": %d, "sha256": "%s", "record": %s}\n' % (
        SCHEMA,
        hashlib.sha256(payload).hexdigest().encode(),
        payload,
    )


def planted(folder: Path, seed: int, count: int) -> Path:
    rng = random.Random(seed)
    for k in range(HEALTHY):
        Store(folder).put(solved("abc"[k], "p", hash=f"{k:024x}"))
    for k in range(HEALTHY, HEALTHY + count):
        (folder / "cells" / f"{k:024x}.json").write_bytes(strange(rng, f"{k:024x}"))
    return folder


@pytest.mark.parametrize("seed", range(6))
def test_a_strange_value_may_cost_its_row_and_never_the_report(seed, tmp_path, capsys):
    folder = planted(tmp_path / "run", seed, 100)
    code = main(["report", str(folder), "--out", str(tmp_path / "out")])
    said = capsys.readouterr()
    assert code == 1  # some are unreadable, and that is said
    rows = pd.read_csv(tmp_path / "out" / "table.csv")
    assert {f"{k:024x}" for k in range(HEALTHY)} <= set(rows["hash"])
    assert len(rows) + said.err.count("unreadable, left where it is: ") == 100 + HEALTHY
    assert "\x1b" not in said.out + said.err
    assert (tmp_path / "out" / "report.html").stat().st_size > 10_000


SAID = {
    "ten to the hundred updates": {"updates": 10**100},
    "ten to the four hundred in its own words": {"info": {"updates": [10**400]}},
    "a huge value in the curve": {"curve": [{"iteration": 1, "seconds": 0.1, "primal": 1e308}]},
    "an objective without measure": {"primal": 1e200},
    "a text without end": {"info": {"said": "x" * 10**7}},
    "words without end": {"info": {f"word {k}": "x" * 1000 for k in range(5000)}},
    "a message without end": {"message": "x" * 10**6},
    "a curve without end": {"curve": [{"iteration": k, "seconds": 0.1} for k in range(100_000)]},
}


@pytest.mark.parametrize("what", SAID)
def test_what_a_solver_says_is_cut_with_a_note_and_the_record_can_be_read(what, tmp_path):
    store = Store(tmp_path)
    path = store.put(solved(hash="1" * 24, **SAID[what]))
    assert path.stat().st_size < 2**21
    found = store.get("1" * 24)
    assert found.status == "solved"
    assert found.solve_seconds == 0.1
    assert found.info.get("cut") or found.curve[0]["primal"] is None
    assert len(found.message) <= LONGEST_TEXT + 6


def test_no_record_is_written_that_is_too_large_to_be_read():
    with pytest.raises(ValueError, match="too large"):
        encode(solved(hash="1" * 24, cell={"dataset": {"rows": "x" * LARGEST_FILE}}))


def test_an_infinite_C_and_an_infinite_bound_are_ordinary(tmp_path):
    Store(tmp_path).put(solved(hash="1" * 24, C=math.inf, updates_bound=math.inf))
    assert math.isinf(Store(tmp_path).get("1" * 24).C)
