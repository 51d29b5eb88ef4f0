"""One configuration from overrides, as Hydra composes it, and fast enough for every cell of a sweep.

Hydra takes 0.1 s to compose. So choices that bring others along (method, experiment) are composed by Hydra once per
combination; a choice that is a plain file (dataset, solver) and plain values are set on copies. That comes to the same:
`tests/compose/test_composer.py` compares the two.
"""

from collections.abc import Sequence
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from marginbench.harness import config_files
from marginbench.harness.compose.config_file import ConfigFile, read_file, with_parents
from marginbench.harness.compose.data import Data, Resolution, one_line
from marginbench.harness.compose.hydra_loader import HydraLoader
from marginbench.harness.compose.overrides import NoSuchOption, apply, parse
from marginbench.harness.errors import InputError
from marginbench.harness.solver_spec import is_class, solver_node

HYDRA_OPTIONS = {
    "hydra/launcher": "where cells are run is said by launcher=local, launcher=slurm or launcher=dask",
    "hydra.launcher": "where cells are run is said by launcher=local, launcher=slurm or launcher=dask",
    "hydra/sweeper": "marginbench runs lists and their products; there is no other sweeper",
    "hydra.sweeper": "of hydra.sweeper only params has a meaning here, as in hydra.sweeper.params.KEY=LIST",
    "hydra.searchpath": "a folder of your own configurations is added by --config-dir DIR",
    "hydra.run": "results go below the folder out=DIR",
    "hydra.sweep": "results go below the folder out=DIR",
    "hydra.": "marginbench uses Hydra to compose only, so that this has no meaning here",
}
"""Beginnings of Hydra's own options, and why each is refused."""

GLOBAL = ("experiment", "method")
"""Groups whose files set options everywhere."""


class Composed(NamedTuple):
    """A configuration without Hydra's own part, not interpolated; the choices made; the sweep of an experiment."""

    config: Data
    choices: dict[str, Any]
    params: dict[str, str]


class Composer:
    """Composes configurations of one verb from conf/ and, in front of it, a folder of the user's own."""

    def __init__(self, verb: str, config_dir: Path | None = None) -> None:
        self.verb = verb
        self.places = tuple(config_files.folders(config_dir))
        self.loader = HydraLoader(config_dir)
        self._composed = lru_cache(maxsize=None)(self._compose)
        self.names = lru_cache(maxsize=None)(self._names)
        self.is_group = lru_cache(maxsize=None)(self._is_group)

    def config(self, overrides: Sequence[str]) -> dict[str, Any]:
        """The configuration for overrides without lists, as plain data with the choices under `choices`."""
        return plain(self.build(overrides))

    def part(self, group: str, name: str, overrides: Sequence[str] = ()) -> dict[str, Any] | None:
        """One choice of a group alone, as plain data; None where there is no such choice."""
        return self.config([f"{group}={name}", *overrides])[group] if name in self.names(group) else None

    def build(self, overrides: Sequence[str], absent: list[NoSuchOption] | None = None) -> Composed:
        """The configuration before interpolation. Options it does not have go to `absent`, if that is given."""
        parsed = [parse(text) for text in overrides]
        for o in parsed:
            self.check(o)
        base, by_hand = self._base(parsed)
        config, choices = deepcopy(base.config), dict(base.choices)
        for o in by_hand:
            group, name = o.key_or_group, str(o.value())
            file = read_file(group, name, self.places)
            config[group] = deepcopy(file.config) if file else solver_node(name, *_limits(config, parsed))
            choices[group] = name
        self._make_room(config, choices, parsed)
        for o in parsed:
            if not self.is_choice(o):
                try:
                    apply(config, o)
                except NoSuchOption as error:
                    if absent is None:
                        raise
                    absent.append(error)
        return Composed(config, choices, base.params)

    def _make_room(self, config: Data, choices: dict[str, Any], parsed: Sequence[Override]) -> None:
        """dataset._target_=FUNCTION where no data set was chosen: it has not the options of the default one."""
        if any(self.is_choice(o) and o.key_or_group == "dataset" for o in parsed):
            return
        for o in parsed:
            if o.key_or_group == "dataset._target_" and str(o.value()) != config["dataset"].get("_target_"):
                config["dataset"] = {"_target_": str(o.value())}
                choices["dataset"] = str(o.value()).rpartition(".")[2]

    def base(self, overrides: Sequence[str]) -> Composed:
        """What Hydra composes for these overrides: plain choices and values are left out."""
        return self._base([parse(text) for text in overrides])[0]

    def is_choice(self, override: Override) -> bool:
        """group=name, as opposed to the value of an option."""
        return self.is_group(override.key_or_group) and not isinstance(override.value(), dict)

    def defaults(self, overrides: Sequence[str]) -> list[tuple[str, str, str]]:
        """(file, package, named by) of every file that is merged, in order."""
        chosen = [o for o in map(parse, overrides) if self.is_choice(o)]
        choices = [str(o.input_line) for o in chosen if not self._is_own_class(o)]
        try:
            return self.loader.defaults(self.verb, choices)
        except HydraException as error:
            raise InputError(f"{' '.join(choices)}: {one_line(error)}") from None

    def decides(self, override: Override) -> set[str]:
        """Groups whose choice group=name sets along with its own: formulation and solver for a method."""
        files = with_parents(override.key_or_group, str(override.value()), self.places)
        return {group for file in files for group in file.chosen()}

    def check(self, override: Override) -> None:
        """Refuses what cannot be chosen, in words that say what can."""
        text, group, name = str(override.input_line), override.key_or_group, override.value()
        if override.is_sweep_override():
            raise InputError(f"{text}: one value is needed here, not a list")
        if override.is_hydra_override():
            reason = next((why for key, why in HYDRA_OPTIONS.items() if group.startswith(key)), HYDRA_OPTIONS["hydra."])
            raise InputError(f"{text}: {reason}")
        if not self.is_choice(override) or override.is_delete():
            return
        name = "null" if name is None else name
        if isinstance(name, list):
            raise InputError(f"{text}: one choice at a time; to run several, write {group}={','.join(map(str, name))}")
        file = read_file(group, str(name), self.places)
        _check_package(file)
        if file is None and not self._is_own_class(override):
            raise InputError(f"{text}: there is no {group} '{name}'; possible are {', '.join(self.names(group))}")

    # -- inside --------------------------------------------------------------------------------------------------

    def _names(self, group: str) -> list[str]:
        """The choices of a group, `dataset` for example."""
        return config_files.names(group, self.places)

    def _is_group(self, key: str) -> bool:
        return config_files.is_group(key, self.places)

    def _base(self, parsed: Sequence[Override]) -> tuple[Composed, list[Override]]:
        """What Hydra has to compose, and the choices that can be set by hand on a copy of it."""
        choices = [o for o in parsed if self.is_choice(o)]
        simple = [o for o in choices if self._is_simple(o)]
        base = self._composed(tuple(str(o.input_line) for o in choices if o not in simple))
        written = self._written(base.choices)
        by_hand = [o for o in simple if o.key_or_group in base.choices and o.key_or_group not in written]
        if len(by_hand) < len(simple):
            for o in simple:
                if o not in by_hand and self._is_own_class(o):
                    raise InputError(f"{o.input_line}: what was chosen sets options of its solver; write a YAML for it")
            base = self._composed(tuple(str(o.input_line) for o in choices if o not in by_hand))
        return base, by_hand

    def _is_own_class(self, override: Override) -> bool:
        """solver=FILE.py:Class or solver=package.module.Class."""
        name = str(override.value())
        known = read_file(override.key_or_group, name, self.places) is not None
        return override.key_or_group == "solver" and not known and is_class(name)

    def _is_simple(self, override: Override) -> bool:
        """group=name where the file stands for itself."""
        name = override.value()
        if override.is_add() or override.is_force_add() or override.is_delete() or override.package or name is None:
            return False
        file = read_file(override.key_or_group, str(name), self.places)
        return file.plain if file is not None else True

    def _written(self, choices: dict[str, Any]) -> set[str]:
        """Groups that some file which does not stand for itself writes values into."""
        return {str(key) for file in self._compound(choices) for key in file.config}

    def _compound(self, choices: dict[str, Any]) -> list[ConfigFile]:
        chosen = [with_parents(group, str(name), self.places) for group, name in choices.items() if name is not None]
        return [file for files in chosen for file in files if not file.plain]

    def _compose(self, overrides: tuple[str, ...]) -> Composed:
        try:
            config = self.loader.compose(self.verb, list(overrides))
        except (HydraException, OmegaConfBaseException, ValueError, TypeError, KeyError) as error:
            raise InputError(f"{' '.join(overrides) or self.verb}: {one_line(error)}") from None
        choices = {key: name for key, name in config.hydra.runtime.choices.items() if not key.startswith("hydra/")}
        params = {str(key): str(value) for key, value in (config.hydra.sweeper.params or {}).items()}
        self._check_files(choices)
        content = OmegaConf.to_container(config, resolve=False)
        assert isinstance(content, dict)
        return Composed({str(key): part for key, part in content.items() if key != "hydra"}, choices, params)

    def _check_files(self, choices: dict[str, Any]) -> None:
        """A file of the user's own that Hydra accepts and that would not do what it says."""
        for group in GLOBAL:
            _check_package(read_file(group, str(choices.get(group)), self.places))
        for file in self._compound(choices):
            own = file.config.get("hydra") or {}
            foreign = [f"hydra.{key}" for key in own if key != "sweeper"]
            foreign += [f"hydra.sweeper.{key}" for key in own.get("sweeper") or {} if key != "params"]
            foreign += [group for group in sorted(file.chosen()) if group.startswith("hydra/")]
            if foreign:
                raise InputError(
                    f"{file.path}: {foreign[0]} has no meaning here: marginbench runs the cells itself, each in a "
                    "process of its own; of hydra, only sweeper.params is used"
                )


def _limits(config: Data, parsed: Sequence[Override]) -> tuple[float, float]:
    """Seconds and MB that a cell may take, before all options are set; what is no number is refused later."""
    given = {str(o.key_or_group): o.value() for o in parsed}
    asked = config.get("limits") or {}
    found = [given.get(f"limits.{name}", asked.get(name)) for name in ("seconds", "memory_mb")]
    seconds, memory = (float(v) if isinstance(v, int | float) and v > 0 else 60.0 for v in found)
    return seconds, memory


def _check_package(file: ConfigFile | None) -> None:
    """Without its first line, an experiment or a method would be read and do nothing."""
    if file is not None and file.group in GLOBAL and file.package is None:
        raise InputError(f"{file.path}: its first line has to be `# @package _global_`, as in every {file.group}")


def plain(composed: Composed, resolve: Resolution | None = None) -> dict[str, Any]:
    """The configuration interpolated, with the choices under `choices`; `resolve` remembers what cells share."""
    return {**(resolve or Resolution())(composed.config), "choices": composed.choices}


def compose_cell(overrides: Sequence[str] = (), config_dir: Path | None = None) -> dict[str, Any]:
    """The configuration of one cell: `compose_cell(["dataset=wine", "method=pegasos", "problem.C=10"])`.

    For use from Python. It needs no command line and leaves the caller's own use of Hydra as it was. `choices` holds
    the names of what was chosen.
    """
    return Composer("run", config_dir).config(overrides)
