"""Reference optima: bounds, and the point that proves them, as data.

A reference is two files: `<key>.json` says what is proven of which problem, `<key>-<sha>.npz` holds (w, b, alpha). The
bounds follow from the data and the point by enclosure.py, with no solver in between; `prove` does so and
accepts nothing but the very same digits. A checksum in each file tells damage from a false claim.
"""

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from marginbench.harness.files import write_atomically
from marginbench.harness.model.bounds import Bounds
from marginbench.harness.model.feasibility import feasible
from marginbench.harness.model.problem import InputError, Point, Problem, problem_key

SCHEMA = 1


class Disproved(ValueError):
    """A stored reference is damaged, or does not follow from the data; the message is one line that says where."""


@dataclass(frozen=True, eq=False)
class Reference:
    key: str
    """problem_key: data, C, bias, loss and, where they are not the default, s and weights."""
    digest: str
    """Of the data, in full."""
    bounds: Bounds
    point: Point
    """The proof. alpha is feasible exactly."""
    makers: tuple[str, str]
    """Whose multipliers prove the lower bound, and whose hyperplane the upper one."""


def make(problem: Problem, digest: str, points: Mapping[str, Point]) -> Reference:
    """Polish the points of several methods, by name; the best lower and the best upper bound are kept."""
    from marginbench.harness.references.enclosure import enclose  # it loads numba, which readers do without
    from marginbench.harness.references.polish import polish

    if not points:
        raise InputError("a reference needs the point of at least one method; none was given")
    lower = upper = ""
    point, best = Point(np.zeros(problem.size), 0.0, np.zeros(problem.n)), Bounds()
    for name, given in points.items():
        polished = polish(problem, given)
        own = enclose(problem, polished)
        if own.lower > best.lower or not lower:
            lower, point = name, point._replace(alpha=feasible(problem, np.asarray(polished.alpha)))
        if own.upper < best.upper or not upper:
            upper, point = name, point._replace(w=np.asarray(polished.w, dtype=float), b=float(polished.b))
        best = best.meet(own)
    if best.lower > best.upper:
        raise AssertionError(f"two proofs contradict each other: P* >= {best.lower!r} and P* <= {best.upper!r}")
    return Reference(problem_key(problem, digest), digest, enclose(problem, point), point, (lower, upper))


def prove(reference: Reference, problem: Problem, digest: str) -> Bounds:
    """The bounds, computed again from data and point; Disproved unless they are the stored ones to the last digit."""
    from marginbench.harness.references.enclosure import enclose

    if digest != reference.digest:
        raise Disproved(
            f"{reference.key}: the data have digest {digest[:16]}, the reference is for {reference.digest[:16]}"
        )
    if problem_key(problem, digest) != reference.key:
        raise Disproved(f"{reference.key}: is not about the problem {problem_key(problem, digest)}")
    alpha = np.asarray(reference.point.alpha)
    if alpha.shape != (problem.n,) or reference.point.w.shape != (problem.size,):
        raise Disproved(
            f"{reference.key}: w and alpha have sizes {reference.point.w.size} and {alpha.size}, the data others"
        )
    if not np.array_equal(feasible(problem, alpha), alpha):
        raise Disproved(f"{reference.key}: the stored alpha is not feasible")
    proven = enclose(problem, reference.point)
    if proven != reference.bounds:
        stored = f"[{reference.bounds.lower!r}, {reference.bounds.upper!r}]"
        raise Disproved(f"{reference.key}: stored {stored}, proven [{proven.lower!r}, {proven.upper!r}]")
    return proven


# -- files -------------------------------------------------------------------------------------------------------


def save(reference: Reference, folder: Path) -> Path:
    """Write both files, the arrays first; the path of the JSON."""
    buffer = io.BytesIO()
    w, b, alpha = reference.point.w, np.array([reference.point.b]), np.asarray(reference.point.alpha)
    np.savez_compressed(buffer, w=w, b=b, alpha=alpha)
    arrays = f"{reference.key}-{hashlib.sha256(buffer.getvalue()).hexdigest()[:8]}.npz"
    said = {
        "schema": SCHEMA,
        "key": reference.key,
        "digest": reference.digest,
        "lower": _number(reference.bounds.lower),
        "upper": _number(reference.bounds.upper),
        "makers": list(reference.makers),
        "arrays": {"file": arrays, "sha256": _sha(w, b, alpha)},
    }
    write_atomically(folder / arrays, buffer.getvalue())
    path = folder / f"{reference.key}.json"
    write_atomically(path, json.dumps(said | {"sha256": _checksum(said)}, indent=2) + "\n")
    for stale in folder.glob(f"{reference.key}-????????.npz"):
        if stale.name != arrays:
            stale.unlink(missing_ok=True)
    return path


def load(path: Path) -> Reference:
    """The reference that a JSON file and its arrays hold; Disproved where either is damaged."""
    path = Path(path)
    try:
        said = json.loads(path.read_text())
        if said.pop("sha256") != _checksum(said):
            raise Disproved(f"{path.name}: the checksum does not fit the text")
        if said["schema"] != SCHEMA:
            raise Disproved(f"{path.name}: written with schema {said['schema']}, this is schema {SCHEMA}")
        arrays = path.parent / Path(said["arrays"]["file"]).name
        with np.load(arrays, allow_pickle=False) as entry:
            w, b, alpha = entry["w"], entry["b"], entry["alpha"]
        if _sha(w, b, alpha) != said["arrays"]["sha256"]:
            raise Disproved(f"{arrays.name}: the checksum does not fit the arrays")
        bounds = Bounds(_float(said["lower"]), _float(said["upper"]), "stored")
        point = Point(w.astype(float), float(b[0]), alpha.astype(float))
        lower, upper = said["makers"]
        return Reference(said["key"], said["digest"], bounds, point, (lower, upper))
    except Disproved:
        raise
    except (OSError, EOFError, KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        raise Disproved(f"{path.name}: cannot be read: {error}") from error
    except (zipfile.BadZipFile, zlib.error) as error:
        raise Disproved(f"{path.name}: its arrays cannot be read: {error}") from error


def _number(value: float) -> dict[str, str]:
    """A float for machines and for people; both have every bit."""
    return {"hex": float(value).hex(), "decimal": repr(float(value))}


def _float(said: dict[str, str]) -> float:
    value = float.fromhex(said["hex"])
    if said["decimal"] != repr(value):
        raise Disproved(f"{said['hex']} is {value!r}, and not {said['decimal']}")
    return value


def _checksum(said: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def _sha(*arrays: np.ndarray) -> str:
    sha = hashlib.sha256()
    for array in arrays:
        sha.update(f"{array.shape}".encode() + np.ascontiguousarray(array, dtype="<f8").tobytes())
    return sha.hexdigest()
