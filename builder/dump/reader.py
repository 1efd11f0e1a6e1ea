"""Reads one rank directory: entries with their values, the structure, the stacks.

Missing construct.json or stack.json is an outcome (a flat list, no stacks), not an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from builder.dump.json_files import FormError, read_json
from builder.dump.values import Entry, Ranges, Values, collect_loose, collect_values
from builder.errors import DumpError
from msprobe_core.format import CONSTRUCT_FILE, DUMP_FILE, STACK_FILE


@dataclass(slots=True)
class Dump:
    """What one process wrote in one step.

    `ranges` maps an entry to its slice of `values`; `parents` and `micro_steps` come from
    construct.json, `stacks` maps an entry to an index of `frames`.
    """

    path: Path
    task: str
    level: str
    framework: str
    values: Values
    ranges: Ranges
    parents: dict[str, str | None]
    micro_steps: dict[str, int]
    stacks: dict[str, int]
    frames: list[str]


Names = dict[str, str]


class _Head(msgspec.Struct):
    task: str = "statistics"
    level: str = "mix"
    framework: str = "pytorch"


class _DumpFile(_Head, kw_only=True):
    data: dict[str, Entry]


class _LooseFile(_Head, kw_only=True):
    data: dict[str, object]


class _RawFile(msgspec.Struct):
    data: dict[str, msgspec.Raw]


_dump_decoder = msgspec.json.Decoder(_DumpFile)
_loose_decoder = msgspec.json.Decoder(_LooseFile)
_raw_decoder = msgspec.json.Decoder(_RawFile)
_construct_decoder = msgspec.json.Decoder(dict[str, str | list[str | int | None] | int | None])
_stack_decoder = msgspec.json.Decoder(dict[str, list[str | list[str]]])


def read_dump(path: Path) -> Dump:
    """Read a rank directory; raises DumpError when nothing of it can be used."""
    # The three files spell every name anew; one text each serves them all.
    names: Names = {}
    parents, micro_steps = _read_construct(path / CONSTRUCT_FILE, names)
    stacks, frames = _read_stacks(path / STACK_FILE, names)
    head, values, ranges = _read_values(path / DUMP_FILE, bool(parents))
    ranges = {names.get(name, name): place for name, place in ranges.items()}
    return Dump(
        path=path,
        task=head.task,
        level=head.level,
        framework=head.framework,
        values=values,
        ranges=ranges,
        parents=parents,
        micro_steps=micro_steps,
        stacks=stacks,
        frames=frames,
    )


def _read_values(path: Path, structure_exists: bool) -> tuple[_Head, Values, Ranges]:
    if not path.exists() and structure_exists:
        return _Head(task="structure"), Values(), {}
    try:
        try:
            head = read_json(path, _dump_decoder)
            return head, *collect_values(head.data, _Whole(path))
        except FormError:
            loose = read_json(path, _loose_decoder)
            return loose, *collect_loose(loose.data)
    except (ValueError, RecursionError) as error:
        raise DumpError(f"{path}: not the form of a dump ({error}); dump it again") from None


class _Whole:
    """Reads a dump.json once more for entries as plain objects; few dumps need any."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._data: dict[str, msgspec.Raw] | None = None

    def __call__(self, name: str) -> object:
        if self._data is None:
            self._data = read_json(self._path, _raw_decoder).data
        return msgspec.json.decode(self._data[name])


def _read_construct(path: Path, names: Names) -> tuple[dict[str, str | None], dict[str, int]]:
    parents: dict[str, str | None] = {}
    micro_steps: dict[str, int] = {}
    if not path.exists():
        return parents, micro_steps
    share = names.setdefault
    for entry, parent in read_json(path, _construct_decoder).items():
        name = share(entry, entry)
        if isinstance(parent, str):
            parents[name] = share(parent, parent)
        elif isinstance(parent, list):
            # Megatron: [parent, micro-step]
            parents[name] = parent[0] if parent and isinstance(parent[0], str) else None
            if len(parent) > 1 and isinstance(parent[1], int):
                micro_steps[name] = parent[1]
        elif parent is None:
            parents[name] = None
    return parents, micro_steps


def _read_stacks(path: Path, names: Names) -> tuple[dict[str, int], list[str]]:
    stacks: dict[str, int] = {}
    frames: list[str] = []
    if not path.exists():
        return stacks, frames
    for key, content in read_json(path, _stack_decoder).items():
        grouped = len(content) == 2 and all(isinstance(part, list) for part in content)
        owners, lines = (content[0], content[1]) if grouped else ([key], content)
        for owner in owners:
            stacks[names.get(owner, owner)] = len(frames)
        frames.append("\n".join(str(line).replace("\n", " ") for line in lines))
    return stacks, frames
