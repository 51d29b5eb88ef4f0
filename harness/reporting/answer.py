"""The answer in words: who was fastest, by how much, how sure. `conditions` has the lines that stand below it.

Every number of a sentence is a field of a `Rank` or a `Pair`. What is not established is never called faster or slower.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from marginbench.harness.reporting.accuracy import accuracy_text
from marginbench.harness.reporting.conditions import count
from marginbench.harness.reporting.ranking import Rank
from marginbench.harness.reporting.ratios import Pair
from marginbench.harness.reporting.resampling import digits

CLOCK_WORDS = {"wall": "", "cpu": " by CPU time", "passes": " in passes"}


@dataclass(frozen=True)
class Sentence:
    method: str
    verdict: str
    """That of the pair: `slower`, `faster`, `no difference`, `not established`; or `never` reached."""
    text: str


@dataclass(frozen=True)
class Answer:
    headline: str
    sentences: tuple[Sentence, ...]
    """Of every other method, in the order of the ranking, against the one in front."""
    setting: str
    warnings: tuple[str, ...]

    @property
    def text(self) -> str:
        """All of it, a line each."""
        return "\n".join([self.headline, *(s.text for s in self.sentences), self.setting, *self.warnings])


def headline(accuracy: float | None, clock: str, problems: int, ranks: Sequence[Rank], why: str = "") -> str:
    """`why`: what stands against a comparison, where there is none."""
    to = "As asked" if accuracy is None else f"To {accuracy_text(accuracy)}"
    if not problems or not ranks:
        return f"{to}, nothing can be compared{f': {why}' if why else ''}."
    on = f"{to} on {count(problems, 'problem')}{CLOCK_WORDS[clock]}"
    lead = ranks[0]
    if not lead.reached:
        return f"{on}, no method reached it."
    if len(ranks) == 1:
        return f"{on}, {lead.method} reached it on {lead.reached}; no other method was asked them all."
    rival = max(ranks, key=lambda r: (r.fastest, -r.place))
    if rival.fastest == lead.fastest:
        equal = [rank.method for rank in ranks[1:] if rank.fastest == lead.fastest]
        return f"{on}, {_fastest(lead, problems)}{f', as often as {_joined(equal)}' if equal else ''}."
    more = lead.reached > rival.reached
    why = f"it got there on {_all_of(lead.reached, problems)}" if more else "its mean is the smallest"
    return f"{on}, {_fastest(rival, problems)}; {lead.method} ranks first: {why}."


def _fastest(rank: Rank, problems: int) -> str:
    if problems == 1:
        return f"{rank.method} was fastest"
    reached = "" if rank.reached == problems else f" and reached it on {rank.reached}"
    return f"{rank.method} was fastest on {_all_of(rank.fastest, problems)}{reached}"


def _joined(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


def _all_of(k: int, problems: int) -> str:
    return "all" if k == problems else str(k)


def sentences(problems: int, ranks: Sequence[Rank], pairs: Sequence[Pair]) -> tuple[Sentence, ...]:
    """`pairs`: every other method against the first of `ranks`."""
    found, by_name = [], {pair.a: pair for pair in pairs}
    never = [rank.method for rank in ranks[1:] if not rank.reached]
    for rank in ranks[1:]:
        if rank.reached and rank.method in by_name:
            pair = by_name[rank.method]
            found.append(Sentence(rank.method, pair.verdict, pair_sentence(pair, problems)))
    if never and ranks[0].reached:
        found.append(Sentence(", ".join(never), "never", f"{', '.join(never)} never reached it."))
    return tuple(found)


def pair_sentence(pair: Pair, problems: int) -> str:
    """`coordinate_descent took 2.4 times as long (0.98 to 6 over problems; 1.4 to 3 from timing): not established.`"""
    if pair.ratio is None:
        return f"{pair.a} reached it on {pair.only_a}, on none together with {pair.b}: not established."
    shared = "one problem" if pair.both == 1 else str(pair.both)
    on = "" if pair.both == problems else f" on the {shared} that both reached"
    over = "one data set" if pair.over_problems is None else f"{pair.over_problems} over problems"
    timing = "single runs" if pair.from_timing is None else f"{pair.from_timing} from timing"
    verdict = "established" if pair.established else pair.told if pair.verdict == "no difference" else pair.verdict
    times = digits(pair.ratio)
    long = "as long" if times == "1" else f"{times} times as long"
    return f"{pair.a} took {long}{on} ({over}; {timing}): {verdict}."
