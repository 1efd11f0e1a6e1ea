"""How many pairs the machine's memory takes at the same time."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from builder.work.plan import PairPlan
from msprobe_core.format import CONSTRUCT_FILE, STACK_FILE, values_file

# A pair takes this much and this many times the bytes of its JSON files; measured over dumps of
# 20,000 to 1,000,000 entries (benchmarks/README.md), rounded up.
_BASE_BYTES = 80 << 20
_BYTES_PER_BYTE = 5
# The rest is left to whatever else runs.
_SHARE = 0.8


def affordable_workers(pairs: Sequence[PairPlan], wanted: int, available: int | None) -> int:
    """At most `wanted` workers, so that the largest pairs together fit the available bytes.

    One worker is always given: a pair that does not fit fails by itself, with its own message.
    """
    if available is None:
        return wanted
    largest = sorted((pair_bytes(plan) for plan in pairs), reverse=True)[:wanted]
    needed = 0
    for count, size in enumerate(largest):
        needed += size
        if needed > available * _SHARE:
            return max(1, count)
    return wanted


def pair_bytes(plan: PairPlan) -> int:
    """How much memory a pair is expected to take."""
    known = plan.json_bytes
    return _BASE_BYTES + _BYTES_PER_BYTE * (json_bytes(plan) if known is None else known)


def json_bytes(plan: PairPlan) -> int:
    """How many bytes of JSON a pair reads."""
    folders = [path.parent if path.is_file() else path for path in plan.folders]
    files = [f / name for f in folders for name in (CONSTRUCT_FILE, STACK_FILE)]
    files += map(values_file, folders)
    return sum(_size(file) for file in files)


def available_bytes(cgroup: Path = Path("/sys/fs/cgroup")) -> int | None:
    """The memory that can still be had, within the limit of a container; None if unknown."""
    known = [number for number in (_unused_by_machine(), _unused_by_container(cgroup)) if number]
    return min(known, default=None)


def _unused_by_machine() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _unused_by_container(cgroup: Path) -> int | None:
    try:
        limit = int((cgroup / "memory.max").read_text())
        return max(0, limit - int((cgroup / "memory.current").read_text()))
    except (OSError, ValueError):  # no version 2 control group, or "max"
        return None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
