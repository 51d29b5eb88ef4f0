"""The machine that a run was made on."""

import platform
from pathlib import Path


def read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def processor() -> str:
    names = [line.partition(":")[2].strip() for line in read("/proc/cpuinfo").splitlines() if "model name" in line]
    return names[0] if names else platform.processor() or platform.machine()
