"""The code and the libraries that a result comes from.

The code of a cell is every source file that its solver and its formulation import, inside this project or in the
solver's own folder, and the files that measure and judge. Imports are read from the source, those inside functions
too. Nothing is executed. Each file stands for itself by a short hash of its content.
"""

import ast
import hashlib
import importlib.metadata
import importlib.util
import os
import platform
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from marginbench.harness.cell.spec import library_versions
from marginbench.harness.model.solver import Solver

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "marginbench"

ROOMS = ("solvers", "harness/model", "harness/formulations", "harness/rowops", "harness/cell")
"""Where results are computed. A change of any other part of the project leaves stored records as good as they were."""

JUDGES = tuple(
    f"{PACKAGE}.harness.{name}"
    for name in ("cell.attempt", "cell.judging", "rowops", "running.solver_process", "running.judge", "running.outcome")
)
"""What measures and judges every cell."""

INSTALLED = {"site-packages", "dist-packages"}
"""In such a folder, other modules are other people's: their versions count, not their sources."""


STATEMENT = re.compile(
    rb"(?:^|;|:)[ \t]*("
    rb"from[ \t]+[.\w]+[ \t]+import[ \t]*(?:\([^)]*\)|(?:\\\r?\n|[^\n;(\\])+)"
    rb"|import[ \t](?:\\\r?\n|[^\n;\\])+)",
    re.MULTILINE,
)
"""An import at the beginning of a line, or after a semicolon or colon, with the lines it goes on."""


@dataclass(frozen=True)
class Home:
    """A folder that modules are imported from, and the name of the package that is this folder, if it is one."""

    folder: Path
    package: str = ""
    top: str = ""
    """Where the folder is shared with strangers: the one top-level module of it that counts."""

    @cache  # noqa: B019 - homes are few and live as long as the process
    def file(self, module: str) -> Path | None:
        """The file of a module, None where it is not from here."""
        parts = module.split(".")
        if self.package and parts.pop(0) != self.package:
            return None
        if not parts or not parts[0] or (self.top and parts[0] != self.top):
            return None
        place = self.folder.joinpath(*parts)
        found = [place.with_name(f"{place.name}.py"), place / "__init__.py"]
        return next((path for path in found if path.is_file()), None)

    def name(self, path: Path) -> str:
        """What a file is called in records; one of the user's own begins with `./`."""
        inside = path.relative_to(self.folder).as_posix()
        return inside if self.package else f"./{inside}"

    def module(self, path: Path) -> list[str]:
        """The parts of a file's package, from which its relative imports count."""
        return [*([self.package] if self.package else []), *path.relative_to(self.folder).parent.parts]


PROJECT = Home(ROOT, PACKAGE)


@dataclass(frozen=True)
class Source:
    stamp: tuple[int, int]
    digest: str
    imports: tuple[tuple[Home, Path], ...]


_SOURCES: dict[tuple[Home, Path], Source] = {}
"""Files read so far. One that was touched since is read again."""


def code_of(targets: Sequence[str]) -> dict[str, str]:
    """Name of a source file -> hash of its content, for all that a cell with these `_target_`s computes with."""
    return {home.name(path): source.digest for (home, path), source in _closure(targets).items()}


def own_files(target: str) -> dict[str, Path]:
    """The source files among them that are not part of this project, by the same names."""
    return {home.name(path): path for home, path in _closure([target]) if home is not PROJECT}


def _counts(home: Home, path: Path) -> bool:
    if home is not PROJECT:
        return True
    name = home.name(path)
    return name.startswith(tuple(f"{room}/" for room in ROOMS)) or f"{PACKAGE}.{_dotted(name)}" in JUDGES


def _dotted(name: str) -> str:
    return name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _closure(targets: Sequence[str]) -> dict[tuple[Home, Path], Source]:
    found: dict[tuple[Home, Path], Source] = {}
    left = [start for target in targets if (start := _start(target)) is not None]
    left += [(PROJECT, path) for path in _judges()]
    while left:
        at = left.pop()
        if at not in found and (source := _source(*at)) is not None:
            found[at] = source
            left += [entry for entry in source.imports if entry not in found]
    return dict(sorted(found.items(), key=lambda entry: entry[0][0].name(entry[0][1])))


@cache
def _judges() -> list[Path]:
    return [path for name in JUDGES if (path := PROJECT.file(name)) is not None]


def _start(target: str) -> tuple[Home, Path] | None:
    """The file that defines what `_target_` names, and the home of its own imports."""
    module = target.rpartition(".")[0]
    if module.startswith(f"{PACKAGE}."):
        path = PROJECT.file(module)
        return None if path is None else (PROJECT, path)
    try:
        loaded = sys.modules.get(module)
        spec = loaded.__spec__ if loaded is not None else importlib.util.find_spec(module)
    except (ImportError, ValueError, AttributeError):
        return None
    if spec is None or not spec.origin or not spec.origin.endswith(".py"):
        return None
    path = Path(spec.origin).resolve()
    depth = module.count(".") + (path.name == "__init__.py")
    folder = path.parents[depth]
    return Home(folder, top=module.partition(".")[0] if INSTALLED & set(folder.parts) else ""), path


def _source(home: Home, path: Path) -> Source | None:
    try:
        status = os.stat(path)
        stamp = (status.st_mtime_ns, status.st_size)
        known = _SOURCES.get((home, path))
        if known is None or known.stamp != stamp:
            text = path.read_bytes()
            digest = hashlib.sha256(text).hexdigest()[:12]
            imports = tuple(entry for entry in dict.fromkeys(_imports(home, path, text)) if _counts(*entry))
            known = _SOURCES[home, path] = Source(stamp, digest, imports)
        return known
    except OSError:
        return None


def _imports(home: Home, path: Path, text: bytes) -> Iterator[tuple[Home, Path]]:
    """Files of `home` and of the project that a source imports, with the packages around them."""
    for module in _imported_names(home, path, text):
        parts = module.split(".")
        for count in range(1, len(parts) + 1):
            for place in dict.fromkeys((PROJECT, home)):
                if (file := place.file(".".join(parts[:count]))) is not None:
                    yield place, file


def _imported_names(home: Home, path: Path, text: bytes) -> Iterator[str]:
    package = home.module(path)
    for node in _import_statements(text):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        else:
            base = package[: len(package) - node.level + 1] if node.level else []
            name = ".".join([*base, *([node.module] if node.module else [])])
            yield from ([name] if name else [])
            yield from (f"{name}.{alias.name}" if name else alias.name for alias in node.names)


def _import_statements(text: bytes) -> list[ast.Import | ast.ImportFrom]:
    """Those that begin a line are parsed alone, which is ten times faster; where that fails, the whole source is."""
    lines = b"\n".join(found[1].replace(b"\r", b"") for found in STATEMENT.finditer(text))
    for source in (lines, text):
        try:
            return [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import | ast.ImportFrom)]
        except (SyntaxError, ValueError, RecursionError):
            continue
    return []


# -- libraries ----------------------------------------------------------------------------------------------------


def versions_of(solver: Solver) -> dict[str, str]:
    """Versions of what a solver wraps, and of what every cell computes with."""
    return library_versions(solver) | _versions_of_all()


@cache
def _versions_of_all() -> dict[str, str]:
    return {name: importlib.metadata.version(name) for name in ("numba", "numpy", "scipy")} | {
        "Python": platform.python_version()
    }


# -- differences --------------------------------------------------------------------------------------------------


def difference(then: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """What changed between two codes or two sets of versions, by name."""
    return [name for name in sorted({*then, *now}) if then.get(name) != now.get(name)]


def changed_code(then: Mapping[str, str], now: Mapping[str, str]) -> str:
    """`solvers/pegasos.py changed`, or nothing. What a solver does is named first."""
    names = sorted(difference(then, now), key=lambda name: (not name.startswith(("./", "solvers/")), name))
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{', '.join(names[:3])}{more} changed" if names else ""


def changed_versions(then: Mapping[str, str], now: Mapping[str, str]) -> str:
    """`numpy 2.0 then, 2.1 now`, or nothing."""
    return ", ".join(
        f"{name} {then.get(name, 'absent')} then, {now.get(name, 'absent')} now" for name in difference(then, now)
    )
