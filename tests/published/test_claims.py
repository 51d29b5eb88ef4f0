"""`marginbench claims`: printed numbers against what is proven, and what is said where they cannot be tested."""

import json

import pytest
import yaml

from marginbench.harness.cli import main
from marginbench.harness.config_files import CONF, names, texts
from marginbench.harness.errors import InputError
from marginbench.harness.published.answers import FAILS, HOLDS, UNTESTABLE, check, compared, predicted
from marginbench.harness.published.claim import Claim, Range, Statement
from marginbench.harness.references.library import Library, entries

FILES = dict(texts("claim", [CONF]))
OVERLAPPING = {"dataset": "overlapping", "options": {"n": 200, "d": 5, "seed": 1}}
"""Of which an optimum is stored, so that nothing has to be solved."""


def stored_optimum(name: str) -> float:
    problem, digest = next(entry.build() for entry in entries() if entry.name == name)
    found = Library().proven(problem, digest)
    assert found is not None
    return found.upper


def claim(**changes) -> dict:
    made = {
        "source": "a paper",
        "checked": "yes",
        "theirs": "ours",
        "data": OVERLAPPING,
        "problem": {"C": 1.0, "bias": "none"},
        "says": [{"what": "objective", "printed": "1.0"}],
    }
    return made | changes


@pytest.fixture
def asked(tmp_path, capsys):
    """Runs `claims` on claims of a test; the exit code, the answers and what was printed."""

    def run(**claims):
        for name, content in claims.items():
            path = tmp_path / "conf" / "claim" / f"{name}.yaml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(yaml.safe_dump(content))
        answers = tmp_path / "answers.json"
        own = ["--config-dir", str(tmp_path / "conf"), "--json", str(answers)]
        code = main(["claims", *claims, *own, f"data={tmp_path}"])
        found = json.loads(answers.read_text()) if answers.exists() else []
        return code, found, capsys.readouterr()

    return run


@pytest.mark.parametrize("name", FILES)
def test_every_claim_says_what_it_rests_on_and_asks_for_what_there_is(name):
    made = Claim.of(name, yaml.safe_load(FILES[name]))
    assert made.data["dataset"] in names("dataset", [CONF])
    check(made)
    assert all(len(text) > 20 for text in (made.source, made.checked, made.theirs))


@pytest.mark.parametrize(
    ("printed", "factor", "low", "high"),
    [("19.556", 1.0, 19.5555, 19.5565), ("878", 1.0, 877.5, 878.5), ("-58.018530", -1.0, 58.0185295, 58.0185305)],
)
def test_a_printed_number_stands_for_all_that_round_to_it(printed, factor, low, high):
    assert Statement("norm", printed, factor).stands_for == pytest.approx((low, high), abs=1e-12)


def test_a_number_holds_only_where_what_is_proven_is_narrower_than_its_digits():
    statement = Statement("norm", "19.556")
    assert compared(statement, Range(19.55576, 19.55577), "|w|")[0] == HOLDS
    assert compared(statement, Range(19.55541, 19.55543), "|w|")[0] == FAILS
    assert compared(statement, Range(19.5, 19.6), "|w|")[0] == UNTESTABLE


def test_objectives_are_held_against_the_proven_optimum(asked):
    optimum = stored_optimum("overlapping-1.0-none")
    says = [
        {"what": "objective", "printed": f"{optimum:.9f}"},
        {"what": "objective", "printed": f"{-optimum:.9f}", "factor": -1},
        {"what": "objective", "printed": f"{optimum * (1 + 1e-7):.9f}"},
    ]
    code, found, printed = asked(mine=claim(says=says))
    assert code == 0
    assert [answer["verdict"] for answer in found] == [HOLDS, HOLDS, FAILS]
    assert "1.0e-07 P* off" in found[2]["why"]
    assert printed.out.splitlines()[-1] == "3 numbers; holds: 2, does not hold: 1"


def test_other_data_and_missing_data_are_said_and_break_nothing(asked):
    code, found, _ = asked(
        other=claim(data={**OVERLAPPING, "digest": "0123456789abcdef"}),
        missing=claim(data={"dataset": "heart_scale", "get": "look there"}),
    )
    assert code == 0
    assert [answer["verdict"] for answer in found] == [UNTESTABLE, UNTESTABLE]
    assert "the claim is about 0123456789abcdef" in found[0]["why"]
    assert "marginbench data fetch heart_scale" in found[1]["why"]
    assert "look there" in found[1]["why"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nobody_said_so"], "claims nobody_said_so: there is no such claim; possible are"),
        (["problem.C=1"], "problem.C=1: the only option here is data=DIR"),
        (["--all"], "--all: no such option"),
    ],
)
def test_bad_words_are_refused_in_one_line(words, said, capsys):
    assert main(["claims", *words]) == 2
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.err.count("\n") == 1
    assert not printed.out


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"checked": ""}, "lacks checked"),
        ({"more": 1}, "needs exactly"),
        ({"data": {"digest": "0"}}, "names no dataset"),
        ({"says": [{"what": "objective"}]}, "needs what and printed"),
        ({"says": [{"what": "objective", "printed": 1.0}]}, "in quotes"),
        ({"says": [{"what": "objective", "printed": "one"}]}, "a number"),
    ],
)
def test_a_file_that_lacks_something_is_refused(changes, said):
    with pytest.raises(InputError, match=said):
        Claim.of("mine", claim(**changes))


def test_an_unknown_quantity_and_an_unknown_rule_are_bad_input(asked):
    code, _, printed = asked(mine=claim(says=[{"what": "beauty", "printed": "1"}]))
    assert code == 2
    assert "beauty: possible are objective" in printed.err
    code, _, printed = asked(mine=claim(problem={"C": "1/d", "bias": "none"}))
    assert code == 2
    assert "C=1/d: possible are a number, 1/n" in printed.err


def test_a_quantity_that_lacks_an_option_is_bad_input(asked):
    code, _, printed = asked(mine=claim(says=[{"what": "gap", "printed": "1"}]))
    assert code == 2
    assert "gap: needs method" in printed.err


def test_one_more_draw_is_predicted_as_student_does():
    """m = 5, mean 10, s = 1: the 0.995 quantile of t with 4 degrees of freedom is 4.6041."""
    found = predicted([10 + value / 2.5**0.5 for value in (-2, -1, 0, 1, 2)])
    assert found == pytest.approx((10 - 4.6041 * 1.2**0.5, 10 + 4.6041 * 1.2**0.5), abs=1e-4)


@pytest.mark.long
def test_what_is_measured_is_answered(asked):
    """A gap, a ratio of times and a cross-validation, of methods that run now."""
    method = ["method=liblinear", "solver.tolerances=[1e-6]"]
    says = [
        {"what": "gap", "printed": "1e-3", "method": method},
        {"what": "gap", "printed": "1e-15", "method": method},
        {"what": "time_ratio", "printed": "1", "within": 1e6, "slower": method, "faster": method},
        {"what": "cross_validation", "printed": "50", "folds": 5, "draws": 3},
        {"what": "test_accuracy", "printed": "12", "factor": 1},
    ]
    data = {**OVERLAPPING, "preprocess": {"test": 0.25}}
    code, found, _ = asked(mine=claim(data=data, problem={"C": "1/n", "bias": "none"}, says=says))
    assert code == 0
    assert [answer["verdict"] for answer in found] == [HOLDS, FAILS, HOLDS, FAILS, FAILS]


@pytest.mark.long
def test_a_method_that_fails_leaves_a_claim_unanswered(asked):
    says = [{"what": "gap", "printed": "1e-3", "method": ["method=libsvm"]}]
    code, found, _ = asked(mine=claim(says=says))
    assert code == 1
    assert found[0]["verdict"] == "not answered"
    assert "free bias" in found[0]["why"]
