"""Keyboard and screen reader: axe-core finds nothing serious, in light and dark, on a large and a small screen."""

import pytest

WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 390, "height": 800}


@pytest.mark.parametrize(
    ("visit", "name"),
    [
        ({"color_scheme": "light", "viewport": WIDE}, "small"),
        ({"color_scheme": "dark", "viewport": WIDE}, "small"),
        ({"color_scheme": "light", "viewport": NARROW}, "sweep"),
        ({"color_scheme": "dark", "viewport": WIDE}, "sweep"),
        ({"color_scheme": "light", "viewport": WIDE}, "many"),
    ],
    indirect=["visit"],
)
def test_axe_finds_nothing_serious(visit, axe, name, request):
    page = visit.open(request.getfixturevalue(name))
    page.evaluate("document.querySelectorAll('details').forEach((node) => { node.open = true; })")
    page.wait_for_timeout(300)
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
    grave = {
        v["id"]: [n["html"][:150] for n in v["nodes"][:3]] for v in found if v["impact"] in ("serious", "critical")
    }
    assert grave == {}
