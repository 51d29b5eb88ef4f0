"""Downloads from a real server on this machine: cut off, slow, damaged, moved, too large; whole or not at all."""

import hashlib
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from file_server import serving

from marginbench.datasets.catalogue import Checksum
from marginbench.datasets.checksums import misfit
from marginbench.datasets.download import Downloader, FetchError, NotThere, host_of, leftovers

CONTENT = np.random.default_rng(0).bytes(300_000)


@pytest.fixture
def site():
    with serving(big=CONTENT) as made:
        yield made


def downloader(site, **settings):
    return Downloader(hosts=(site.host,), **{"pause": 0.01, "timeout": 5.0} | settings)


def sha(content=CONTENT):
    return lambda path: misfit(path, path.name, Checksum("sha256", hashlib.sha256(content).hexdigest()))


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_fetched_whole_with_its_size_told_and_never_twice(site, tmp_path):
    told = []
    fetch = downloader(site, progress=lambda done, total: told.append((done, total))).fetch
    place = fetch(f"{site.address}/big", tmp_path / "deep" / "big", sha())
    assert place.read_bytes() == CONTENT
    assert told[0] == (0, len(CONTENT))
    assert told[-1] == (len(CONTENT), len(CONTENT))
    assert names(place.parent) == ["big"]
    fetch(f"{site.address}/big", place)
    assert len(site.asked) == 1


def test_what_is_cut_off_is_continued_where_it_ended(site, tmp_path):
    site.moods["/big"] = {"cut": 100_000}
    said = []
    place = downloader(site, say=said.append).fetch(f"{site.address}/big", tmp_path / "big", sha())
    assert place.read_bytes() == CONTENT
    assert [asked for _, asked in site.asked] == [None, "bytes=100000-", "bytes=200000-"]
    assert said[0].endswith("cut off after 100000 of 300000 bytes; trying again in 0.01 s")


def test_a_slow_server_is_waited_for_and_a_silent_one_is_not(site, tmp_path):
    site.moods["/big"] = {"step": 30_000, "pause": 0.05}
    downloader(site, timeout=2.0).fetch(f"{site.address}/big", tmp_path / "slow", sha())
    site.moods["/big"] = {"step": 30_000, "pause": 30.0}
    with pytest.raises(FetchError, match=r"no answer in time|timed out"):
        downloader(site, timeout=0.1, tries=1).fetch(f"{site.address}/big", tmp_path / "silent")
    assert not (tmp_path / "silent").exists()


def test_a_killed_download_goes_on_in_another_process(site, tmp_path):
    site.moods["/big"] = {"step": 50_000, "pause": 0.3}
    code = "import sys\nfrom pathlib import Path\nfrom marginbench.datasets.download import Downloader\n"
    code += "tell = lambda done, total: done > 100_000 and print(done, flush=True)\n"
    code += "Downloader(hosts=(sys.argv[1],), progress=tell).fetch(f'http://{sys.argv[1]}/big', Path(sys.argv[2]))"
    place = tmp_path / "big"
    command = [sys.executable, "-c", code, site.host, str(place)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    assert not place.exists()
    assert len(leftovers(place)) == 2
    site.moods.clear()
    downloader(site).fetch(f"{site.address}/big", place, sha())
    assert place.read_bytes() == CONTENT
    assert int(site.asked[-1][1].removeprefix("bytes=").removesuffix("-")) > 100_000
    assert leftovers(place) == []


def test_a_part_of_another_version_is_thrown_away(site, tmp_path):
    (tmp_path / "big.part").write_bytes(b"x" * 1000)
    origin = {"address": f"{site.address}/big", "validator": '"older"'}
    (tmp_path / "big.part.from").write_text(json.dumps(origin))
    assert downloader(site).fetch(f"{site.address}/big", tmp_path / "big").read_bytes() == CONTENT


def test_a_part_that_lies_about_its_origin_fails_its_checksum_and_is_fetched_again(site, tmp_path):
    (tmp_path / "big.part").write_bytes(b"x" * 1000)
    origin = {"address": f"{site.address}/big", "validator": '"one"'}
    (tmp_path / "big.part.from").write_text(json.dumps(origin))
    assert downloader(site).fetch(f"{site.address}/big", tmp_path / "big", sha()).read_bytes() == CONTENT
    assert [asked for _, asked in site.asked] == ["bytes=1000-", None]


def test_a_complete_part_is_not_fetched_again(site, tmp_path):
    (tmp_path / "big.part").write_bytes(CONTENT)
    origin = {"address": f"{site.address}/big", "validator": '"one"'}
    (tmp_path / "big.part.from").write_text(json.dumps(origin))
    downloader(site).fetch(f"{site.address}/big", tmp_path / "big", sha())
    assert site.asked == [("/big", f"bytes={len(CONTENT)}-")]


def test_a_server_without_ranges_sends_all_of_it_again_and_ends_if_it_never_does(site, tmp_path):
    site.moods["/big"] = {"cut": 100_000, "no_range": True, "times": 2}
    assert downloader(site).fetch(f"{site.address}/big", tmp_path / "big", sha()).read_bytes() == CONTENT
    site.moods["/big"] = {"cut": 100_000, "no_range": True, "etag": None}
    with pytest.raises(FetchError, match=r"cut off after 100000 of 300000 bytes, 3 times in a row$"):
        downloader(site, tries=3).fetch(f"{site.address}/big", tmp_path / "again", sha())


def test_a_busy_server_is_asked_again_and_a_missing_file_is_not(site, tmp_path):
    site.moods["/big"] = {"status": 503, "headers": {"Retry-After": "0"}, "times": 2}
    downloader(site).fetch(f"{site.address}/big", tmp_path / "big", sha())
    assert len(site.asked) == 3
    with pytest.raises(NotThere, match="/none: the server says 404 Not Found"):
        downloader(site).fetch(f"{site.address}/none", tmp_path / "none")
    assert len(site.asked) == 4
    site.moods["/big"] = {"status": 500}
    with pytest.raises(FetchError, match=r"the server says 500, 3 times in a row$"):
        downloader(site, tries=3).fetch(f"{site.address}/big", tmp_path / "again")


def test_a_wrong_checksum_leaves_nothing(site, tmp_path):
    with pytest.raises(FetchError, match=r"has the sha256 \w{64}, expected was \w{64}; nothing was kept"):
        downloader(site).fetch(f"{site.address}/big", tmp_path / "big", sha(b"other"))
    assert names(tmp_path) == []


def test_a_web_page_is_no_data_file(site, tmp_path):
    site.moods["/big"] = {"type": "text/html; charset=utf-8"}
    with pytest.raises(FetchError, match="sent a web page in the place of the file"):
        downloader(site).fetch(f"{site.address}/big", tmp_path / "big")


def test_redirects_are_followed_on_listed_hosts_alone(site, tmp_path):
    site.moods["/old"] = {"redirect": "/big"}
    assert downloader(site).fetch(f"{site.address}/old", tmp_path / "same", sha()).read_bytes() == CONTENT
    with serving(big=CONTENT) as other:
        site.moods["/away"] = {"redirect": f"{other.address}/big"}
        with pytest.raises(FetchError, match=rf"/away redirects there: {other.host} is not among the listed hosts"):
            downloader(site).fetch(f"{site.address}/away", tmp_path / "away")
        assert other.asked == []
        allowed = Downloader(hosts=(site.host, other.host), pause=0.01)
        assert allowed.fetch(f"{site.address}/away", tmp_path / "away", sha()).read_bytes() == CONTENT
    for target in ("file:///etc/passwd", "ftp://127.0.0.1/big", "gopher:x"):
        site.moods["/odd"] = {"redirect": target}
        with pytest.raises(FetchError, match=r"is no address|redirect is refused"):
            downloader(site).fetch(f"{site.address}/odd", tmp_path / "odd")


def test_hosts_that_are_not_listed_are_never_asked(site, tmp_path):
    with pytest.raises(FetchError, match=r"127\.0\.0\.1:\d+ is not among the listed hosts"):
        Downloader(hosts=("127.0.0.1",)).fetch(f"{site.address}/big", tmp_path / "big")
    assert site.asked == []
    assert host_of("https://a.org:443/x") == host_of("https://a.org/x") == "a.org"
    for strange in ("https://", "a9a", "https://a.org:port/x"):
        with pytest.raises(FetchError, match="is no address"):
            host_of(strange)


def test_a_full_disk_is_one_line_and_no_half_file(full_disk, site):
    """Where the size of a file is limited, the disk seems to have room, and writing fails in the middle."""
    with pytest.raises(FetchError, match=r"needs 300000 bytes in .*free|cannot write .*big: .*bytes are kept") as said:
        downloader(site).fetch(f"{site.address}/big", full_disk / "big", sha())
    assert "\n" not in str(said.value)
    assert not (full_disk / "big").exists()


def test_a_folder_that_cannot_be_written_is_named(site, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(FetchError, match=r"cannot write .*/file/big: (Not a directory|File exists)"):
        downloader(site).fetch(f"{site.address}/big", tmp_path / "file" / "big")


def test_of_many_fetchers_at_once_one_asks_and_all_have_the_file(site, tmp_path):
    site.moods["/big"] = {"step": 50_000, "pause": 0.1}
    code = "import sys\nfrom pathlib import Path\nfrom marginbench.datasets.download import Downloader\n"
    code += (
        "place = Downloader(hosts=(sys.argv[1],), say=print).fetch(f'http://{sys.argv[1]}/big', Path(sys.argv[2]))\n"
    )
    code += "print(len(place.read_bytes()))"
    command = [sys.executable, "-c", code, site.host, str(tmp_path / "big")]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    said = [process.communicate()[0].splitlines() for process in started]
    assert [lines[-1] for lines in said] == [str(len(CONTENT))] * 3
    assert len(site.asked) == 1
    assert names(tmp_path) == ["big"]


def test_proxies_of_the_environment_are_used(site, tmp_path, monkeypatch):
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", site.address)
    site.files["http://data.invalid/set"] = b"through the proxy"
    place = Downloader(hosts=("data.invalid",)).fetch("http://data.invalid/set", tmp_path / "set")
    assert place.read_bytes() == b"through the proxy"
    assert os.environ["http_proxy"] == site.address
