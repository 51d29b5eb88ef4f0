"""A results folder of a stranger, and data with strange names: nothing is obeyed, no link followed, no path opened."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sample_records import failure, solved

from marginbench.harness.cli import main
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.records.record import Record
from marginbench.harness.records.run_folder import earlier_runs, new_folder, read_json
from marginbench.harness.records.store import Store, encode
from marginbench.harness.references.computed import path_of, read_bounds, write_bounds
from marginbench.harness.references.library import bounds_of

EVIL = "\x1b]0;owned\x07\x1b[2J\u202e\x9b31m\r"
KEYS = ["../../secret", "/etc/passwd", "..", ".hidden", "a/b", "a\0b", "", "x" * 300]


def stored(folder: Path, *records: Record) -> Path:
    store = Store(folder)
    for k, record in enumerate(records):
        store.put(replace(record, hash=f"{k:020x}"))
    return folder


def written(folder: Path) -> str:
    """All text of a report."""
    files = [path for path in folder.rglob("*") if path.suffix in (".csv", ".md", ".tex", ".html", ".svg")]
    return "".join(path.read_text() for path in files) + pd.read_parquet(folder / "table.parquet").to_csv()


def test_escapes_in_a_record_reach_neither_terminal_nor_table_nor_page(tmp_path, capsys):
    names = {"dataset": EVIL, "solver": EVIL, "formulation": EVIL, "bias": EVIL, "claim": EVIL, "message": EVIL}
    cell = {group: {EVIL: EVIL} for group in ("dataset", "problem", "formulation", "solver", "budget", "limits")}
    plain = {group: {EVIL: "x"} for group in cell}
    records = [solved(EVIL, "p", cell=cell, **names), failure("failed", EVIL, "q", cell=plain, **names)]
    run = stored(tmp_path / EVIL, *(replace(r, versions={EVIL: EVIL}, machine={EVIL: EVIL}) for r in records))
    assert main(["report", str(run), "--out", str(tmp_path / "new")]) == 1
    said = capsys.readouterr()
    assert "owned" in said.out
    for text in (said.out, said.err, written(tmp_path / "new")):
        assert not set("\x1b\x07\x9b\u202e\r") & set(text)


def test_escapes_in_the_name_of_a_file_are_spelled_out(tmp_path, capsys):
    path = tmp_path / f"a{EVIL.strip()}b.csv"
    path.write_text("y,a\n1,2\n-1,1\n1,3\n-1,0\n")
    data = ["dataset=file", f"dataset.path='{path}'", "budget.seconds=0.1", f"out={tmp_path}/out"]
    assert main(["run", *data]) == 0
    assert main(["run", *data[:1], f"dataset.path='{path}.gone.csv'", *data[2:]]) == 2
    assert main([f"{EVIL}verb"]) == 2
    assert main(["report", str(path)]) == 2
    said = capsys.readouterr()
    assert not set("\x1b\x07\x9b\u202e\r") & set(said.out + said.err)
    assert r"\x1b[2J" in said.out
    assert r"\x1b[2J" in said.err


@pytest.mark.parametrize("key", KEYS)
def test_a_problem_key_is_never_a_path(key, tmp_path):
    """A record names its problem, and files of references have that name: only a plain name is looked up."""
    folder = tmp_path / "a" / "b"
    (folder / "references").mkdir(parents=True)
    old = {"infeasible": False, "bounds": [1.0, 2.0], "w": [1.0], "b": 0.0, "alpha": [1.0]}  # as version 0.1 wrote it
    np.savez(tmp_path / "a" / "secret.npz", **old)
    assert read_bounds(folder, key) is None
    assert bounds_of([key], [folder]) == {}
    run = stored(tmp_path / "run", solved(problem=key))
    assert main(["report", str(run), "--out", str(tmp_path / "new")]) == 0
    assert not (tmp_path / "new" / "references").exists()


def test_links_inside_a_folder_are_not_followed(tmp_path, capsys):
    secret = stored(tmp_path / "secret", solved("secret", "s"))
    write_bounds(secret, "s", Bounds(1.0, 2.0, "computed"))
    run = stored(tmp_path / "run", solved("open", "s"))
    os.symlink(secret / "cells" / f"{0:020x}.json", run / "cells" / f"{1:020x}.json")
    os.symlink(secret / "references", run / "references")
    os.symlink(secret / "run.json", run / "run.json")
    assert read_bounds(run, "s") is None
    assert read_json(run / "run.json") == {}
    (run / "references").unlink()
    (run / "references").mkdir()
    os.symlink(path_of(secret, "s"), path_of(run, "s"))
    assert read_bounds(run, "s") is None
    main(["report", str(run), "--out", str(tmp_path / "new")])
    assert "secret" not in (tmp_path / "new" / "table.csv").read_text()
    os.symlink(tmp_path / "secret", tmp_path / "runs")
    assert {path.name for path in earlier_runs(tmp_path, ".")} == {"secret", "run", "new"}


def test_nothing_is_written_through_a_link(tmp_path, capsys):
    run = stored(tmp_path / "run", solved())
    (tmp_path / "elsewhere").mkdir()
    for name in ("cells", "figures", "references"):
        out = tmp_path / f"out_{name}"
        out.mkdir()
        os.symlink(tmp_path / "elsewhere", out / name)
        assert main(["report", str(run), "--out", str(out)]) == 2
        assert "is a link" in capsys.readouterr().err
    os.symlink(tmp_path / "elsewhere", tmp_path / "experiment")
    with pytest.raises(ValueError, match="is a link"):
        new_folder(tmp_path, "experiment")
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_record_under_a_name_that_no_run_gives_is_left_out_and_named(tmp_path, capsys):
    run = stored(tmp_path / "run", solved("plain"))
    (run / "cells" / "odd.json").write_bytes(encode(solved("odd", hash="odd")))
    (run / "cells" / f"{EVIL}.json").write_text("damaged")
    assert main(["report", str(run), "--out", str(tmp_path / "new")]) == 1
    said = capsys.readouterr().err
    assert "odd" in said
    assert r"\x1b[2J" in said
    assert "\x1b" not in said
    assert pd.read_csv(tmp_path / "new" / "table.csv")["solver"].tolist() == ["plain"]
