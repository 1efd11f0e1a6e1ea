"""What units leave behind: a file with the rows of each, and a marker that it is whole.

The file goes there first, under a name of its own, and the marker that names it last. So a unit
that is run twice, also at the same time, or dies anywhere leaves one whole part or none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from builder.run.units.plan_file import BuildPlan
from builder.storage.folder import Folder, is_plain_name
from builder.storage.local_folder import LocalFolder

PARTS = "parts"
_MARKER = ".json"
PART = ".part"
State = Literal["done", "failed", "missing", "partial", "foreign"]


@dataclass(frozen=True, slots=True)
class Marker:
    """The small file beside a part that says it is whole."""

    plan: str
    unit: str
    file: str
    bytes: int
    tool: str
    error: str | None = None


@dataclass(frozen=True, slots=True)
class PartState:
    """What there is of a unit, and in `told` what is wrong with it."""

    unit: str
    state: State
    marker: Marker | None = None
    told: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether there is a part, were it one that says why its pair failed."""
        return self.state in ("done", "failed")


def part_states(plan: BuildPlan, folder: Folder) -> list[PartState]:
    """What there is of every unit of a plan, in its order, and of units that it does not have.

    `folder` is the plan's. Files are listed once; a part is opened only when it is joined.
    """
    parts = folder.below(PARTS)
    sizes = {item.name: item.size for item in parts.listed() if not item.is_folder}
    names = [unit.id for unit in plan.units]
    states = [_state(plan.id, unit, parts, sizes) for unit in names]
    known = set(names)
    for name in sorted(sizes):
        unit = name.removesuffix(_MARKER)
        if name.endswith(_MARKER) and not name.startswith(".") and unit not in known:
            told = f"{parts.text}/{name}: no unit of this plan"
            states.append(PartState(unit, "foreign", told=told))
    return states


def state_of(plan: str, unit: str, parts: Folder) -> PartState:
    """What there is of one unit."""
    marker = _read(unit, parts)
    names = [unit + _MARKER] if marker is None else [unit + _MARKER, marker.file]
    sizes = {name: size for name in names if (size := parts.size(name)) is not None}
    return _state(plan, unit, parts, sizes)


def local_file(parts: Folder, name: str, scratch: Path) -> Path:
    """A file among the parts as one of this machine: itself, or a copy in `scratch`."""
    if isinstance(parts, LocalFolder):
        return parts.path / name
    local = scratch / name
    parts.fetch(name, local)
    return local


def mark(parts: Folder, marker: Marker) -> None:
    """Say that a part is whole."""
    parts.write(marker.unit + _MARKER, msgspec.json.encode(marker))


def named(states: Iterable[PartState], most: int = 8) -> str:
    """The first units of some, and how many more there are."""
    units = [state.unit for state in states]
    more = f" and {len(units) - most} more" if len(units) > most else ""
    return ", ".join(units[:most]) + more


def _state(plan: str, unit: str, parts: Folder, sizes: Mapping[str, int | None]) -> PartState:
    place = f"{parts.text}/{unit}{_MARKER}"
    if unit + _MARKER not in sizes:
        return PartState(unit, "missing", told=f"{place}: no such file")
    marker = _read(unit, parts)
    if marker is None:
        return PartState(unit, "partial", told=f"{place}: no marker of a part")
    if (marker.plan, marker.unit) != (plan, unit):
        told = f"{place}: of plan {marker.plan}, unit {marker.unit}"
        return PartState(unit, "foreign", marker, told)
    size = sizes.get(marker.file)
    if size != marker.bytes:
        there = "missing" if size is None else f"{size} bytes"
        told = f"{parts.text}/{marker.file}: {there} of {marker.bytes} bytes"
        return PartState(unit, "partial", marker, told)
    return PartState(unit, "done" if marker.error is None else "failed", marker, marker.error or "")


def _read(unit: str, parts: Folder) -> Marker | None:
    content = parts.read(unit + _MARKER)
    try:
        marker = None if content is None else msgspec.json.decode(content, type=Marker)
    except msgspec.MsgspecError:
        return None
    # What a marker names is opened and removed later: it is a part of this unit, or no marker.
    return marker if marker is not None and _is_part(marker.file, unit) else None


def _is_part(name: str, unit: str) -> bool:
    return is_plain_name(name) and name.startswith(f"{unit}.") and name.endswith(PART)
