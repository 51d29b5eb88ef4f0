"""Colours of the terminal mean a status: the word in a solver's message has none."""

from sample_records import a_run, failure, solved
from timed_records import timed

from marginbench.harness.commands.colours import spans
from marginbench.harness.records.status import STATUSES, TONES
from marginbench.harness.reporting.analysis import analysis
from marginbench.harness.reporting.conclusion import conclusion
from marginbench.harness.reporting.terminal import terminal

SAYS = "infeasible by 2e-3, failed: the answer was not solved"


def painted(text: str) -> list[tuple[str, str]]:
    """(word, the line it stands in) of everything that has a colour."""
    lines = [text[text.rfind("\n", 0, a) + 1 :].split("\n")[0] for a, _, _ in spans(text)]
    return list(zip([text[a:b] for a, b, _ in spans(text)], lines, strict=True))


def test_of_a_row_the_status_is_painted_and_its_message_is_not():
    records = [solved("m", "p"), failure("inaccurate", "timeout", "p", hash="i", message=SAYS)]
    for width in (60, 110, 200):  # the message below the line, and beside it
        text = terminal(records, width=width)
        assert SAYS.split()[0] in text
        assert sorted(word for word, _ in painted(text)) == ["inaccurate", "solved"]


def test_several_statuses_of_a_cell_are_all_painted():
    runs = [solved("m", "p", repeat=k, hash=f"{k}") for k in range(2)]
    text = terminal([*runs, failure("timeout", "m", "p", repeat=2, hash="2", cell=runs[0].cell)])
    assert [word for word, _ in painted(text)] == ["solved", "timeout"]


def test_of_a_failure_the_first_word_is_painted():
    records = [timed(m, "d", 0.1) for m in ("a", "wrong")]
    text = conclusion(analysis([*records, failure("failed", "x", message=SAYS)]), 60)
    assert [word for word, _ in painted(text) if word in STATUSES] == ["failed"]
    assert "wrong" in text  # a method of that name


def test_every_status_has_its_colour_in_the_last_count():
    line = "24 cells: " + ", ".join(f"2 {name}" for name in STATUSES)
    assert [(line[a:b], colour) for a, b, colour in spans(line)] == [(s.name, TONES[s.tone]) for s in STATUSES.values()]
    assert painted(f"{line} more") == []


def test_warnings_are_painted_and_what_they_say_is_not():
    assert painted("warning: Wrong: 2 runs failed") == [("warning:", "warning: Wrong: 2 runs failed")]


def test_a_status_stands_in_the_table_of_paths_where_a_run_did_not_succeed():
    text = "path of C    cold\n-----------  -------\ntimeout, x   timeout\n             1.2 s"
    assert painted(text) == [("timeout", "timeout, x   timeout")]


def test_everything_that_a_run_prints_can_be_painted():
    records = a_run(3)
    words = [word for word, _ in painted(terminal(records))]
    assert len(words) >= len({(r.method, r.problem) for r in records})
