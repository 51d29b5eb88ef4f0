"""Writing: a file is there whole or not at all, and what cannot be written is named."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from marginbench.harness.files import StoreError, write_atomically, write_folder_atomically

ROOT = Path(__file__).resolve().parents[1]


def interrupted(file) -> None:
    file.write(b"half of it")
    raise KeyboardInterrupt


def test_bytes_text_and_functions_are_written_with_the_folders_above_them(tmp_path):
    path = tmp_path / "a" / "b"
    assert write_atomically(path, b"\x00\xff") == path
    assert path.read_bytes() == b"\x00\xff"
    assert write_atomically(path, "é").read_bytes() == "é".encode()
    assert write_atomically(path, lambda file: file.write(b"own"), synced=False).read_bytes() == b"own"
    assert os.listdir(path.parent) == ["b"]


def test_a_write_that_is_interrupted_leaves_the_old_file_and_nothing_else(tmp_path):
    path = write_atomically(tmp_path / "a", "old")
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, interrupted)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a"]


def test_a_folder_is_there_whole_or_not_at_all_and_the_first_writer_wins(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        write_folder_atomically(tmp_path / "a", {"one": b"1", "two": interrupted})
    assert os.listdir(tmp_path) == []
    write_folder_atomically(tmp_path / "a", {"one": b"1", "two": "2"})
    write_folder_atomically(tmp_path / "a", {"one": b"other"})
    assert {path.name: path.read_text() for path in (tmp_path / "a").iterdir()} == {"one": "1", "two": "2"}
    assert os.listdir(tmp_path) == ["a"]


def test_the_other_writer_of_a_folder_may_finish_in_between(tmp_path):
    def meanwhile(file) -> None:
        write_folder_atomically(tmp_path / "a", {"one": b"theirs"})
        file.write(b"ours")

    assert (write_folder_atomically(tmp_path / "a", {"one": meanwhile}) / "one").read_text() == "theirs"
    assert os.listdir(tmp_path) == ["a"]


def test_a_full_disk_is_named_in_one_line_and_leaves_what_was_there(full_disk):
    path = write_atomically(full_disk / "a", "old")
    for write in (
        lambda: write_atomically(path, b"x" * 2**18),
        lambda: write_folder_atomically(full_disk / "b", {"c": b"x" * 2**18}),
    ):
        with pytest.raises(StoreError, match=rf"^cannot write {full_disk}/[ab]: [^\n]+$"):
            write()
    assert path.read_text() == "old"
    assert os.listdir(full_disk) == ["a"]


@pytest.mark.parametrize("path", ["/proc/marginbench/a", "/dev/null/a"])
def test_a_folder_that_cannot_be_written_is_named(path):
    for write in (lambda: write_atomically(path, b""), lambda: write_folder_atomically(path, {})):
        with pytest.raises(StoreError, match=f"cannot write {path}: "):
            write()


def test_what_is_synced_is_synced_before_it_is_renamed_and_its_folder_after(tmp_path, monkeypatch):
    done = []
    sync, rename = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda file: (done.append("sync"), sync(file)))
    monkeypatch.setattr(os, "replace", lambda *paths: (done.append("rename"), rename(*paths)))
    write_atomically(tmp_path / "a", b"x")
    assert done == ["sync", "rename", "sync"]
    done.clear()
    write_atomically(tmp_path / "a", b"x", synced=False)
    assert done == ["rename"]


def test_nobody_else_writes_files():
    """Calls that write, in all modules but this one; a test file or the cache of the kernels is none of them."""
    writing = {"write_text", "write_bytes", "mkstemp", "NamedTemporaryFile", "savez_compressed", "to_csv", "fsync"}
    into_memory = {("reference.py", "savez_compressed"), ("bundle.py", "savez_compressed"), ("tables.py", "to_csv")}
    by_the_writer = {("points.py", "savez_compressed")}
    for_hours = {("download.py", "fsync")}  # a download fills its part for as long as it takes, and is then renamed
    found = set()
    for path in [p for top in ("harness", "datasets", "solvers") for p in (ROOT / top).rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and node.attr in writing and path.name != "files.py":
                found.add((path.name, node.attr))
    assert found <= into_memory | by_the_writer | for_hours


def test_the_writer_is_light():
    code = "import sys; import marginbench.harness.files; print('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"
