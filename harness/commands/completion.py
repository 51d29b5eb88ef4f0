"""marginbench completion SHELL: a script that completes verbs, choices, options and their values on the Tab key.

The scripts ask `marginbench completion answer -- WORDS`, where the last word is the one under the cursor, and get one
whole word per line. A word that ends in `=` goes on.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from marginbench.datasets.catalogue import catalogue
from marginbench.harness.cli import VERBS, WITH_VALUE
from marginbench.harness.commands.catalogue import Option, defaults, explained, options
from marginbench.harness.commands.listing import GROUPS, chosen
from marginbench.harness.config_files import CONF, file_of, folders, names
from marginbench.harness.errors import InputError

BASH = r"""_marginbench() {
    local line=${COMP_LINE:0:COMP_POINT} words word
    read -ra words <<< "$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    word=${words[-1]}
    mapfile -t COMPREPLY < <("${words[0]}" completion answer -- "${words[@]:1}" 2>/dev/null)
    # bash breaks words at = and : and wants only what follows the last of them
    local kept=${word%"${word##*[=:]}"}
    [[ -n $kept ]] && COMPREPLY=("${COMPREPLY[@]#"$kept"}")
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null
}
complete -o default -F _marginbench marginbench
"""

ZSH = r"""_marginbench() {
    local -a found
    found=("${(@f)$("${words[1]}" completion answer -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n ${found[1]} ]]; then
        compadd -S '' -- "${found[@]}"
    else
        compset -P '*='
        _files
    fi
}
compdef _marginbench marginbench
"""

FISH = r"""function __marginbench
    set -l words (commandline -opc) (commandline -ct)
    $words[1] completion answer -- $words[2..-1] 2>/dev/null
end
complete -c marginbench -n 'count (__marginbench) >/dev/null' -f -a '(__marginbench)'
"""

SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}

FLAGS = {
    "run": ("--config-dir", "--cfg", "--resolve", "--package", "--info", "--multirun"),
    "validate": ("--config-dir", "--json", "--markdown"),
    "report": ("--out",),
    "compare": ("--fail-if", "--accuracy", "--clock", "--json", "--results"),
    "reproduce": ("--out", "--config-dir"),
    "bundle": ("--out", "--include-data"),
    "reference": ("--check", "--config-dir"),
    "claims": ("--json", "--config-dir"),
    "list": ("--config-dir",),
    "data": ("--from", "--allow", "--test", "--parquet"),
}
ACTIONS = ("fetch", "list", "remove", "verify")
VALUES = {
    "--clock": ["wall", "cpu", "passes"],
    "--cfg": ["job"],
    "-c": ["job"],
    "--info": ["defaults", "searchpath"],
    "-i": ["defaults", "searchpath"],
}
"""Of flags whose values are known."""


def main(arguments: Sequence[str]) -> int:
    if arguments[:2] == ["answer", "--"]:
        for text in answer(arguments[2:]):
            print(text)
        return 0
    if len(arguments) != 1 or arguments[0] not in SCRIPTS:
        raise InputError(f"completion {' '.join(arguments)}: possible is one of {', '.join(SCRIPTS)}")
    print(SCRIPTS[arguments[0]], end="")
    return 0


def answer(words: Sequence[str]) -> list[str]:
    """Every word that the last one may become, given those before it."""
    *before, word = words or [""]
    if before and before[-1] in WITH_VALUE:
        return [value for value in VALUES.get(before[-1], []) if value.startswith(word)]
    verb = next((given for given in before if given in VERBS), "" if not any("=" in w for w in before) else "run")
    places = folders(_user_folder(before))
    if word.startswith("-"):
        found: Iterator[str] | list[str] = [*FLAGS.get(verb or "run", ()), "--help"]
    elif verb == "":
        found = [*VERBS, *_overrides("run", before, word, places)] if word else list(VERBS)
    elif verb in ("run", "validate", "reference"):
        found = _overrides("validate" if verb == "validate" else "run", before, word, places)
    elif verb == "list":
        group = next((given.removesuffix("s") for given in before if given.removesuffix("s") in GROUPS), None)
        found = names(group, places) if group else [*GROUPS, "pairs", "compat"]
    elif verb == "claims":
        found = [*names("claim", places), "data="]
    elif verb == "data":
        found = [*(() if before[-1:] != ["data"] else ACTIONS), *catalogue(), "data="]
    else:
        found = {"help": list(VERBS), "completion": list(SCRIPTS)}.get(verb, [])
    return sorted({text for text in found if text.startswith(word)})


def _overrides(verb: str, before: Sequence[str], word: str, places: Sequence[Path]) -> Iterator[str]:
    text = (CONF / f"{verb}.yaml").read_text()
    groups = defaults(text)
    key, equals, given = word.partition("=")
    known = [*options(text), *_options_of_choices(groups, before, places)]
    if not equals:
        yield from (f"{group.key}=" for group in groups)
        yield from (f"{option.key}=" for option in known)
        return
    values = names(key, places) if key in {group.key for group in groups} else []
    values = values or next((option.values() for option in known if option.key == key), [])
    done = given.rpartition(",")[0]
    yield from (f"{key}={done + ',' if done else ''}{value}" for value in values if value not in done.split(","))


def _options_of_choices(groups: Sequence[Option], before: Sequence[str], places: Sequence[Path]) -> Iterator[Option]:
    """The options of everything that is chosen, by default or in the words before."""
    choices = {group.key: [group.default] for group in groups}
    given = [word.lstrip("+").partition("=") for word in before if "=" in word]
    for key, _, value in sorted(given, key=lambda entry: entry[0] != "method"):  # a method first: others overrule it
        if key in choices:
            choices[key] = value.split(",")
        if key == "method":
            files = [file_of("method", name, places) for name in choices[key]]
            pairs = [chosen(file.read_text()) for file in files if file is not None]
            for group in ("formulation", "solver"):
                choices[group] = [pair[group] for pair in pairs if group in pair] or choices[group]
    for group in ("dataset", "formulation", "solver", "launcher"):
        for name in choices.get(group, []):
            yield from explained(group, name, places)


def _user_folder(before: Sequence[str]) -> Path | None:
    for place, word in enumerate(before):
        flag, _, value = word.partition("=")
        if flag in ("--config-dir", "-cd"):
            folder = Path(value or " ".join(before[place + 1 : place + 2]))
            return folder if folder.is_dir() else None
    return None
