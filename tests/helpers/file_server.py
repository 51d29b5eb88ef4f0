"""A web server on this machine that behaves as real ones do on bad days; one folder of files, a mood for each path."""

import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Site:
    """`files`: path -> content. `moods`: path -> words, as {"cut": 1000} or {"status": 503}. `asked`: what was."""

    files: dict[str, bytes] = field(default_factory=dict)
    moods: dict[str, dict] = field(default_factory=dict)
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    address: str = ""

    @property
    def host(self):
        return self.address.removeprefix("http://")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        site = self.server.site
        site.asked.append((self.path, self.headers.get("Range")))
        mood = site.moods.get(self.path, {})
        times = mood.get("times")
        if times is not None:
            mood["times"] = times - 1
            mood = mood if times > 0 else {}
        if "redirect" in mood:
            return self.plain(302, Location=mood["redirect"])
        if "status" in mood:
            return self.plain(mood["status"], **mood.get("headers", {}))
        if self.path not in site.files:
            return self.plain(404)
        return self.send(site.files[self.path], mood)

    def send(self, content, mood):
        start, etag = 0, mood.get("etag", '"one"')
        asked = self.headers.get("Range")
        same = etag and self.headers.get("If-Range") == etag
        if asked and same and not mood.get("no_range"):
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
            if start >= len(content):
                return self.plain(416, **{"Content-Range": f"bytes */{len(content)}"})
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(content) - start))
        self.send_header("Content-Type", mood.get("type", "application/octet-stream"))
        if etag:
            self.send_header("ETag", etag)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.end_headers()
        end = min(start + mood.get("cut", len(content)), len(content))
        step = mood.get("step", 2**16)
        for at in range(start, end, step):
            self.wfile.write(content[at : min(at + step, end)])
            time.sleep(mood.get("pause", 0.0))
        if end < len(content):
            self.close_connection = True
        return None

    def plain(self, status, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass

    def handle(self):
        try:
            super().handle()
        except (BrokenPipeError, ConnectionResetError):  # the client has had enough
            self.close_connection = True


@contextmanager
def serving(**files):
    """A site at http://127.0.0.1:PORT with these files."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.site = Site({f"/{name}": content for name, content in files.items()})
        server.site.address = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.site
        finally:
            server.shutdown()
            thread.join()
