"""Metadata of a bundle as a Workflow Run RO-Crate, of the profile Process Run Crate 0.5.

The run is one CreateAction: marginbench and the solvers' sources are its instruments, the data and configurations its
objects, records and report its results.
"""

import hashlib
import mimetypes
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
CONTEXT = ["https://w3id.org/ro/crate/1.1/context", "https://w3id.org/ro/terms/workflow-run/context"]

INPUTS = ("data/", "run/sources/", "run/run.json", "run/environment.json", "references/")
"""What the run was made from; all other files below run/ came out of it."""


def crate(name: str, about: Mapping[str, Any], version: str, files: Mapping[str, bytes], ended: str) -> dict[str, Any]:
    """`about`: what run.json says. `files`: everything in the bundle, by name. `ended`: when the run did."""
    entities = [_file(path, content) for path, content in sorted(files.items())]
    parts = [{"@id": entity["@id"]} for entity in entities]
    software = {
        "@id": "#marginbench",
        "@type": "SoftwareApplication",
        "name": "marginbench",
        "description": "certified benchmarks of max-margin solvers",
        "softwareVersion": version,
    }
    action: dict[str, Any] = {
        "@id": f"#run-{hashlib.sha256(name.encode() + ended.encode()).hexdigest()[:12]}",
        "@type": "CreateAction",
        "name": f"run {name}",
        "description": str(about.get("command", "")),
        "endTime": ended,
        "instrument": {"@id": software["@id"]},
        "object": [part for part, path in zip(parts, sorted(files), strict=True) if path.startswith(INPUTS)],
        "result": [
            part
            for part, path in zip(parts, sorted(files), strict=True)
            if path.startswith("run/") and not path.startswith(INPUTS)
        ],
        "actionStatus": {"@id": "http://schema.org/CompletedActionStatus"},
    }
    if isinstance(about.get("started"), str):
        action["startTime"] = about["started"]
    graph = [
        {
            "@id": "ro-crate-metadata.json",
            "@type": "CreativeWork",
            "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
            "about": {"@id": "./"},
        },
        {
            "@id": "./",
            "@type": "Dataset",
            "conformsTo": {"@id": PROFILE},
            "name": f"marginbench run {name}",
            "description": "Certified results of max-margin solvers, and all that is needed to run them again",
            "datePublished": ended,
            "license": {"@id": "#licence"},
            "hasPart": parts,
            "mentions": [{"@id": action["@id"]}],
        },
        {"@id": PROFILE, "@type": "CreativeWork", "name": "Process Run Crate", "version": "0.5"},
        {
            "@id": "#licence",
            "@type": "CreativeWork",
            "name": "not stated",
            "description": "Who made this bundle has stated no licence. Data and solvers have those of their sources.",
        },
        software,
        action,
        *entities,
    ]
    return {"@context": CONTEXT, "@graph": graph}


def _file(path: str, content: bytes) -> dict[str, Any]:
    entity: dict[str, Any] = {
        "@id": quote(path),
        "@type": ["File", "SoftwareSourceCode"] if path.endswith(".py") else "File",
        "name": path.rpartition("/")[2],
        "contentSize": str(len(content)),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    kind = mimetypes.guess_type(path)[0]
    return entity | ({"encodingFormat": kind} if kind else {})
