"""The page in a real browser: Debian's Chromium, driven by Playwright. Run by `make test-browser`, not by `make test`.

AXE: where `axe.min.js` of npm's axe-core is.
"""

import os
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright
from sample_records import a_large_run, a_run

from marginbench.harness.reporting import report

PATIENCE = 120_000
"""Milliseconds that a browser may take for one step: a busy machine is no failure of the page."""


@pytest.fixture(scope="session")
def chromium():
    found = next((path for name in ("chromium", "chromium-browser") if (path := shutil.which(name))), None)
    assert found, "chromium is not on the path; on Debian: apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"], timeout=PATIENCE)
        made = browser.new_context

        def new_context(**options):
            context = made(**options)
            context.set_default_timeout(PATIENCE)
            return context

        browser.new_context = new_context
        expect.set_options(timeout=PATIENCE)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def small(tmp_path_factory) -> Path:
    """A report of a hundred cells: four problems, eight methods, three repeats, all kinds of ends."""
    return report.write(a_run(3), tmp_path_factory.mktemp("small"), "small", "command", figures="none")


@pytest.fixture(scope="session")
def sweep(tmp_path_factory) -> Path:
    """Ten problems on two data sets, six methods, three repeats: something to draw in every chart."""
    return report.write(a_large_run(10, 6, 3), tmp_path_factory.mktemp("sweep"), "sweep", "command", figures="none")


@pytest.fixture(scope="session")
def many(tmp_path_factory) -> Path:
    """Just enough cells for files beside the page."""
    return report.write(a_large_run(15, 6, 6), tmp_path_factory.mktemp("many"), "many", "command", figures="none")


@pytest.fixture(scope="session")
def large(tmp_path_factory) -> Path:
    """2,000 cells: the details of problems are in files beside the page."""
    folder = tmp_path_factory.mktemp("large")
    return report.write(a_large_run(50, 40), folder, "large", "command", figures="none")


class Visit:
    """A page that is open, with everything that it asked for and complained of."""

    def __init__(self, page: Page):
        self.page = page
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def open(self, path: Path, place: str = "") -> Page:
        self.page.goto(f"file://{path}{place}")
        return self.page


@pytest.fixture
def visit(chromium, request):
    """Options of the context as a parameter: `{"color_scheme": "dark"}`."""
    options = {"viewport": {"width": 1280, "height": 900}, "bypass_csp": "axe" in request.fixturenames}
    options |= getattr(request, "param", {})
    context = chromium.new_context(**options)
    visited = Visit(context.new_page())
    yield visited
    context.close()
    assert visited.complaints == []
    assert [url for url in visited.requests if not url.startswith(("file://", "data:"))] == []


@pytest.fixture(scope="session")
def axe() -> str:
    path = os.environ.get("AXE", "")
    assert Path(path).is_file(), "AXE must name the axe.min.js of npm's axe-core"
    return Path(path).read_text()
