"""Hydra by its public interface. A caller's own use of Hydra (a notebook inside `initialize`) is left as it was."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from hydra import compose, initialize_config_dir, version
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.global_hydra import GlobalHydra
from hydra.core.plugins import Plugins
from hydra.core.utils import JobRuntime
from hydra.plugins.search_path_plugin import SearchPathPlugin
from hydra.types import RunMode
from omegaconf import DictConfig

from marginbench.harness.config_files import CONF


class UserFolder(SearchPathPlugin):
    """Puts the user's folder in front of conf/, while one of our loaders starts; at all other times it does nothing."""

    folder: ClassVar[Path | None] = None

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        if self.folder is not None:
            search_path.prepend(provider="--config-dir", path=f"file://{self.folder}")


@contextmanager
def kept_state() -> Iterator[None]:
    """Whatever of Hydra's process-wide state our use of it changes is put back."""
    caller, base = GlobalHydra.instance(), copy.copy(version.VersionBase.instance())
    theirs, name = caller.hydra, JobRuntime.instance().get("name")
    caller.clear()
    try:
        yield
    finally:
        GlobalHydra.set_instance(caller)
        caller.hydra = theirs
        version.VersionBase.set_instance(base)
        JobRuntime.instance().set("name", name)


class HydraLoader:
    """Composes from conf/ and, in front of it, a folder of the user's own."""

    def __init__(self, config_dir: Path | None) -> None:
        Plugins.instance().register(UserFolder)
        UserFolder.folder = config_dir.resolve() if config_dir is not None else None
        try:
            with kept_state():
                initialize_config_dir(str(CONF), job_name="marginbench", version_base="1.3")
                self.hydra, self.base = GlobalHydra.instance().hydra, copy.copy(version.VersionBase.instance())
        finally:
            UserFolder.folder = None

    @contextmanager
    def _ours(self) -> Iterator[GlobalHydra]:
        with kept_state():
            assert self.hydra is not None
            GlobalHydra.instance().initialize(self.hydra)
            version.VersionBase.set_instance(self.base)
            JobRuntime.instance().set("name", "marginbench")
            yield GlobalHydra.instance()

    def compose(self, verb: str, overrides: list[str]) -> DictConfig:
        """Hydra's answer, with its own part under `hydra`."""
        with self._ours():
            return compose(verb, overrides, return_hydra_config=True)

    def defaults(self, verb: str, overrides: list[str]) -> list[tuple[str, str, str]]:
        """(file, package, named by) of everything that is merged, in order; without Hydra's own files."""
        with self._ours() as ours:
            found = ours.config_loader().compute_defaults_list(verb, overrides, RunMode.RUN).defaults
        rows = [(str(d.config_path), str(d.package or "_global_"), str(d.parent)) for d in found]
        return [row for row in rows if not row[0].startswith("hydra/")]

    def sources(self) -> list[tuple[str, str]]:
        """(provider, path) of every place that configurations are looked for."""
        with self._ours() as ours:
            return [(source.provider, source.full_path()) for source in ours.config_loader().get_sources()]
