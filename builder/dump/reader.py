"""Reads one rank directory: entries with their values, the structure, the stacks.

Missing construct.json or stack.json is an outcome (a flat list, no stacks), not an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from builder.dump.json_files import read_json
from builder.dump.values import Values
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
    ranges: dict[str, tuple[int, int]]
    parents: dict[str, str | None]
    micro_steps: dict[str, int]
    stacks: dict[str, int]
    frames: list[str]


class _DumpFile(msgspec.Struct):
    data: dict[str, msgspec.Raw]
    task: str = "statistics"
    level: str = "mix"
    framework: str = "pytorch"


_dump_decoder = msgspec.json.Decoder(_DumpFile)
_construct_decoder = msgspec.json.Decoder(dict[str, str | list[str | int | None] | int | None])
_stack_decoder = msgspec.json.Decoder(dict[str, list[str | list[str]]])


def read_dump(path: Path) -> Dump:
    """Read a rank directory; raises DumpError when nothing of it can be used."""
    parents, micro_steps = _read_construct(path / CONSTRUCT_FILE)
    stacks, frames = _read_stacks(path / STACK_FILE)
    head = _read_head(path / DUMP_FILE, bool(parents))
    values = Values()
    try:
        ranges = {name: _add(values, name, raw) for name, raw in head.data.items()}
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise DumpError(
            f"{path / DUMP_FILE}: an entry is not of the dump's form ({error})"
        ) from None
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


def _add(values: Values, name: str, raw: msgspec.Raw) -> tuple[int, int]:
    head, found, tail = name.rpartition(".parameters_grad")
    if found and head and (not tail or tail[1:].isdigit()):
        return values.add_gradients(raw)
    return values.add_entry(raw)


def _read_head(path: Path, structure_exists: bool) -> _DumpFile:
    if not path.exists() and structure_exists:
        return _DumpFile(data={}, task="structure")
    return read_json(path, _dump_decoder)


def _read_construct(path: Path) -> tuple[dict[str, str | None], dict[str, int]]:
    parents: dict[str, str | None] = {}
    micro_steps: dict[str, int] = {}
    if not path.exists():
        return parents, micro_steps
    for entry, parent in read_json(path, _construct_decoder).items():
        if isinstance(parent, list):
            # Megatron: [parent, micro-step]
            parents[entry] = parent[0] if parent and isinstance(parent[0], str) else None
            if len(parent) > 1 and isinstance(parent[1], int):
                micro_steps[entry] = parent[1]
        elif not isinstance(parent, int):
            parents[entry] = parent
    return parents, micro_steps


def _read_stacks(path: Path) -> tuple[dict[str, int], list[str]]:
    stacks: dict[str, int] = {}
    frames: list[str] = []
    if not path.exists():
        return stacks, frames
    for key, content in read_json(path, _stack_decoder).items():
        grouped = len(content) == 2 and all(isinstance(part, list) for part in content)
        owners, lines = (content[0], content[1]) if grouped else ([key], content)
        for owner in owners:
            stacks[owner] = len(frames)
        frames.append("\n".join(str(line).replace("\n", " ") for line in lines))
    return stacks, frames
