"""A bundle from outside cannot write where it should not, nor fill the disk."""

import io
import stat
import zipfile
from pathlib import Path

import pytest
from sample_records import solved

from marginbench.harness.errors import InputError
from marginbench.harness.records import archive
from marginbench.harness.records.archive import unpacked
from marginbench.harness.records.store import Store, encode

KEY = "a" * 24


def zipped(path: Path, extra: dict[str, bytes] | None = None, entries: tuple[zipfile.ZipInfo, ...] = ()) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(f"run/cells/{KEY}.json", encode(solved(hash=KEY)))
        for name, content in (extra or {}).items():
            file.writestr(name, content)
        for entry in entries:
            file.writestr(entry, b"/etc/passwd")
    return path


def test_its_records_are_read_and_nothing_is_left_behind(tmp_path):
    with unpacked(zipped(tmp_path / "a.zip")) as folder:
        assert [record.hash for record in Store(folder).records()] == [KEY]
        assert tmp_path not in folder.parents
    assert not folder.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["a.zip"]


@pytest.mark.parametrize(
    "name", ["../evil", "/tmp/evil", "run/../../evil", "..\\evil", "C:/evil", "run/cells/../../../evil"]
)
def test_a_name_that_leads_out_is_refused(name, tmp_path):
    with pytest.raises(InputError, match="leads out of it"), unpacked(zipped(tmp_path / "a.zip", {name: b"x"})):
        pytest.fail("opened")
    assert [path.name for path in tmp_path.rglob("*")] == ["a.zip"]


def test_links_and_devices_are_refused(tmp_path):
    for kind in (stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR):
        entry = zipfile.ZipInfo("run/cells/link.json")
        entry.external_attr = (kind | 0o777) << 16
        with (
            pytest.raises(InputError, match="neither a file nor a folder"),
            unpacked(zipped(tmp_path / f"{kind}.zip", entries=(entry,))),
        ):
            pytest.fail("opened")


def test_bombs_are_refused(tmp_path, monkeypatch):
    large = zipped(tmp_path / "large.zip", {"run/zeros": bytes(2**27)})
    assert large.stat().st_size < 2**18
    with pytest.raises(InputError, match="would become"), unpacked(large):
        pytest.fail("opened")
    monkeypatch.setattr(archive, "MOST_FILES", 5)
    many = zipped(tmp_path / "many.zip", {f"run/{k}": b"" for k in range(10)})
    with pytest.raises(InputError, match="11 files"), unpacked(many):
        pytest.fail("opened")


def test_content_larger_than_it_says_is_refused(tmp_path):
    path = zipped(tmp_path / "a.zip", {"run/zeros": bytes(2**20)})
    data = path.read_bytes()
    lying = data.replace((2**20).to_bytes(4, "little"), (16).to_bytes(4, "little"))
    assert lying != data
    path.write_bytes(lying)
    with pytest.raises(InputError, match="cannot be read as a bundle"), unpacked(path):
        pytest.fail("opened")


def test_a_zip_of_something_else_and_a_damaged_one_are_one_line(tmp_path):
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w") as file:
        file.writestr("photo.jpg", b"x")
    whole = zipped(tmp_path / "whole.zip").read_bytes()
    for k, content in enumerate((other.getvalue(), b"", b"PK", whole[:-30], whole[:200] + b"\0" * 100 + whole[300:])):
        path = tmp_path / f"{k}.zip"
        path.write_bytes(content)
        with pytest.raises(InputError) as error, unpacked(path):
            pytest.fail("opened")
        assert "\n" not in str(error.value)
