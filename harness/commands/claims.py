"""marginbench claims [NAME...]: numbers that others published, each put to the test."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from textwrap import wrap

import yaml

from marginbench.harness import config_files
from marginbench.harness.commands.options import CONFIG_DIR, split_flags, user_folder
from marginbench.harness.compose import Composer
from marginbench.harness.errors import InputError
from marginbench.harness.files import write_atomically
from marginbench.harness.published.answers import FAILS, HOLDS, UNANSWERED, UNTESTABLE, Answer, answers, check
from marginbench.harness.published.claim import Claim
from marginbench.harness.published.desk import Desk
from marginbench.harness.running.isolation import Isolation

WIDTH = 118
VERDICTS = (HOLDS, FAILS, UNTESTABLE, UNANSWERED)


def main(arguments: Sequence[str]) -> int:
    flags, words = split_flags(arguments, {"--json": "FILE", **CONFIG_DIR})
    folder = user_folder(flags)
    chosen = _chosen([word for word in words if "=" not in word], folder)
    options = [word for word in words if "=" in word]
    other = next((word for word in options if not word.startswith("data=")), None)
    if other is not None:
        raise InputError(f"{other}: the only option here is data=DIR")
    data = options[-1].removeprefix("data=") if options else ""
    found: list[Answer] = []
    with Isolation() as isolation:
        desk = Desk(Composer("run", folder), isolation, data)
        for claim in chosen:
            print(f"{claim.name}: {claim.source}", flush=True)
            for answer in answers(claim, desk):
                print(_text(answer), flush=True)
                found.append(answer)
    if "--json" in flags:
        write_atomically(Path(flags["--json"]), json.dumps([asdict(answer) for answer in found], indent=2) + "\n")
    counts = Counter(answer.verdict for answer in found)
    told = ", ".join(f"{verdict}: {counts[verdict]}" for verdict in VERDICTS if counts[verdict])
    print(f"{len(found)} numbers; {told}")
    return int(counts[UNANSWERED] > 0)


def _chosen(names: Sequence[str], folder: Path | None) -> list[Claim]:
    """The claims of these names, or all; every file is checked before anything runs."""
    texts = dict(config_files.texts("claim", config_files.folders(folder)))
    for name in names:
        if name not in texts:
            raise InputError(f"claims {name}: there is no such claim; possible are {', '.join(texts)}")
    found = [Claim.of(name, yaml.safe_load(texts[name]) or {}) for name in names or texts]
    for claim in found:
        check(claim)
    return found


def _text(answer: Answer) -> str:
    """A number and its verdict on one line, the reason below."""
    below = wrap(answer.why, WIDTH - 6, break_on_hyphens=False)
    return "\n".join([f"  {answer.statement:32s}{answer.verdict}", *(f"      {line}" for line in below)])
