"""Figures: sizes of a journal, one look per method, nothing cut, nothing empty, no two in one file."""

import re
from dataclasses import replace

import matplotlib
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from sample_records import HOSTILE, OPTIMUM, a_run, failure, solved

from marginbench.harness.model.bounds import Bounds
from marginbench.harness.reporting import canvas, figures, palette
from marginbench.harness.reporting.analysis import analysis
from marginbench.harness.reporting.comparison import Comparison

MANY = [f"a_method_with_a_long_name_{k}" for k in range(30)]


def many_methods(problems: int = 3):
    return [solved(m, f"p{p}", 0.01 * (k + 1), hash=f"{p}{k}") for p in range(problems) for k, m in enumerate(MANY)]


def drawn(records, width=canvas.WIDE, every=False):
    with matplotlib.rc_context(canvas.LOOK):
        return dict(figures._figures(Comparison.of(records), analysis(records), None, every, width))


# -- sizes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [canvas.WIDE, canvas.NARROW])
def test_every_figure_has_the_width_of_a_column_or_a_page_and_nothing_of_it_is_cut(width):
    found = drawn(many_methods(), width)
    assert {"statuses", "profiles_soft-margin"} < set(found)
    for name, figure in found.items():
        assert figure.get_figwidth() in (width, canvas.NARROW), name
        renderer = FigureCanvasAgg(figure).get_renderer()
        for legend in figure.legends:
            box = legend.get_window_extent(renderer).transformed(figure.transFigure.inverted())
            assert box.x0 >= -0.005, name
            assert box.x1 <= 1.005, name
            assert box.y0 >= -0.005, name
            for ax in figure.axes:
                below = ax.get_tightbbox(renderer).transformed(figure.transFigure.inverted())
                assert below.y0 >= box.y1 - 0.01, f"{name}: the legend covers the charts"
        if figure.legends and name != "statuses":
            assert len(figure.legends[0].get_texts()) >= len(MANY)


def test_text_is_8_points_and_fonts_are_embedded_whole():
    assert canvas.LOOK["font.size"] == 8.0
    assert canvas.LOOK["pdf.fonttype"] == 42


def test_pdf_files_hold_their_fonts_as_type_42(tmp_path):
    figures.write(Comparison.of([solved("a"), solved("b")]), analysis([solved("a"), solved("b")]), tmp_path, every=True)
    content = (tmp_path / "figures" / "statuses.pdf").read_bytes()
    assert b"/FontFile2" in content
    assert b"/Type3" not in content


# -- looks ---------------------------------------------------------------------------------------------------------


def test_a_method_has_one_look_and_no_other_method_has_it():
    found = palette.looks(MANY)
    assert len(set(found.values())) == 30
    assert palette.looks(MANY)["a_method_with_a_long_name_7"] == found["a_method_with_a_long_name_7"]


def test_methods_that_meet_in_a_figure_have_different_colours():
    labels = [f"m{k}" for k in range(10)]
    found = palette.looks(labels, [labels[:6], labels[4:]])
    for group in (labels[:6], labels[4:]):
        assert len({found[label].colour for label in group}) == len(group)
    assert len(set(found.values())) == 10


def test_a_sweep_over_numbers_goes_from_dark_to_light_in_their_order():
    values = [1e-5, 3e-4, 0.01, 1.0, 100.0]
    labels = [f"newton delta={v!r}" for v in (100.0, 1e-5, 1.0, 0.01, 3e-4)]
    (members,) = palette.sweeps([*labels, "other"])
    assert [float(label.partition("=")[2]) for label in members] == values
    found = palette.looks([*labels, "other"])
    light = [sum(int(found[label].colour[k : k + 2], 16) for k in (1, 3, 5)) for label in members]
    assert light == sorted(light)
    assert found["other"].colour == palette.COLOURS[0]
    assert palette.sweeps(["a x=1 y=1", "a x=2 y=2", "a x=3 y=1"]) == []  # two things vary: there is no one order


# -- what is drawn -------------------------------------------------------------------------------------------------


def test_no_chart_is_empty_and_none_is_of_what_cannot_be():
    infinite = {"C": float("inf"), "dataset": "mixed"}
    hopeless = [
        failure("infeasible", "a", "q", **infinite),
        solved("slow", "q", status="timeout", **infinite, gap=None, primal=None),
    ]
    lonely = [failure("timeout", "late", "r")]
    found = drawn([*a_run(), *hopeless, *lonely])
    assert not [name for name in found if "mixed" in name]
    for name, figure in found.items():
        for ax in figure.axes:
            assert ax.lines or ax.patches, f"{name}: an empty chart"


def test_kkt_residuals_the_target_and_the_bound_are_in_the_figure_of_a_problem():
    curve = [
        e | {"kkt_dual": 2.0**-k, "kkt_stationarity": 0.0, "bound": 100.0 / k} for k, e in enumerate(solved().curve, 1)
    ]
    (task,) = Comparison.of([solved("m", curve=curve)], {"p": Bounds(OPTIMUM, source="stored")}).tasks
    with matplotlib.rc_context(canvas.LOOK):
        figure = figures.convergence(task, palette.looks(["m"]))
    labels = [ax.get_ylabel() for ax in figure.axes]
    assert labels == ["certified gap", "suboptimality", "suboptimality", "KKT: dual feasibility"]  # zeros are no curve
    names = [entry.get_text() for entry in figure.legends[0].get_texts()]
    assert "gap asked for" in names
    assert any("bound by theory" in name for name in names)
    assert any("times 0.5 per iteration, fitted, not proven" in name for name in names)


def test_of_many_problems_only_the_first_are_drawn_unless_all_are_asked_for():
    records = [solved("m", f"p{k}", hash=str(k), cell={"dataset": {"margin": k}}) for k in range(30)]
    some, every = drawn(records), drawn(records, every=True)
    assert sum("bias" in name for name in some) == figures.MOST_PROBLEMS
    assert sum("bias" in name for name in every) == 30


def test_many_problems_make_a_matrix_of_data_sets():
    records = [solved("m", f"p{k}", dataset=f"d{k % 3}", hash=str(k), cell={"dataset": {"x": k}}) for k in range(60)]
    figure = drawn(records)["statuses"]
    assert [tick.get_text() for tick in figure.axes[0].get_yticklabels()] == ["d0", "d1", "d2"]


@pytest.mark.parametrize(("kind", "endings"), [("none", set()), ("svg", {".svg"}), ("all", {".svg", ".pdf", ".png"})])
def test_the_option_says_which_files_there_are(tmp_path, kind, endings):
    from marginbench.harness.reporting import report

    report.write([solved("a"), failure("timeout", "b")], tmp_path, "t", "c", None, kind)
    made = list((tmp_path / "figures").iterdir()) if endings else []
    assert {path.suffix for path in made} == endings
    assert (tmp_path / "figures").exists() == bool(endings)


def test_different_problems_never_share_a_file():
    twins = [solved(problem=f"k{k}", dataset=name, hash=str(k)) for k, name in enumerate(("a b", "a-b", "A b", "a/b"))]
    assert sum("bias" in name.lower() for name in {name.lower() for name in drawn(twins)}) == 4


def test_names_of_any_kind_can_be_drawn(tmp_path):
    records = [replace(solved(HOSTILE, f"p{k}", dataset=HOSTILE), hash=str(k)) for k in range(3)]
    for path in figures.write(Comparison.of(records), analysis(records), tmp_path):
        assert re.fullmatch(r"[\w.-]+", path.name)
        assert "<script" not in path.read_text()


def test_ticks_are_powers_of_ten_and_a_zero_is_called_zero():
    from matplotlib.figure import Figure

    ax = Figure().add_subplot()
    ax.plot([1.0, 2.0, 3.0], [1e-16, 1e-8, 1.0])
    canvas.logarithmic(ax, zero=1e-16)
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert names[0] == "0"
    assert set(names[1:]) <= {f"10{str(k).translate(canvas.POWERS)}" for k in range(-16, 1)}
