"""Curves, figures and page: theory's bounds in the right units, no string becomes code, the same bytes every time."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from sample_records import HOSTILE, OPTIMUM, a_run, failure, hostile_run, solved

from marginbench.harness.model.bounds import Bounds
from marginbench.harness.reporting import effects, file_names, page_views, report, series
from marginbench.harness.reporting.comparison import Comparison
from marginbench.harness.reporting.terminal import terminal

# -- curves --------------------------------------------------------------------------------------------------------


def test_a_curve_bills_building_and_counts_suboptimality_from_the_best_bound():
    r = solved(seconds=0.3, build_seconds=0.2)
    c = series.curve(r, "m", Comparison.of([r], {"p": Bounds(OPTIMUM, source="stored")}).bounds["p"])
    assert c.x["seconds"][-1] == pytest.approx(0.5)
    assert c.x["passes"][-1] == pytest.approx(5000.0)
    assert c.y["suboptimality"][9] == pytest.approx(2.0**-10 / (1 + 2.0**-10))
    assert not c.ladder


def test_a_clock_that_goes_back_is_a_ladder():
    r = solved()
    r.curve[3]["seconds"] = 0.0
    assert series.curve(r, "m", Comparison.of([r]).bounds["p"]).ladder


def test_thinned_curves_keep_both_ends():
    r = solved(curve=[{"iteration": k, "seconds": 0.01 * k, "gap": 1.0 / k} for k in range(1, 2001)])
    c = series.curve(r, "m", Comparison.of([r]).bounds["p"], points=60)
    assert len(c.y["gap"]) <= 60
    assert c.x["iterations"][:2] == [1, 2]
    assert c.x["iterations"][-2:] == [
        1999,
        2000,
    ]  # these may be expensive: text_large at C = 1e4


def test_a_bound_of_theory_is_drawn_as_a_suboptimality():
    r = solved(curve=[{"iteration": k, "seconds": 0.1 * k, "primal": OPTIMUM + 1.0, "bound": 8.0 / k} for k in (1, 2)])
    known = Comparison.of([r], {"p": Bounds(OPTIMUM, source="stored")}).bounds["p"]
    assert series.curve(r, "m", known).bound == [8.0 / OPTIMUM, 4.0 / OPTIMUM]
    assert series.curve(r, "m", Bounds()).bound == []  # there is nothing to be far from
    assert series.curve(solved(), "m", known).bound == []


def test_special_charts_appear_with_their_data():
    sweep = [solved("m", f"C{C}", C=C) for C in (0.1, 1.0, 10.0)]
    deltas = [solved("newton", primal=OPTIMUM + d, cell={"formulation": {"delta": d}}) for d in (0.1, 0.01)]
    perceptron = [solved("perceptron", "s", updates=10, updates_bound=50.0)]
    found = effects.panels(Comparison.of([*sweep, *deltas, *perceptron]))
    assert set(found) == {"smoothing", "effect_of_C", "updates"}
    assert [p.y_label for p in found["effect_of_C"]] == [
        "objective P",
        "support vectors",
        "training accuracy (%)",
        "wall time (s)",
    ]
    squared = [solved("m", f"S{C}", C=C, loss="squared_hinge") for C in (0.1, 1.0, 10.0)]
    both = effects.panels(Comparison.of([*sweep, *squared]))["effect_of_C"]
    assert {p.title for p in both} == {"overlapping, bias none", "overlapping, bias none, squared hinge"}
    assert "effect_of_C" not in effects.panels(Comparison.of(sweep[:2]))  # two points are no curve
    line, bound = found["smoothing"][0].lines
    assert bound.y == pytest.approx([0.5 * 100 * d / OPTIMUM for d in (0.01, 0.1)], rel=1e-6)
    assert all(y <= b for y, b in zip(line.y, bound.y, strict=True))


# -- figures and page ----------------------------------------------------------------------------------------------


class Page(HTMLParser):
    """Collects elements, links, text outside of scripts, and checks that every element is closed."""

    VOID = ("meta", "br", "wbr", "img", "input", "link", "hr")

    def __init__(self, html: str):
        super().__init__()
        self.stack: list[str] = []
        self.tags: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self.feed(html)
        assert self.stack == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        for name, value in attributes:
            assert not name.startswith("on"), f"{tag} has {name}"
            if name in ("src", "href", "xlink:href", "action", "data", "srcset"):
                self.links.append(value)
        if tag not in self.VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        if "script" not in self.stack and "style" not in self.stack:
            self.text += data


@pytest.mark.parametrize(
    "records", [a_run(3), hostile_run(), [], [failure("crashed")]], ids=["run", "hostile", "none", "failed"]
)
def test_the_page_is_whole_self_contained_and_inert(records):
    html = report.page(records, f"title {HOSTILE}", f"command {HOSTILE}").text()
    page = Page(html)
    scripts = page.tags.count("script")
    assert scripts == 3 + html.count('json" data-curves=')  # theme, data, script, and curves as data
    assert "img" not in page.tags
    assert all(link.startswith(("#", "data:text/", "data:application/x-tex")) for link in page.links)
    assert not re.search(r"https?://|@import|url\(", html)
    assert HOSTILE.split("\x1b")[0].strip() in page.text
    for r in records:
        assert r.message[:40] in page.text
    assert html == report.page(records[::-1], f"title {HOSTILE}", f"command {HOSTILE}").text()


def test_the_page_of_a_hundred_cells_is_small():
    records = a_run(4)
    assert len(records) > 100
    assert len(report.page(records, "t", "c").text()) < 3_000_000


def test_times_of_two_machines_are_flagged():
    made = [solved("a", machine={"processor": "One"}), solved("b", machine={"processor": "Two"})]
    pages = [report.page(records, "t", "c").text() for records in (made, made[:1])]
    assert "Times come from 2 machines: One (1), Two (1); compare passes, not seconds." in pages[0]
    assert "machines:" not in pages[1]


def test_no_target_leads_outside_the_project():
    assert "soft-margin dual" in page_views.docstring("marginbench.harness.formulations.dual_qp.DualQP")
    for target in (
        "os.path.join",
        "solvers/../../x.Y",
        "solvers.../etc/passwd.Y",
        "",
        "marginbench.harness.formulations.missing.X",
    ):
        assert page_views.docstring(target) == ""


def test_everything_is_written_and_drawn_without_a_warning(tmp_path):
    sweep = [solved("m", f"C{C}", C=C, hash=f"c{C}") for C in (0.1, 1.0, 10.0)]
    late = [failure("timeout", "late", f"C{C}", C=C, hash=f"late{C}") for C in (0.1, 1.0, 10.0)]
    path = report.write([*sweep, *hostile_run(), *late], tmp_path, "t", "c", None, "all")
    assert path == tmp_path / "report.html"
    drawn = sorted((tmp_path / "figures").iterdir())
    assert {p.suffix for p in drawn} == {".svg", ".png", ".pdf"}
    assert any(p.stem.startswith("profiles_soft-margin") for p in drawn)
    assert {p.stem for p in drawn} >= {
        "statuses",
        "effect_of_C",
        "overlapping-C-1-bias-none",
    }
    for file in [*drawn, *tmp_path.glob("table.*"), path]:
        assert file.stat().st_size > 100, file
        assert file.resolve().is_relative_to(tmp_path)
    assert not list(tmp_path.rglob(".*"))


def test_the_same_records_give_the_same_bytes(tmp_path):
    records = [solved("a"), failure("timeout", "b")]
    for name in ("one", "two"):
        report.write(records, tmp_path / name, "t", "c", None)
    files = sorted(p.relative_to(tmp_path / "one") for p in (tmp_path / "one").rglob("*.*"))
    assert len(files) > 8
    for file in files:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes(), file


@pytest.mark.parametrize("records", [[], [failure("failed"), failure("skipped", "s")]])
def test_nothing_to_draw_is_no_error(tmp_path, records):
    assert report.write(records, tmp_path, "t", "c", None).exists()
    assert terminal([]) == "no cells"


def test_file_names_cannot_leave_the_folder_or_collide():
    tasks = Comparison.of(
        [solved(problem=f"k{k}", dataset=name) for k, name in enumerate(("../../x", "..\\..\\X", "é/é", "é é"))]
    ).tasks
    names = file_names.slugs(tasks)
    assert len({name.lower() for name in names}) == 4
    assert all(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]*", name) for name in names)


def test_report_needs_no_solver():
    modules = "('marginbench.solvers', 'marginbench.datasets', 'marginbench.harness.running', 'hydra', 'numba')"
    found = f"any(m.startswith({modules}) for m in sys.modules)"
    code = f"import sys, marginbench.harness.reporting.report; sys.exit({found})"
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(report.__file__).parent.parent).returncode == 0
