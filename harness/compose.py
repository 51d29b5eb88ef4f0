"""From the command line to cells. The only module that imports Hydra.

Hydra composes the configuration and expands comma-separated values. To compose takes it 0.1 s, too long for each
cell of a sweep. So choices that bring others along (method, experiment) are composed once per combination; a choice
that is a plain file (dataset, solver) and plain values are set on copies, which comes to the same.
"""

from collections.abc import Sequence
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra._internal.hydra import Hydra
from hydra._internal.utils import create_config_search_path
from hydra.core.default_element import GroupDefault
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from hydra.plugins.config_source import ConfigResult
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from marginbench.harness.cell.spec import Cell
from marginbench.harness.model.problem import InputError

CONF = Path(__file__).resolve().parents[1] / "conf"


class Composed(NamedTuple):
    """A configuration without Hydra's own part; the choices made, and the sweep that an experiment asks for."""

    config: DictConfig
    choices: dict[str, Any]
    params: dict[str, Any]


class Composer:
    """Composes configurations of one verb from `conf/` and, in front of it, a folder of the user's own."""

    def __init__(self, verb: str, config_dir: Path | None = None) -> None:
        theirs = GlobalHydra.instance().hydra  # of a notebook that uses Hydra itself: given back below
        GlobalHydra.instance().clear()
        path = create_config_search_path(str(CONF))
        if config_dir is not None:
            path.prepend("user", f"file://{config_dir.resolve()}")
        self.hydra = Hydra.create_main_hydra2("marginbench", path)
        GlobalHydra.instance().hydra = theirs
        loader = self.hydra.config_loader
        assert isinstance(loader, ConfigLoaderImpl)
        self.loader = loader
        self.verb = verb
        self._composed = lru_cache(maxsize=None)(self._compose)
        self._files = lru_cache(maxsize=None)(self.loader.repository.load_config)
        self._parse = lru_cache(maxsize=None)(self._parse_one)
        self.names = lru_cache(maxsize=None)(self._names)

    def config(self, overrides: Sequence[str]) -> dict[str, Any]:
        """The configuration for overrides without a sweep, as plain data with the choices under `choices`."""
        parsed = self._parsed(overrides)
        composed = self._base(parsed)
        config, choices = deepcopy(composed.config), dict(composed.choices)
        for o in parsed:
            if self._is_plain_choice(o, parsed):
                choices[o.key_or_group] = o.value()
                config[o.key_or_group] = self._file(o).config
        for o in parsed:
            if self._is_value(o):
                _set(config, o, str(o.input_line))
        return {**_resolved(config), "choices": choices}

    def cells(self, overrides: Sequence[str]) -> list[dict[str, Any]]:
        """The configurations of a sweep: the product of all comma-separated values, an experiment's first."""
        for text in overrides:
            if text.lstrip("+~").startswith(("hydra/launcher", "hydra/sweeper")):
                raise InputError(f"{text}: cells are run by marginbench itself, in processes of their own")
        experiment = self._base(self._parsed(self._without_sweeps(overrides)))
        given = [f"{key}={value}" for key, value in experiment.params.items()]
        product = BasicSweeper.split_arguments(self._parsed([*given, *overrides]), None)[0]
        return [self.config([o for o in job if not o.startswith("hydra.sweeper")]) for job in product]

    def part(self, group: str, name: str) -> dict[str, Any] | None:
        """One choice of a group alone, as plain data; None where there is no such choice."""
        return self.config([f"{group}={name}"])[group] if name in self.names(group) else None

    # -- inside --------------------------------------------------------------------------------------------------

    def _names(self, group: str) -> list[str]:
        """The choices of a group, `dataset` for example."""
        return sorted(self.loader.get_group_options(group))

    def _base(self, parsed: Sequence[Override]) -> Composed:
        """What Hydra has to compose: all but plain choices and values."""
        hydras = [o for o in parsed if not (self._is_plain_choice(o, parsed) or self._is_value(o))]
        return self._composed(tuple(str(o.input_line) for o in hydras))

    def _compose(self, overrides: tuple[str, ...]) -> Composed:
        try:
            config = self.loader.load_configuration(self.verb, list(overrides), run_mode=RunMode.MULTIRUN)
        except (HydraException, OmegaConfBaseException, ValueError) as error:
            raise InputError(self._one_line(overrides, error)) from None
        choices, params = dict(config.hydra.runtime.choices), dict(config.hydra.sweeper.params or {})
        with open_dict(config):
            del config["hydra"]
        return Composed(config, choices, params)

    def _parsed(self, overrides: Sequence[str]) -> list[Override]:
        return [self._parse(text) for text in overrides]

    def _parse_one(self, text: str) -> Override:
        try:
            return OverridesParser.create(config_loader=self.loader).parse_override(text)
        except HydraException:
            raise InputError(f"{text}: cannot be read; possible are key=value and key=value1,value2") from None

    def _without_sweeps(self, overrides: Sequence[str]) -> list[str]:
        """The overrides with the first value of each sweep, enough to see the experiment's parameters."""
        jobs = BasicSweeper.split_arguments(self._parsed(overrides), None)
        return jobs[0][0]

    def _is_value(self, override: Override) -> bool:
        """A plain key=value, which can be set after composing."""
        special = override.is_add() or override.is_delete() or override.key_or_group.startswith("hydra")
        return not special and not self.names(override.key_or_group)

    def _is_plain_choice(self, override: Override, among: Sequence[Override]) -> bool:
        """group=name where the file stands for itself, and no other choice writes into the same group."""
        group, name = override.key_or_group, override.value()
        if override.is_add() or override.is_delete() or name not in self.names(group):
            return False
        others = [o for o in among if o is not override and o.value() in self.names(o.key_or_group)]
        return _is_plain(self._file(override)) and not any(group in _touched(self._file(o)) for o in others)

    def _file(self, choice: Override) -> ConfigResult:
        file = self._files(f"{choice.key_or_group}/{choice.value()}")
        assert file is not None
        return file

    def _one_line(self, overrides: Sequence[str], error: Exception) -> str:
        """Hydra explains over many lines; a user needs what was given and what is possible."""
        for text in overrides:
            key, _, value = text.lstrip("+~").partition("=")
            if self.names(key) and value not in self.names(key):
                return f"{text}: there is no {key} '{value}'; possible are {', '.join(self.names(key))}"
        for line in str(error).splitlines():
            if "key" in line.lower() and (given := [text for text in overrides if text.split("=")[0] in line]):
                return f"{given[0]}: {line}"
        return " ".join(str(error).split())


def _is_plain(file: ConfigResult) -> bool:
    return not file.defaults_list and not file.header.get("package")


def _touched(file: ConfigResult) -> set[str]:
    """Groups that a file of package _global_ sets values in or chooses for."""
    if _is_plain(file):
        return set()
    chosen = {str(entry.group).strip("/") for entry in file.defaults_list or [] if isinstance(entry, GroupDefault)}
    return chosen | {str(key) for key in file.config}


def _set(config, override: Override, text: str) -> None:
    key = override.key_or_group
    parent, _, name = key.rpartition(".")
    node = OmegaConf.select(config, parent) if parent else config
    if not OmegaConf.is_dict(node) or name not in list(node):
        raise InputError(_no_such_key(config, key, text))
    OmegaConf.update(config, key, override.value(), merge=False)


def _resolved(config) -> dict[str, Any]:
    try:
        plain = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    except OmegaConfBaseException as error:
        key = getattr(error, "full_key", None) or "a value"
        raise InputError(f"{key}: a value is needed, as in {key}=...") from None
    assert isinstance(plain, dict)
    return {str(key): value for key, value in plain.items()}


def _no_such_key(config, key: str, text: str) -> str:
    """Names the deepest part of `key` that exists and what it holds."""
    node, path = config, ""
    for part in key.split("."):
        if not OmegaConf.is_dict(node) or part not in list(node):
            break
        node, path = node[part], f"{path}.{part}".lstrip(".")
    if not OmegaConf.is_dict(node):
        return f"{text}: {path} has no parts"
    inside = ", ".join(str(k) for k in node if k not in ("hydra", "_target_"))
    return f"{text}: there is no option '{key}'; {path or 'the top level'} has {inside}"


def cells_of(config: dict[str, Any]) -> list[Cell]:
    """The cells of one configuration: one per repeat."""
    choices = config["choices"]
    name = choices["dataset"]
    if name == "file":
        name = Path(str(config["dataset"]["path"])).name.split(".")[0]
    return [
        Cell(
            dataset=config["dataset"],
            problem=config["problem"],
            formulation=config["formulation"],
            solver=config["solver"],
            dataset_name=name,
            formulation_name=choices["formulation"],
            solver_name=choices["solver"],
            method=choices["method"] or "",
            budget=config["budget"],
            limits=config["limits"],
            seed=config["seed"],
            repeat=repeat,
        )
        for repeat in range(_whole("repeats", config["repeats"], 1))
    ]


def _whole(name: str, value: Any, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InputError(f"{name}={value}: needs a whole number, {least} or more")
    return value
