"""What a reader does with the page: choose, sort, filter, follow links, by mouse and keys, on any screen, in print."""

import csv
import io
import re

import pytest
from playwright.sync_api import expect
from timed_records import timed

from marginbench.harness.reporting import report

TEXTS = "(table) => [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent.trim()))"


def texts(page, selector):
    return page.locator(selector).first.evaluate(TEXTS)


def column(page, selector, k):
    return [row[k] for row in page.locator(selector).first.evaluate(TEXTS)[1:]]


def test_the_script_draws_the_same_tables_as_the_template(chromium, small):
    """Accuracy and clock are changed and changed back: what the script made then is what was there without it."""
    tables = ["table.ranking", "table.pairs", "table.map", "table.correlations"]
    still = chromium.new_context(java_script_enabled=False).new_page()
    still.goto(f"file://{small}")
    page = chromium.new_context().new_page()
    page.goto(f"file://{small}")
    before = [texts(page, "table.ranking"), texts(page, "table.map")]
    page.locator("#accuracy button", has_text="1e-3").click()
    page.locator("#clock button", has_text="passes").click()
    assert [texts(page, "table.ranking"), texts(page, "table.map")] != before
    page.locator("#accuracy button", has_text="1e-6").click()
    page.locator("#clock button", has_text="wall").click()
    with_script = page.evaluate(f"{tables}.flatMap((s) => [...document.querySelectorAll(s)]).map({TEXTS})")
    without = still.locator("body").evaluate(
        f"() => {tables}.flatMap((s) => [...document.querySelectorAll(s)]).map({TEXTS})"
    )
    assert with_script == without
    assert len(without) >= 4
    assert page.locator(".headline").all_inner_texts() == still.locator(".headline").all_inner_texts()


def test_pairs_and_map_show_the_same_medians_from_either_side(visit, tmp_path):
    """Four problems, so that two are in the middle. Ratios of y to x: 1, 2, 8, 16; of z to x: 1, 3, 5, 7."""
    times = {"x": (1, 1, 1, 1), "y": (1, 2, 8, 16), "z": (7, 5, 3, 1)}
    records = [timed(m, f"d{k}", 0.01 * t) for m, ts in times.items() for k, t in enumerate(ts)]
    page = visit.open(report.write(records, tmp_path, "t", "c", figures="none"))
    seen = {}
    for base in times:
        page.locator("select.base").select_option(base)
        page.locator("select.over").select_option(base)
        names, middle, *_ = texts(page, "table.map")
        of_map = dict(zip(names, middle, strict=True))
        head, *rows = texts(page, "table.pairs")
        for row in rows:
            assert row[head.index("median")] == of_map[row[0]]
            seen[row[0], base] = float(of_map[row[0]])
    assert seen["y", "x"] == 4.0
    assert seen["z", "x"] == pytest.approx(15**0.5, rel=0.01)
    assert all(seen[b, a] == pytest.approx(1.0 / x, rel=0.01) for (a, b), x in seen.items())


def test_accuracy_and_clock_govern_every_section(visit, small):
    page = visit.open(small)
    answer, mean = page.locator(".headline").first, "table.ranking tbody tr:first-child td:nth-child(4)"
    assert answer.inner_text().startswith("To 1e-6 on")
    seconds = page.locator(mean).first.inner_text()
    page.locator("#accuracy button", has_text="1e-2").click()
    assert answer.inner_text().startswith("To 1e-2 on")
    assert all(text.startswith("To 1e-2, wall time") for text in page.locator(".scope:visible").all_inner_texts())
    page.locator("#clock button", has_text="passes").click()
    assert "in passes" in answer.inner_text()
    assert all(text.startswith("To 1e-2, passes") for text in page.locator(".scope:visible").all_inner_texts())
    assert page.locator(mean).first.inner_text() != seconds
    assert page.locator("#accuracy button", has_text="1e-9").is_disabled()  # nobody was asked for it


def test_choices_are_in_the_address_and_come_back(visit, sweep):
    page = visit.open(sweep)
    page.locator("#accuracy button", has_text="1e-4").click()
    page.locator("#clock button", has_text="CPU").click()
    page.locator("select.base").first.select_option("method-03")
    page.locator("[data-filter=text]").fill("data-001")
    address = page.url
    assert "accuracy=1e-4" in address
    assert "clock=cpu" in address
    again = visit.page.context.new_page()
    again.goto(address)
    assert again.locator(".headline").first.inner_text().startswith("To 1e-4 on")
    assert again.locator("#clock [aria-pressed=true]").inner_text() == "CPU"
    assert again.locator("select.base").first.input_value() == "method-03"
    assert again.locator("[data-filter=text]").input_value() == "data-001"
    assert again.locator("#shown").inner_text() == page.locator("#shown").inner_text()
    again.goto(address.replace("1e-4", "%3Cscript%3E"))  # nonsense is passed over
    again.reload()
    assert again.locator(".headline").first.inner_text().startswith("To 1e-6 on")


def test_a_link_opens_what_it_points_to_and_keeps_the_choices(visit, small):
    page = visit.open(small)
    closed = page.locator("#problem-4")
    assert closed.get_attribute("open") is None
    page.locator("#clock button", has_text="passes").click()
    page.locator(".matrix a[href='#problem-4']").click()
    assert closed.get_attribute("open") is not None
    expect(closed).to_be_in_viewport()
    assert page.url.endswith("#problem-4&clock=passes")
    closed.evaluate("(node) => { node.open = false; }")
    page.locator(".matrix a[href='#problem-4']").click()  # the address stays the same
    assert closed.get_attribute("open") is not None
    failure = page.locator("a[href^='#failures-']").first
    place = failure.get_attribute("href")
    failure.click()
    assert page.locator(place).get_attribute("open") is not None


def test_a_link_from_outside_arrives(visit, sweep):
    page = visit.open(sweep, "#problem-4&accuracy=1e-3")
    assert page.locator("#problem-4").get_attribute("open") is not None
    assert page.locator(".headline").first.inner_text().startswith("To 1e-3 on")
    page.locator("#problem-4 .chart svg").first.wait_for()


def test_sorting_by_key_survives_a_redraw(visit, small):
    page = visit.open(small)
    head = page.locator("table.ranking th button", has_text="method").first
    head.focus()
    page.keyboard.press("Enter")
    names = column(page, "table.ranking", 0)
    assert names == sorted(names)
    page.keyboard.press("Enter")
    assert column(page, "table.ranking", 0) == names[::-1]
    page.locator("#accuracy button", has_text="1e-3").click()
    assert column(page, "table.ranking", 0) == names[::-1]
    assert page.locator("table.ranking th[aria-sort]").first.get_attribute("aria-sort") == "descending"


def test_numbers_sort_as_numbers_and_blanks_go_last(visit, small):
    page = visit.open(small)
    page.locator("#cells th button", has_text=re.compile("^solve$")).click()
    k = page.locator("#cells thead th").all_inner_texts().index("solve")
    units = {"s": 1.0, "ms": 1e-3, "µs": 1e-6}
    values = [float(t.split()[0]) * units[t.split()[1]] if t else float("inf") for t in column(page, "#cells table", k)]
    assert values == sorted(values)
    assert values[0] < values[-1] == float("inf")


def test_filters_hide_rows_and_count_them(visit, small):
    page = visit.open(small)
    everything = page.locator("#shown").inner_text()
    page.locator("[data-filter=method]").select_option("pegasos")
    page.locator("[data-filter=dataset]").select_option("overlapping")
    names = set(column(page, "#cells table", 0))
    assert names == {"pegasos"}
    assert page.locator("#cells tbody tr").count() == 3
    assert page.locator("#shown").inner_text().startswith("3 of ")
    page.locator("[data-filter=text]").fill("no such thing")
    assert page.locator("#shown").inner_text().startswith("none of ")
    for name in ("method", "dataset"):
        page.locator(f"[data-filter={name}]").select_option("")
    page.locator("[data-filter=text]").fill("")
    assert page.locator("#shown").inner_text() == everything


def test_the_theme_is_remembered(visit, small):
    page = visit.open(small)
    before = page.evaluate("getComputedStyle(document.documentElement).colorScheme")
    page.locator("#theme").press("Enter")
    after = page.evaluate("getComputedStyle(document.documentElement).colorScheme")
    assert {before, after} == {"light", "dark"}
    page.reload()
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == after


def test_downloads_hold_the_table(visit, small):
    page = visit.open(small)
    with page.expect_download() as waiting:
        page.locator("a[download='table.csv']").click()
    rows = list(csv.DictReader(io.StringIO(waiting.value.path().read_text())))
    assert len(rows) == 96
    assert {"dataset", "solver", "status", "gap"} <= set(rows[0])


def test_charts_are_drawn_when_they_are_opened_and_none_is_empty(visit, sweep):
    page = visit.open(sweep)
    closed = page.locator("#problem-4")
    assert closed.locator(".chart svg").count() == 0
    closed.locator("summary").click()
    closed.locator(".chart svg").first.wait_for()
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    for section in page.locator("section.card:visible .three, details[open] .two").all():
        section.scroll_into_view_if_needed()
        section.locator(".chart:visible svg").first.wait_for()
    assert page.locator(".chart svg", has_text="NaN").count() == 0
    drawn = page.locator(".chart:visible:has(svg)")
    assert drawn.count() > 8
    assert all(chart.locator("path.curve, path.dot").count() > 0 for chart in drawn.all())


def test_a_legend_hides_methods_by_key(visit, sweep):
    page = visit.open(sweep)
    page.locator("section.profiles").first.scroll_into_view_if_needed()
    chart = page.locator("section.profiles .chart svg").first
    chart.wait_for()
    curves = chart.locator("path.curve").count()
    page.locator("section.profiles .legend button[data-label=method-02]").first.press("Space")
    assert page.locator("section.profiles .chart svg").first.locator("path.curve").count() == curves - 1


def test_convergence_has_a_target_a_band_and_other_axes(visit, sweep):
    page = visit.open(sweep, "#problem-1")
    problem = page.locator("#problem-1")
    problem.locator(".chart svg").first.wait_for()
    assert problem.locator(".chart svg line.target").count() == 1
    assert problem.locator(".chart svg path.band").count() > 1
    problem.locator(".choice.x button", has_text="iterations").click()
    assert "iterations" in problem.locator(".chart svg").first.text_content()
    problem.locator("select.y").first.select_option("own_residual")
    assert "residual of its own program" in problem.locator(".chart svg").first.text_content()


@pytest.mark.parametrize("visit", [{"viewport": {"width": 390, "height": 800}}], indirect=True)
@pytest.mark.parametrize("name", ["small", "large"])
def test_a_telephone_scrolls_the_page_down_only(visit, name, request):
    page = visit.open(request.getfixturevalue(name))
    page.evaluate("document.querySelectorAll('details').forEach((node) => { node.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    box = page.locator(".tall:has(table.map)").first
    if name == "large":
        assert box.evaluate("(node) => node.scrollWidth > node.clientWidth")
        box.evaluate("(node) => { node.scrollLeft = 300; node.scrollTop = 200; }")
        first = box.locator("tbody tr:nth-child(2) th.first").first
        assert first.evaluate("(th) => th.getBoundingClientRect().left") == pytest.approx(
            box.evaluate("(node) => node.getBoundingClientRect().left"), abs=2
        )
        assert box.locator("thead").evaluate("(head) => head.getBoundingClientRect().top") == pytest.approx(
            box.evaluate("(node) => node.getBoundingClientRect().top"), abs=2
        )


def test_names_of_methods_are_never_cut(visit, tmp_path):
    """Long names often differ at their end, as those of a sweep."""
    names = [
        "coordinate_descent start=warm",
        "coordinate_descent start=cold",
        "a_name_longer_than_any_head_would_be_tall",
    ]
    records = [timed(m, f"d{k}", 0.1 + k) for m in names for k in range(2)]
    page = visit.open(report.write(records, tmp_path, "t", "c", figures="none"))
    cut = "(s) => s.scrollHeight > s.clientHeight + 1 || s.scrollWidth > s.clientWidth + 1"
    heads = "[...document.querySelectorAll('.map thead th span, .matrix thead th span')]"
    assert page.evaluate(f"{heads}.length") == 7
    assert page.evaluate(f"{heads}.filter({cut}).map((s) => s.textContent)") == []


def test_without_scripts_every_table_is_there(chromium, small):
    page = chromium.new_context(java_script_enabled=False).new_page()
    page.goto(f"file://{small}")
    for table in page.locator("table:visible").all():
        assert table.locator("tbody tr").count() > 0, table.get_attribute("data-table")
    assert page.locator("table.ranking").first.is_visible()
    assert page.locator("table.map").first.is_visible()
    assert page.locator("#cells tbody tr").count() == 96
    assert not page.locator(".switch").is_visible()
    assert page.locator("select:visible, input:visible, button:visible").count() == 0  # they would do nothing
    assert page.locator("section.card:visible:not(:has(table, p, ul))").count() == 0


WITHIN = 1039
"""A4 on its side, 297 mm less two margins of 11 mm, in pixels. What is wider makes the browser shrink every page."""


def in_print(page):
    page.set_viewport_size({"width": WITHIN, "height": 720})
    page.emulate_media(media="print")


def test_print_names_its_settings(visit, sweep):
    page = visit.open(sweep)
    page.locator("#accuracy button", has_text="1e-4").click()
    page.locator("#clock button", has_text="CPU").click()
    page.locator("select.base").first.select_option("method-03")
    page.locator("select.over").first.select_option("method-03")
    page.locator("[data-filter=method]").select_option("method-03")
    page.locator("[data-filter=text]").fill("data-001")
    in_print(page)
    assert page.locator(".scope:visible").count() > 3
    assert all(text.startswith("To 1e-4, CPU time") for text in page.locator(".scope:visible").all_inner_texts())
    assert page.locator(".setting:visible").first.inner_text().startswith("accuracy 1e-4")
    assert page.locator(".basename:visible").first.inner_text() == "method-03"
    assert page.locator(".overname:visible").first.inner_text() == "method-03"
    assert "The filter (method method-03, text data-001) leaves 15 of them." in page.locator("#cells").inner_text()
    assert not page.locator(".bar").is_visible()
    assert page.locator("select:visible, input:visible, .button:visible").count() == 0


@pytest.mark.parametrize("name", ["small", "sweep", "large"])
def test_print_is_not_shrunken_and_cuts_no_column(visit, name, request):
    page = visit.open(request.getfixturevalue(name))
    if name == "small":
        page.evaluate("document.querySelectorAll('details').forEach((node) => { node.open = true; })")
    in_print(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= WITHIN
    seen = "[...document.querySelectorAll('main, main *')].filter((node) => node.checkVisibility())"
    told = "(node) => `${node.tagName} ${node.className} ${Math.round(node.getBoundingClientRect().right)}`"
    assert page.evaluate(f"{seen}.filter((n) => n.getBoundingClientRect().right > {WITHIN} + 1).map({told})") == []
    hidden = "node.clientWidth <= 1 || getComputedStyle(node).overflowX === 'visible'"  # one pixel: for screen readers
    cut = f"(node) => node.scrollWidth > node.clientWidth + 1 && !({hidden})"
    assert page.evaluate(f"{seen}.filter({cut}).map({told})") == []


def test_print_takes_few_pages_and_none_is_for_an_empty_section(visit, small):
    page = visit.open(small)
    pages = len(re.findall(rb"/Type\s*/Page[^s]", page.pdf(prefer_css_page_size=True)))
    assert 1 < pages <= 15
    in_print(page)
    blank = "(node) => node.checkVisibility() && !node.innerText.trim() && !node.querySelector('svg')"
    assert page.evaluate(f"[...document.querySelectorAll('.card')].filter({blank}).length") == 0


def test_details_of_many_problems_lie_beside_the_page(visit, large):
    page = visit.open(large)
    assert len(visit.requests) == 1  # nothing but the page itself
    page.locator(".tall table[data-table=problems] a").nth(6).click()
    page.wait_for_load_state()
    assert page.url.endswith("report_files/problem-7.html")
    page.locator(".chart svg").first.wait_for()
    assert page.locator("tbody tr").count() == 40
    page.locator("nav a").click()
    page.wait_for_load_state()
    assert page.url.endswith("report.html")


def test_two_thousand_cells_are_paged_filtered_and_sorted(visit, large):
    page = visit.open(large)
    assert page.locator("#cells tbody tr").count() == 200
    assert page.locator("#shown").inner_text() == "1 to 200 of 2000 cells"
    page.locator("#later").click()
    assert page.locator("#shown").inner_text() == "201 to 400 of 2000 cells"
    page.locator("[data-filter=status]").select_option("timeout")
    assert set(page.locator("#cells tbody .tag").all_inner_texts()) == {"ttimeout"}
    page.locator("#cells th button", has_text=re.compile("^method$")).click()
    names = column(page, "#cells table", 0)
    assert names == sorted(names)
