"""Logical names: what one process would have called a module that a rank calls otherwise.

Wrappers go, layers and experts get the numbers that they have in the whole model.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Set
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

from builder.ranks.layout.coordinates import Place, RunLayout
from msprobe_core.format import EntryName

_WRAPPERS = frozenset(("module", "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"))
_LAYERS = frozenset(("layers", "layer", "h", "blocks", "block"))
_NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")
_EXPERTS = frozenset(("experts", "local_experts"))


# Names of parameters that modules share, each with the one that stands for all of them.
Ties: TypeAlias = Mapping[str, str]


class LogicalNames:
    """Renames the paths of one rank; `renumbered` maps a local layer path to its real number."""

    def __init__(
        self,
        place: Place,
        layout: RunLayout,
        renumbered: Mapping[str, int],
        first_expert: int = 0,
        ties: Ties | None = None,
    ) -> None:
        self._ties = ties or {}
        self._shared = frozenset(self._ties.values())
        self._in_chunks = layout.vpp > 1
        self._renumbered = renumbered
        self._first_expert = place.experts.first if place.experts is not None else first_expert
        self.path = lru_cache(maxsize=None)(self._path)

    @property
    def renaming(self) -> Hashable:
        """What two of them have in common that rename alike."""
        return self._in_chunks, frozenset(self._renumbered.items()), self._first_expert

    def owner(self, entry: EntryName) -> str:
        """The name of a module entry up to its class, in the whole model."""
        return f"{entry.prefix}.{self.path(entry.path)}.{entry.type_name}"

    def parameter(self, name: str) -> str:
        """The name of a parameter in the whole model."""
        path, _, last = name.rpartition(".")
        logical = self.path(path) if path else ""
        return f"{logical}.{last}" if logical else last

    def updated(self, name: str) -> str:
        """The name of a parameter that an optimizer updates: tied ones have one."""
        logical = self.parameter(name)
        return self._ties.get(logical, logical)

    def is_tied(self, updated: str | None) -> bool:
        """Whether a parameter of an optimizer may have a copy on another stage."""
        return updated in self._shared

    def _path(self, path: str) -> str:
        segments = path.split(".")
        while segments and segments[0] in _WRAPPERS:
            segments = segments[1:]
        chunk = ""
        if self._in_chunks and segments and segments[0].isdigit():
            chunk, segments = f"{segments[0]}.", segments[1:]
        local = [segment for segment in segments if segment not in _WRAPPERS]
        for index, segment in enumerate(local[:-1]):
            number = local[index + 1]
            if not number.isdigit():
                continue
            if segment in _EXPERTS:
                local[index + 1] = str(int(number) + self._first_expert)
            elif segment in _LAYERS:
                known = self._renumbered.get(chunk + ".".join(local[: index + 2]))
                local[index + 1] = number if known is None else str(known)
        return ".".join(local)


def renumbered_layers(
    layout: RunLayout, paths: Mapping[int, Iterable[str]]
) -> dict[int, dict[str, int]]:
    """By rank, the real number of each local layer path (with its chunk in front, if any).

    Recorded numbers win; else stages that count from 0 are put behind each other, chunks going
    round the stages as Megatron's do. Stages whose names differ already keep them.
    """
    if any(place.chunks for place in layout.places.values()):
        return {rank: _recorded(place, layout) for rank, place in layout.places.items()}
    if layout.size("pp") == 1:
        return {rank: {} for rank in layout.places}
    local = {rank: _local_layers(listed, layout.vpp > 1) for rank, listed in paths.items()}
    by_stage: dict[int, dict[str, list[tuple[str, int]]]] = {}
    for rank, layers in local.items():
        by_stage.setdefault(layout.places[rank].at.get("pp", 0), layers)
    first = {local for layers in by_stage.get(0, {}).values() for local, _ in layers}
    later = (names for stage, names in by_stage.items() if stage > 0)
    if not any(_counts_from_zero(names, first) for names in later):
        return {rank: {} for rank in layout.places}
    return _behind_each_other(layout, local, by_stage)


def first_experts(layout: RunLayout, paths: Mapping[int, Iterable[str]]) -> dict[int, int]:
    """By rank, the real number of its first expert, where nothing recorded tells.

    Ranks along ep have equal numbers of experts that count from 0 on each; names that differ
    between the ranks already are the real ones.
    """
    if layout.size("ep") == 1:
        return dict.fromkeys(paths, 0)
    local = {rank: _local_experts(listed) for rank, listed in paths.items()}
    most = 1 + max((number for numbers in local.values() for number in numbers), default=-1)
    by_place: dict[int, set[int]] = {}
    for rank, numbers in local.items():
        by_place.setdefault(layout.places[rank].at.get("ep", 0), set()).update(numbers)
    counted = [numbers for numbers in by_place.values() if numbers]
    if any(a.isdisjoint(b) for a, b in pairwise(counted)):
        return dict.fromkeys(paths, 0)
    return {rank: most * layout.places[rank].at.get("ep", 0) for rank in paths}


def _local_experts(paths: Iterable[str]) -> set[int]:
    segments = (path.split(".") for path in paths)
    pairs = (pair for own in segments for pair in pairwise(own))
    return {int(number) for name, number in pairs if name in _EXPERTS and number.isdigit()}


def is_expert(path: str) -> bool:
    """Whether a path or the name of an entry is that of an expert or of something in one."""
    return any(a in _EXPERTS and b.isdigit() for a, b in pairwise(path.split(".")))


def expert_of(path: str) -> str:
    """The path of the expert that a path or the name of an entry lies in; empty where in none."""
    for name in path.split():
        parts = name.split(".")
        for at, part in enumerate(parts[:-1]):
            if part in _EXPERTS and parts[at + 1].isdigit():
                first = 1 if parts[0] in ("Module", "Optimizer") else 0
                return ".".join(parts[first : at + 2])
    return ""


def _recorded(place: Place, layout: RunLayout) -> dict[str, int]:
    return {
        (f"{chunk.index}." if layout.vpp > 1 else "") + without_wrappers(path): number
        for chunk in place.chunks
        for path, number in chunk.layers.items()
    }


def without_wrappers(path: str) -> str:
    """A path without what wraps a model: DDP, compilation, FSDP."""
    return ".".join(segment for segment in path.split(".") if segment not in _WRAPPERS)


def _local_layers(paths: Iterable[str], in_chunks: bool) -> dict[str, list[tuple[str, int]]]:
    """By chunk, the local layer paths and numbers, in order."""
    by_chunk: dict[str, set[tuple[str, int]]] = {}
    for path in paths:
        segments = [segment for segment in path.split(".") if segment not in _WRAPPERS]
        chunk = ""
        if in_chunks and segments and segments[0].isdigit():
            chunk, segments = f"{segments[0]}.", segments[1:]
        for index, segment in enumerate(segments[:-1]):
            if segment in _LAYERS and segments[index + 1].isdigit():
                local = chunk + ".".join(segments[: index + 2])
                by_chunk.setdefault(chunk, set()).add((local, int(segments[index + 1])))
                break
    return {chunk: sorted(layers, key=lambda layer: layer[1]) for chunk, layers in by_chunk.items()}


def _counts_from_zero(names: Mapping[str, list[tuple[str, int]]], first: Set[str]) -> bool:
    return any(local in first for layers in names.values() for local, _ in layers)


def _behind_each_other(
    layout: RunLayout,
    local: Mapping[int, dict[str, list[tuple[str, int]]]],
    by_stage: Mapping[int, dict[str, list[tuple[str, int]]]],
) -> dict[int, dict[str, int]]:
    numbers: dict[tuple[int, str], int] = {}
    reached = 0
    for chunk in sorted({chunk for layers in by_stage.values() for chunk in layers}):
        for stage in sorted(by_stage):
            listed = by_stage[stage].get(chunk, [])
            for place, (path, _) in enumerate(listed):
                numbers[stage, path] = reached + place
            reached += len(listed)
    return {
        rank: {
            path: numbers[layout.places[rank].at.get("pp", 0), path]
            for listed in layers.values()
            for path, _ in listed
        }
        for rank, layers in local.items()
    }


@lru_cache(maxsize=1 << 16)
def role_of(name: str) -> str:
    """A logical name without layer and expert numbers: what all instances of a value share."""
    return _NUMBER.sub("*", name)
