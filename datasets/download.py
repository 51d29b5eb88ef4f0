"""A file from the web: resumed where it was cut off, tried again, checked, and there whole or not at all.

Beside its place, a file of the same name with `.part` holds what has come so far, locked by the process that writes it:
of several processes one fetches and the others wait for it. `.part.from` says what the part is a part of: it is
continued only where the server still has that very file. Certificates, proxies (`https_proxy`, `no_proxy`) and
timeouts are those of the standard library. Only listed hosts are asked, also by way of a redirect.
"""

import contextlib
import errno
import fcntl
import http.client
import json
import os
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from urllib.parse import urljoin, urlsplit

from marginbench.harness.errors import StoreError
from marginbench.harness.files import write_atomically

HOSTS = (
    "www.csie.ntu.edu.tw",
    *("www.openml.org", "openml.org", "api.openml.org", "data.openml.org", "old.openml.org", "openml1.win.tue.nl"),
)
"""Hosts that are asked. Others are refused unless the user names them."""

CHUNK = 2**18
TIMEOUT = 30.0
"""Seconds without a byte after which a connection counts as lost."""

TRIES = 5
"""In a row without any progress."""

PAUSE, LONGEST_PAUSE = 1.0, 60.0
"""Seconds before the second try; doubled before each further one."""

GONE = (401, 403, 404, 410, 451)
"""Answers that another try does not change."""

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

Progress = Callable[[int, int | None], object]
"""Called with the bytes that are there and those that will be, None where the server does not say."""


class FetchError(StoreError):
    """A file cannot be had; one line that says why."""


class NotThere(FetchError):
    """The server has no such file."""


class _Lost(Exception):
    """The connection broke; another try may help. `wait`: seconds that the server asks for."""

    def __init__(self, why: str, wait: float = 0.0) -> None:
        super().__init__(why)
        self.wait = wait


@dataclass(frozen=True)
class Downloader:
    """How files are fetched: whom to ask, how often, and whom to tell."""

    hosts: Collection[str] = HOSTS
    tries: int = TRIES
    pause: float = PAUSE
    timeout: float = TIMEOUT
    progress: Progress = lambda done, total: None
    say: Callable[[str], object] = lambda line: None
    largest: int | None = field(default=None)
    """Bytes above which an answer is refused."""

    def fetch(self, address: str, place: Path, check: Callable[[Path], str | None] = lambda path: None) -> Path:
        """The file at `address`, at `place`. `check` says what is wrong with the finished file, None for nothing.

        A file that is there already is left alone, and nobody is asked.
        """
        part = place.with_name(f"{place.name}.part")
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            with self._locked(part) as file:
                if place.exists():
                    _forget(part)
                    return place
                resumed = self._complete(address, part, file)
                wrong = check(part)
                if wrong and resumed:  # the older half may be to blame
                    file.truncate(0)
                    self._complete(address, part, file)
                    wrong = check(part)
                if wrong:
                    _forget(part)
                    raise FetchError(f"{address}: {wrong}; nothing was kept")
                os.fsync(file.fileno())
                os.replace(part, place)
                _forget(part)
        except OSError as error:
            raise FetchError(f"cannot write {place}: {error.strerror or error}{_hint(error, part)}") from None
        return place

    @contextlib.contextmanager
    def _locked(self, part: Path) -> Iterator[IO[bytes]]:
        """The part, open for writing by this process alone."""
        while True:
            with open(part, "ab") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    self.say(f"another process is fetching {part.name.removesuffix('.part')}: waiting for it")
                    fcntl.flock(file, fcntl.LOCK_EX)
                if not _is_at(file, part):  # it was renamed while we waited
                    continue
                yield file
                return

    def _complete(self, address: str, part: Path, file: IO[bytes]) -> bool:
        """Fill the part up; whether some of it was there before."""
        resumed, best, failures = _size(file) > 0, _size(file), 0
        while True:
            try:
                self._receive(address, part, file)
                return resumed
            except _Lost as lost:
                size = _size(file)
                failures = 1 if size > best else failures + 1
                best = max(best, size)
                if failures >= self.tries:
                    kept = f"; {size} bytes are kept: the same command goes on from there"
                    more = kept if size and _origin(part).get("validator") else ""
                    raise FetchError(f"{address}: {lost}, {self.tries} times in a row{more}") from None
                wait = min(max(self.pause * 2.0 ** (failures - 1), lost.wait), LONGEST_PAUSE)
                self.say(f"{address}: {lost}; trying again in {wait:g} s")
                time.sleep(wait)

    def _receive(self, address: str, part: Path, file: IO[bytes]) -> None:
        """One connection: from where the part ends to the end of the file. _Lost where it breaks before."""
        have = _size(file)
        known = _origin(part) if have else {}
        asked = {"Accept-Encoding": "identity", "User-Agent": "marginbench"}
        if have and known.get("address") == address and known.get("validator"):
            asked |= {"Range": f"bytes={have}-", "If-Range": str(known["validator"])}
        with self._opened(address, asked) as answer:
            if answer.status == 416 and answer.headers.get("Content-Range") == f"bytes */{have}":
                return  # it was complete, and its check was interrupted
            if answer.status != 206 or _starts_at(answer) != have:
                have = 0
                file.truncate(0)
            if answer.status in (206, 416) and have == 0:
                raise _Lost("the server sent another part than was asked for")
            if answer.headers.get_content_type() == "text/html":
                raise FetchError(f"{address}: the server sent a web page in the place of the file")
            length = answer.headers.get("Content-Length", "")
            total = have + int(length) if length.isdigit() else None
            self._check_room(address, part, have, total)
            validator = answer.headers.get("ETag") or answer.headers.get("Last-Modified")
            if validator and validator.startswith("W/"):  # says that the content is alike, not that it is the same
                validator = answer.headers.get("Last-Modified")
            if have == 0:
                write_atomically(_from(part), json.dumps({"address": address, "validator": validator}), synced=False)
            self._copy(answer, file, have, total)

    def _copy(self, answer: Any, file: IO[bytes], have: int, total: int | None) -> None:
        self.progress(have, total)
        while True:
            try:
                data = answer.read1(CHUNK)
            except (OSError, http.client.HTTPException) as error:
                raise _Lost(_why(error)) from None
            if not data:
                break
            file.write(data)
            file.flush()
            have += len(data)
            if self.largest is not None and have > self.largest:
                raise FetchError(f"{answer.url}: sends more than {self.largest} bytes")
            self.progress(have, total)
        if total is not None and have < total:
            raise _Lost(f"cut off after {have} of {total} bytes")

    def _opened(self, address: str, headers: dict[str, str]) -> Any:
        _check_host(address, self.hosts, "")
        opener = urllib.request.build_opener(_Redirects(self.hosts))
        try:
            return opener.open(urllib.request.Request(address, headers=headers), timeout=self.timeout)
        except urllib.error.HTTPError as error:
            if error.code == 416:
                return error
            with error:
                if 300 <= error.code < 400:
                    raise FetchError(f"{address}: its redirect is refused: {_why(error)}") from None
                if error.code in GONE:
                    raise NotThere(f"{address}: the server says {error.code} {error.reason}") from None
                wait = str(error.headers.get("Retry-After", ""))
                raise _Lost(f"the server says {error.code}", float(wait) if wait.isdigit() else 0.0) from None
        except (OSError, http.client.HTTPException) as error:
            raise _Lost(_why(error)) from None
        except ValueError as error:
            raise FetchError(f"{address}: {error}") from None

    def _check_room(self, address: str, part: Path, have: int, total: int | None) -> None:
        """The size is known before the first byte: so is whether it fits."""
        if total is None:
            return
        if self.largest is not None and total > self.largest:
            raise FetchError(f"{address}: is of {total} bytes; at most {self.largest} were expected")
        free = shutil.disk_usage(part.parent).free
        if total - have > free:
            raise FetchError(f"{address}: needs {total - have} bytes in {part.parent}, where {free} are free")


class _Redirects(urllib.request.HTTPRedirectHandler):
    def __init__(self, hosts: Collection[str]) -> None:
        self.hosts = hosts

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        target = urljoin(req.full_url, newurl)
        if req.type == "https" and urlsplit(target).scheme != "https":
            raise FetchError(f"{req.full_url}: redirects to {target[:200]}, which is not encrypted: refused")
        _check_host(target, self.hosts, f"{req.full_url} redirects there: ")
        return super().redirect_request(req, fp, code, msg, headers, target)


def host_of(address: str) -> str:
    """Host, and port where it is not the usual one."""
    parts = urlsplit(address)
    usual = {"https": 443, "http": 80}.get(parts.scheme)
    if usual is None or not parts.hostname:
        raise FetchError(f"{address[:200]}: is no address; need https://HOST/...")
    try:
        port = parts.port
    except ValueError:
        raise FetchError(f"{address[:200]}: is no address; need https://HOST/...") from None
    return parts.hostname if port in (None, usual) else f"{parts.hostname}:{port}"


def _check_host(address: str, hosts: Collection[str], how: str) -> None:
    host = host_of(address)
    if host not in hosts:
        raise FetchError(f"{how}{host} is not among the listed hosts ({', '.join(hosts)}); --allow {host} adds it")


def _size(file: IO[bytes]) -> int:
    return os.fstat(file.fileno()).st_size


def _is_at(file: IO[bytes], path: Path) -> bool:
    with contextlib.suppress(OSError):
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    return False


def _from(part: Path) -> Path:
    return part.with_name(f"{part.name}.from")


def _origin(part: Path) -> dict[str, Any]:
    with contextlib.suppress(OSError, ValueError):
        found = json.loads(_from(part).read_bytes())
        return found if isinstance(found, dict) else {}
    return {}


def _forget(part: Path) -> None:
    for path in (part, _from(part)):
        with contextlib.suppress(FileNotFoundError):
            path.unlink()


def leftovers(place: Path) -> list[Path]:
    """What an interrupted download has left beside its place."""
    part = place.with_name(f"{place.name}.part")
    return [path for path in (part, _from(part)) if path.exists()]


def _starts_at(answer: Any) -> int:
    said = str(answer.headers.get("Content-Range", "")).removeprefix("bytes ").partition("-")[0]
    return int(said) if said.isdigit() else -1


def _why(error: BaseException) -> str:
    """The reason of a failed connection in a few words."""
    reason = getattr(error, "reason", None)
    error = reason if isinstance(reason, BaseException) else error
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return " ".join(str(getattr(error, "strerror", None) or error or type(error).__name__).split())[:200]


def _hint(error: OSError, part: Path) -> str:
    if error.errno not in FULL:
        return ""
    size = part.stat().st_size if part.exists() else 0
    return f"; {size} bytes are kept, and the same command goes on from there when there is room"
