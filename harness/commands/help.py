"""marginbench help [VERB]: what there is to type. The options come from the configurations and their comments."""

from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap

from marginbench.harness.commands.catalogue import Option, defaults, options
from marginbench.harness.config_files import CONF, names
from marginbench.harness.errors import InputError

USAGE = """marginbench: certified benchmarks of max-margin solvers

usage: marginbench VERB [key=value ...]

  run         one cell, or with lists (key=a,b) or experiment=NAME a sweep
  runs        [DIR]: the runs in a results folder, with date, cells, state and size
  status      [RUN]: how far a run is, here or on a cluster: done, running, waiting, lost
  collect     [RUN]: the report of a run that was submitted and left
  report      PATH|FILE.zip...: tables, figures and report again from stored records, in a new folder
  compare     A B: what changed between two runs of the same cells; --fail-if "slower 1.2" sets the exit code
  validate    solver=NAME|FILE.py:Class: a solver against the reference problems
  agreement   PATH: the rows of a run that disagree with the proven optimum, and what is known of them
  choice      PATH: whether `auto` chose the better of two solvers in a run of experiment=choice, and a new fit
  reference   compute and prove an optimum; --check re-proves the stored ones
  claims      [NAME...]: numbers that others published, each put to the test
  reproduce   PATH|FILE.zip: run a stored report's cells again and compare
  bundle      PATH: one file with all that is needed to read a run and to run it again
  show        CELL: one record in full
  list        [dataset|formulation|solver|method|experiment|launcher [NAME]|pairs|compat]: what there is
  data        [fetch|verify|remove NAME...]: published data sets: which there are, which are here
  doctor      what this machine can measure and enforce
  help        [VERB]: every option with its default and meaning
  completion  bash|zsh|fish: a script that completes all of this on the Tab key
  work        RUN K: a worker for one chunk of a run; launchers start it

--version prints the version. --config-dir DIR (or -cd DIR) adds a folder of your own configurations; DIR and its parent
are importable.

examples
  marginbench run experiment=comparison
  marginbench run method=pegasos,coordinate_descent dataset=breast_cancer problem.C=0.1,1,10
  marginbench run method=coordinate_descent dataset=file dataset.path=heart_scale problem.bias=none
"""

FLAGS = """flags
  --config-dir DIR, -cd DIR     a folder of your own configurations, in front of ours
  --cfg job [--resolve] [--package KEY]
                                print the configuration of every cell as YAML and run nothing
  --info defaults|searchpath    print which files are merged, or where they are looked for
  -m, --multirun                accepted; lists are a sweep anyway
"""

LISTS = """lists
  key=a,b   choice(a,b)   range(1,4)   glob(*)   sort(3,1,2)     the product of all lists is run
  'zip(problem.C=1,2; budget.gap=1e-3,1e-6)'     lists that go together, step by step
  'when(method=pegasos; solver.batch=1,4)'       a list for the cells of one choice only
  An option that only some choices of a sweep have is set where it exists.
  experiment=a,b runs each with its own lists and settings. What you give replaces the experiment's list of that option.
  +key=value adds a key, ~key deletes one. In an experiment's YAML the lists stand under hydra.sweeper.params, with
  `zip: problem.C=1,2; ...` and `when: method=pegasos; ...` for the two forms above.
"""

SOLVER = """a solver of your own
  solver=FILE.py:Class, solver=package.module.Class; solver.FIELD=value sets a field of the class
"""

VERB_TEXTS = {
    "run": "usage: marginbench run [key=value ...]\n\n"
    "One cell, or with lists a sweep: each cell in a process of its own.",
    "validate": "usage: marginbench validate solver=NAME|FILE.py:Class [key=value ...]\n\n"
    "A solver against the reference problems and its contracts. --json FILE and --markdown FILE write the scorecard.",
    "report": "usage: marginbench report PATH|FILE.zip... [--out DIR] [figures=none|svg|all] [table=short|full]\n\n"
    "Tables, figures and report again from stored records. Several folders are merged. Nothing is written into them:\n"
    "the report and a copy of the records go to DIR (default: a new folder below results/report). figures=all draws\n"
    "every problem, also as PDF and PNG, 7 and 3.5 inches wide; svg (default) 7 inches wide, of the first 12 problems.",
    "compare": "usage: marginbench compare A B [--fail-if CONDITIONS] [--accuracy 1e-6]\n"
    "       [--clock wall|cpu|passes] [--json FILE] [--results DIR]\n\n"
    "What changed from A to B in verdict, value and time: two runs of the same cells, or two versions of a solver.\n"
    "A and B are folders, bundles, names of runs below DIR (default: results) or `latest`; A:METHOD takes one method\n"
    "of a run. Cells are the same when the same was asked, whatever code answered. Times are those of what was\n"
    "asked, or to the accuracy of --accuracy; in passes where A and B ran on different machines.\n"
    "--fail-if makes the exit code 1 when one of its conditions, with commas between them, holds:\n"
    "  slower R       a method takes more than R times as long over all its problems, at the lower end of the\n"
    "                 interval from timing (of single runs: as measured)\n"
    "  cell slower R  any cell does, at a level that holds for all cells together\n"
    "  wrong          a cell became wrong, invalid, failed or crashed, or contradicts what A proved\n"
    "  unsolved       a cell was solved in A and is not in B\n"
    "  missing        a cell of A is not in B",
    "runs": "usage: marginbench runs [DIR]\n\n"
    "The runs below DIR (default: results) with date, cells, state and size. The state is `complete`, `interrupted`\n"
    "(Ctrl-C, SIGTERM, SIGHUP) or `unfinished` (ended from outside, or still running).",
    "status": "usage: marginbench status [RUN]\n\n"
    "Cells of a run (default: results/latest) that are done, running (where, and for how long), waiting, or lost with\n"
    "their worker: from the store, the logs of the workers and, on Slurm, the queue.",
    "collect": "usage: marginbench collect [RUN]\n\n"
    "Tables, figures and report of a run (default: results/latest) that was submitted with launcher.wait=false, or\n"
    "whose driver is gone. Before all cells are done it reports what there is; the exit code is then 1.",
    "work": "usage: marginbench work RUN K\n\n"
    "Run those cells of chunk K of a run that have no record, and store them. Launchers start such workers on the\n"
    "machines of a cluster; with `-` in place of K, chunks are read from the standard input, one a line.",
    "reproduce": "usage: marginbench reproduce PATH|FILE.zip [NAME=FILE ...] [data=DIR] [FILE.py:Class ...]\n\n"
    "Run the cells of a stored report again and say, claim by claim, which verdicts, values and rankings hold.\n"
    "Data files are given by the name of their data set, or by their folder (data=DIR, or MARGINBENCH_DATA); their\n"
    "content has to be that of then. Nothing from the results is executed: name the files of solvers that are not\n"
    "part of marginbench, or add a folder of configurations (--config-dir DIR). @FILE.py:Class is the source that the\n"
    "results bring along. limits.seconds and limits.memory_mb are yours; those of the record apply where they are\n"
    "lower. The new results go below --out DIR (default: results).",
    "bundle": "usage: marginbench bundle PATH [--out FILE.zip] [--include-data]\n\n"
    "One file that a colleague or an archive can take: records, configurations, references, report, versions, digests\n"
    "and sources of data, the source of own solvers, and a README with the one command that reproduces it.\n"
    "--include-data adds the arrays of data files: do so where their licences allow it. `reproduce` and `report` read\n"
    "the file as it is.",
    "show": "usage: marginbench show CELL [FOLDER]\n\n"
    "One record in full, as JSON. CELL is its file, or the beginning of its hash, which is looked for below FOLDER\n"
    "(default: results).",
    "reference": "usage: marginbench reference [NAME ...] [--check] [key=value ...]\n\n"
    "Compute and prove optima of the reference problems that have none. --check proves the stored ones again from the\n"
    "data, with no solver. With options of `run` (dataset=, problem.C=, ...) it is about problems of your own.",
    "claims": "usage: marginbench claims [NAME ...] [data=DIR] [--json FILE]\n\n"
    "Numbers that papers, manuals and repositories print, each put to the test: `holds`, `does not hold` with what\n"
    "is proven instead, or `cannot be tested here` with where to get the data. A number about an optimum is compared\n"
    "with proven bounds of it; a ratio of times is measured in one run. Without a NAME all of them; data files are in\n"
    "DIR (default: MARGINBENCH_DATA, or data). Claims are the files of conf/claim; --config-dir DIR adds your own.",
    "agreement": "usage: marginbench agreement PATH|FILE.zip\n\n"
    "Which rows of a run (`run experiment=agreement`) disagree with the proven optimum: a claim that does not hold,\n"
    "an answer that is no point, and of methods that promise 1e-6 all that ended above it. A row is known to disagree\n"
    "where the YAML of its solver says why (`# known to be STATUS: reason`). Exit code 1 where one is not.",
    "choice": "usage: marginbench choice PATH|FILE.zip\n\n"
    "How far `auto` was from the better of coordinate descent and Newton on the problems of a run\n"
    "(`run experiment=choice`): on those that its choice is fitted on, and on the others. And a fit of this run.",
    "list": "usage: marginbench list [dataset|formulation|solver|method|experiment|launcher [NAME ...]]\n"
    "       marginbench list pairs|compat\n\n"
    "What there is. With a NAME: one choice with every option, its default and its meaning. `pairs`: which solver\n"
    "takes which formulation, and with which bias. `compat`: with which loss, too.",
    "data": "usage: marginbench data [NAME ...] [data=DIR]\n"
    "       marginbench data fetch|verify|remove NAME... [data=DIR]\n\n"
    "The data sets of the LIBSVM site and of openml.org (openml-NUMBER): without a NAME all of them, with one its\n"
    "address, sizes, checksum, licence and citation. Files are in DIR (default: MARGINBENCH_DATA, or data).\n"
    "fetch downloads what is not there; the same command goes on where one was interrupted. --from ADDRESS takes the\n"
    "files from a mirror, --allow HOST permits a redirect to a host not listed, --test gets the test file, too\n"
    "(for preprocess.test=published), --parquet is for OpenML.\n"
    "verify compares files with the catalogue's checksum and with the one that was kept when they were fetched.\n"
    "remove deletes what was fetched. `run` never fetches by itself unless fetch=true is given.",
    "doctor": "usage: marginbench doctor\n\n"
    "What this machine can measure and enforce: threads, clocks, noise, memory, limits.",
    "help": "usage: marginbench help [VERB]",
    "completion": "usage: marginbench completion bash|zsh|fish\n\n"
    "Prints a script for your shell. bash: put `source <(marginbench completion bash)` into ~/.bashrc.\n"
    "zsh: `source <(marginbench completion zsh)` into ~/.zshrc, after compinit.\n"
    "fish: `marginbench completion fish > ~/.config/fish/completions/marginbench.fish`.",
}


def main(arguments: Sequence[str]) -> int:
    if len(arguments) > 1 or any(word not in VERB_TEXTS for word in arguments):
        raise InputError(f"help {' '.join(arguments)}: possible is one of {', '.join(VERB_TEXTS)}")
    print(about(arguments[0]) if arguments else USAGE, end="")
    return 0


def about(verb: str) -> str:
    """The help of one verb; options and defaults of `run` and `validate` from their configurations."""
    parts = [VERB_TEXTS[verb] + "\n"]
    if verb in ("run", "validate"):
        text = (CONF / f"{verb}.yaml").read_text()
        parts += [_groups(defaults(text)), f"options\n{table(options(text))}\n", SOLVER]
    if verb == "run":
        parts += [LISTS, FLAGS]
    return "\n".join(parts)


def _groups(groups: Sequence[Option], places: Sequence[Path] = (CONF,)) -> str:
    rows = [g._replace(meaning=f"{g.meaning} ({len(names(g.key, places))} choices)") for g in groups]
    return f"choices (`marginbench list dataset` and so on)\n{table(rows)}\n"


def table(rows: Sequence[Option], width: int = 118) -> str:
    """Key, default and meaning in columns; long meanings go on below."""
    if not rows:
        return "  none"
    key = max(len(row.key) for row in rows)
    default = max((len(row.default) for row in rows if len(row.default) <= 24), default=0)
    lines = []
    for row in rows:
        start = f"  {row.key.ljust(key)}  {row.default.ljust(default)}  "
        below = " " * (key + default + 6)
        said = wrap(row.meaning, max(40, width - len(below))) or [""]
        if len(row.default) > default:
            lines += [start.rstrip(), *(below + line for line in said)]
        else:
            lines += [start + said[0], *(below + line for line in said[1:])]
    return "\n".join(line.rstrip() for line in lines)
