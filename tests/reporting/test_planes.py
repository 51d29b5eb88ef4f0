"""Problems in the plane: what is drawn is what the numbers say."""

import json
import math
from dataclasses import replace

import matplotlib
import numpy as np
import pytest
import yaml
from sample_records import HOSTILE, failure, solved

from marginbench.harness.commands.pairs import target
from marginbench.harness.config_files import CONF
from marginbench.harness.records.points import Points, write_points
from marginbench.harness.reporting import canvas, geometry, page_planes, palette, plane_figures, report
from marginbench.harness.reporting.comparison import Comparison
from marginbench.harness.reporting.planes import plain, planes

DIGEST = "0123456789abcdef"
X = np.array([[2.0, 0.0], [1.0, 1.0], [0.5, -1.0], [-1.0, 0.5], [-2.0, -1.0], [-3.0, 1.0]])
Y = np.array([1.0, 1.0, -1.0, -1.0, -1.0, -1.0])


def lesson(formulation):
    """As a record carries what its formulation declares."""
    path = CONF / "formulation" / f"{formulation}.yaml"
    return {"lesson": list(target(yaml.safe_load(path.read_text())).lesson)} if path.exists() else {}


def answer(method="primal_qp", C=1.0, w=(1.0, 0.0), b=0.0, **changes):
    way = [{"iteration": k, "seconds": 0.1 * k, "w1": k / 4, "w2": 1.0 - k / 4, "b": 0.0} for k in range(1, 5)]
    way = [{name: v for name, v in e.items() if name != "w2" or len(w) == 2} for e in way]
    info = {"w": list(w), "b": b, "w_norm": math.hypot(*w)} | lesson(method)
    r = solved(method, f"{DIGEST}-C{C}-free", C=C, d=len(w), n=6, info=info, curve=way, hash=f"{method}{C}")
    return replace(r, **({"formulation": method} | changes))


def made(tmp_path, records, X=X, y=Y):
    write_points(tmp_path, DIGEST, Points(X, y, len(y)))
    return planes(Comparison.of(records), tmp_path)


def test_rows_are_told_by_where_they_stand_to_the_hyperplane(tmp_path):
    (plane,) = made(tmp_path, [answer()])
    (found,) = plane.answers
    assert found.kinds == ".mwm.."  # f = x1: margins 2, 1, -0.5, 1, 2, 3
    assert found.found == "Half width 1; 2 rows on the margin, 0 inside, 1 on the wrong side."
    assert found.lesson == "Rows may be inside the margin, at a price C for each unit of slack."
    assert {x for (x, _) in found.line} == {0.0}
    assert sorted({x for edge in found.edges for x, _ in edge}) == [-1.0, 1.0]
    assert len(found.iterates) == 4
    assert found.weights[-1] == (1.0, 0.0)


def test_the_frame_is_square_and_holds_all_rows(tmp_path):
    (plane,) = made(tmp_path, [answer()])
    left, right, bottom, top = plane.frame
    assert right - left == pytest.approx(top - bottom)
    assert all(left < x < right and bottom < y < top for x, y in plane.rows)


def test_where_only_the_direction_counts_the_band_reaches_to_the_nearest_row(tmp_path):
    separable = np.where(X[:, 0] > 0, 1.0, -1.0)
    (plane,) = made(tmp_path, [answer("hard_primal_qp", math.inf, (7.0, 0.0), margin=0.5)], y=separable)
    (found,) = plane.answers
    assert found.kinds == "..m..."
    assert sorted({round(x, 9) for edge in found.edges for x, _ in edge}) == [-0.5, 0.5]
    (mixed,) = made(tmp_path, [answer("perceptron", math.inf, (1.0, 0.0), margin=None)])
    assert mixed.answers[0].edges == mixed.answers[0].band == []
    assert mixed.answers[0].found == "Not separated: 1 row on the wrong side."


def test_with_one_feature_f_is_drawn_over_x(tmp_path):
    (plane,) = made(tmp_path, [answer(w=(2.0,), b=1.0)], X=X[:, :1])
    (found,) = plane.answers
    assert plane.axes == ("x", "f(x)")
    assert {x for x, _ in found.line} == {-0.5}
    for x, f in found.slope:
        assert f == pytest.approx(2.0 * x + 1.0)
    assert all(abs(y - label) <= 0.25 for (_, y), label in zip(plane.rows, plane.labels, strict=True))


def test_the_order_is_that_of_a_course_and_C_grows(tmp_path):
    names = ["pegasos", "perceptron", "own_formulation", "dual_qp", "primal_qp"]
    runs = [answer(name, C, gap=1e-9) for name in names for C in (0.1, 1.0)]
    found = made(tmp_path, [*runs, failure("infeasible", "hard_primal_qp", f"{DIGEST}-Cinf", C=math.inf, d=2)])
    assert [a.label for a in found[0].answers] == ["hard_primal_qp"]
    assert found[0].answers[0].found == "Proven: no hyperplane separates these rows."
    assert [a.label for a in found[1].answers] == ["perceptron", "primal_qp", "pegasos", "dual_qp", "own_formulation"]
    assert [a.label for a in found[-1].answers] == ["C = 0.1", "C = 1"]


def test_a_plane_is_plain_data_and_can_be_drawn(tmp_path):
    found = made(tmp_path, [answer(), answer("pegasos"), answer(C=10.0, gap=1e-9)])
    assert json.loads(json.dumps([plain(plane) for plane in found], allow_nan=False))
    with matplotlib.rc_context(canvas.LOOK):
        drawn = dict(plane_figures.drawn(found, palette.looks(["primal_qp", "pegasos"])))
    assert list(drawn)[:2] == ["plane_01", "plane_01_path"]
    assert [figure.get_figwidth() for figure in drawn.values()] == [7.0, 3.5, 7.0, 3.5, 7.0]


def test_the_page_has_the_pictures_without_any_script(tmp_path):
    """The rows once, and a picture that refers to them for each method; names are text."""
    made(tmp_path, [answer(), answer(HOSTILE)])
    report.write([answer(), answer(HOSTILE)], tmp_path, "t", "c", figures="none")
    text = (tmp_path / "report.html").read_text()
    assert text.count('<g id="rows-1">') == 1
    assert text.count('<use href="#rows-1"/>') == 2
    assert "Rows may be inside the margin" in text
    assert HOSTILE[:20] not in text
    far = math.hypot(*(a - b for a, b in zip(page_planes._at((1.0, 1.0), (0, 2, 0, 2)), (120.0, 120.0), strict=True)))
    assert far == 0.0  # the middle of the frame is the middle of the picture


def test_a_page_draws_only_so_many_pictures(tmp_path):
    found = made(tmp_path, [answer(f"own{k}") for k in range(page_planes.MOST + 1)])
    assert page_planes.pictures(found, {}) == []
    (few,) = page_planes.pictures(made(tmp_path, [answer(f"own{k}") for k in range(3)]), {})
    assert [one["label"] for one in few["answers"]] == ["own0", "own1", "own2"]
    assert few["ways"] is None  # no look, no line


def test_without_rows_or_with_many_features_there_is_no_picture(tmp_path):
    assert planes(Comparison.of([answer()]), tmp_path) == []
    assert made(tmp_path, [replace(answer(), d=3)]) == []
    assert made(tmp_path, [replace(answer(), info={"w": ["x", None], "b": 0.0})]) == []


@pytest.mark.parametrize("seed", range(20))
def test_segments_lie_on_their_line_and_end_at_the_frame(seed):
    rng = np.random.default_rng(seed)
    w, b, frame = tuple(rng.normal(size=2)), float(rng.normal()), (-1.0, 2.0, -2.0, 1.0)
    found = geometry.segment(w, b, frame)
    inside = geometry.clipped(w, b, 0.3, frame)
    if found is not None:
        for x, y in found:
            assert w[0] * x + w[1] * y + b == pytest.approx(0.0, abs=1e-9)
            assert any(abs(v - edge) < 1e-9 for v, edge in ((x, -1.0), (x, 2.0), (y, -2.0), (y, 1.0)))
    for x, y in inside:
        assert abs(w[0] * x + w[1] * y + b) <= 0.3 + 1e-9
        assert -1.0 <= x <= 2.0
        assert -2.0 <= y <= 1.0
