"""Reads one rank directory: entries with their values, the structure, the stacks.

Missing construct.json or stack.json is an outcome (a flat list, no stacks), not an error.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import msgspec

from builder.dump.grouped_products import mark_unwritten
from builder.dump.joined_tensors import JoinedTensor
from builder.dump.json_files import FormError, read_json
from builder.dump.kernel_dump import read_kernels
from builder.dump.kernel_files import is_iteration
from builder.dump.passing_calls import PassingCall, read_passing
from builder.dump.values import (
    Entry,
    Ranges,
    Record,
    Values,
    collect_loose,
    collect_saved,
    collect_values,
    mark_not_finite,
)
from builder.errors import DumpError
from msprobe_core.format import (
    CONSTRUCT_FILE,
    DEBUG_FILE,
    FLOW_FILE,
    STACK_FILE,
    TENSOR_DIR,
    values_file,
)


class Axis(msgspec.Struct, frozen=True):
    """A place on one axis of a parallel run."""

    rank: int
    size: int
    ranks: tuple[int, ...] = ()


class Chunk(msgspec.Struct, frozen=True):
    """A model chunk of a pipeline stage: the real numbers of its layers by their local path."""

    index: int = 0
    layers: dict[str, int] = {}


class ExpertShare(msgspec.Struct, frozen=True):
    """The experts that a process has: the number of the first of them and how many."""

    first: int
    count: int


class FedInput(msgspec.Struct, frozen=True):
    """An integer tensor that the model was fed: checksums of it and of its rows."""

    shape: tuple[int, ...] = ()
    checksum: str | None = None
    rows: tuple[str, ...] = ()


class ParameterLayout(msgspec.Struct, frozen=True):
    """What a parameter of Megatron says of itself.

    Whether tp cuts it, and which dimension; whether it is a copy of what embedding and head share.
    """

    tp: bool | None = None
    dim: int | None = None
    shared_embedding: bool | None = None


class Parallel(msgspec.Struct, frozen=True):
    """Where a process stands in a parallel run, as its dump.json says."""

    axes: dict[str, Axis] = {}
    world_size: int | None = None
    rank: int | None = None
    chunks: tuple[Chunk, ...] = ()
    experts: ExpertShare | None = None
    micro_batches: int | None = None
    cp_order: str | None = None
    layouts: dict[str, ParameterLayout] = {}
    tied: tuple[tuple[str, ...], ...] = ()
    groups: dict[str, str] = {}


Inputs: TypeAlias = dict[str, dict[str, FedInput]]
# By outermost call, the number of its micro-batch; None for a call outside of the schedule.
MicroBatches: TypeAlias = dict[str, int | None]
Modes: TypeAlias = dict[str, bool]
"""By the entry of a module's call whether it ran in training mode."""
# Per optimizer step, by what the record is (input, parameters, output), by parameter name.
OptimizerSteps: TypeAlias = dict[str, dict[str, dict[str, Record]]]


@dataclass(slots=True)
class Dump:
    """What one process wrote in one step.

    `ranges` maps an entry to its slice of `values`; `parents` and `micro_steps` come from
    construct.json, `stacks` maps an entry to an index of `frames`. `sketch_version` is
    None without sketches. `parallel`, `optimizer`, `inputs` and `micro_batch` are what our own
    dumps say of the layout, `modes` what they say of modules; `joined` has the tensors that lie
    elsewhere or in parts on ranks; `broken` are the files of values that were found unreadable.
    `keeps_digits` tells of a compiler that rounds a value to its format only where it writes it to
    memory. `passing` are the calls that left no values, None where the dump does not tell of them.
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
    sketch_version: int | None = None
    parallel: Parallel | None = None
    optimizer: OptimizerSteps = field(default_factory=dict)
    inputs: Inputs = field(default_factory=dict)
    micro_batch: MicroBatches = field(default_factory=dict)
    modes: Modes = field(default_factory=dict)
    joined: dict[str, str | JoinedTensor] = field(default_factory=dict)
    broken: tuple[str, ...] = ()
    keeps_digits: bool = False
    passing: dict[str, PassingCall] | None = None

    def tensor_finder(self) -> Callable[[str], str | JoinedTensor]:
        """A function that tells where the tensor behind a record's `data_name` lies."""
        # The folder is taken from where dump.json lies: a dump is often moved after it was written.
        folder, joined = f"{self.path / TENSOR_DIR}{os.sep}", self.joined
        return lambda name: joined.get(name) or folder + name


Names = dict[str, str]
_MODULE_CALL = re.compile(r"(?:Module|Cell)\..+\.forward\.\d+")


class _Captured(msgspec.Struct):
    backend: str = ""

    @property
    def keeps_digits(self) -> bool:
        """Whether the compiler keeps values in a wider format than they have, within a kernel."""
        return "inductor" in self.backend


class _Modes(msgspec.Struct):
    """The mode of most calls of modules, those of the other one, and those of which it is open."""

    training: bool
    others: frozenset[str] = frozenset()
    unknown: frozenset[str] = frozenset()

    def of(self, names: Iterable[str]) -> Modes:
        """The modes of the calls of modules among some entries."""
        calls = (name for name in names if _MODULE_CALL.match(name) and name not in self.unknown)
        return {name: self.training is not (name in self.others) for name in calls}


class _Head(msgspec.Struct):
    task: str = "statistics"
    level: str = "mix"
    framework: str = "pytorch"
    sketch_version: int | None = None
    parallel: Parallel | None = None
    optimizer: OptimizerSteps = {}
    inputs: Inputs = {}
    micro_batch: MicroBatches = {}
    modes: _Modes | None = None
    capture: _Captured | None = None


class _DumpFile(_Head, kw_only=True):
    data: dict[str, Entry]


class _LooseFile(_Head, kw_only=True):
    data: dict[str, object]


class _PlaceFile(msgspec.Struct):
    parallel: Parallel | None = None


class _RawFile(msgspec.Struct):
    data: dict[str, msgspec.Raw]


_dump_decoder = msgspec.json.Decoder(_DumpFile)
_loose_decoder = msgspec.json.Decoder(_LooseFile)
_place_decoder = msgspec.json.Decoder(_PlaceFile)
_raw_decoder = msgspec.json.Decoder(_RawFile)
_construct_decoder = msgspec.json.Decoder(dict[str, str | list[str | int | None] | int | None])
_stack_decoder = msgspec.json.Decoder(dict[str, list[str | list[str]]])


def read_dump(path: Path) -> Dump:
    """Read a rank directory, or the one file of it that is named in place of dump.json.

    Raises DumpError when nothing of it can be used.
    """
    if path.is_dir() and is_iteration(path):
        return _read_graph(path)
    path, file = dump_file(path)
    # The three files spell every name anew; one text each serves them all.
    names: Names = {}
    parents, micro_steps = _read_construct(path / CONSTRUCT_FILE, names)
    stacks, frames = _read_stacks(path / STACK_FILE, names)
    head, values, ranges = _read_values(file, bool(parents))
    if not parents and head.framework == "pytorch" and head.task == "statistics":
        mark_not_finite(values.records)
    mark_unwritten(values, ranges)
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
        parallel=head.parallel,
        optimizer=head.optimizer,
        inputs=head.inputs,
        micro_batch=head.micro_batch,
        modes={} if head.modes is None else head.modes.of(ranges),
        sketch_version=head.sketch_version,
        keeps_digits=head.capture is not None and head.capture.keeps_digits,
        passing=read_passing(path / FLOW_FILE),
    )


def _read_graph(path: Path) -> Dump:
    """The dump of an iteration of a static graph."""
    kernels = read_kernels(path)
    return Dump(
        path=path,
        task="tensor",
        level="L2",
        framework=kernels.framework,
        values=kernels.values,
        ranges=kernels.ranges,
        parents=kernels.parents,
        micro_steps={},
        stacks=kernels.stacks,
        frames=kernels.frames,
        joined={**kernels.files},
        broken=tuple(kernels.broken),
    )


def read_parallel(path: Path) -> Parallel | None:
    """What a rank's dump.json says of its place in a parallel run; nothing else is kept of it."""
    return read_json(values_file(path), _place_decoder).parallel


def dump_file(path: Path) -> tuple[Path, Path]:
    """The rank directory behind a path and the file in it that holds the values."""
    if path.is_file():
        return path.parent, path
    return path, values_file(path)


def is_debug_file(path: Path) -> bool:
    """Whether a file holds single saved values in place of calls."""
    return path.name.endswith(DEBUG_FILE)


def read_stacks(path: Path) -> dict[str, list[str]]:
    """The stack of each entry, frame by frame as recorded; empty without stack.json."""
    if not path.exists():
        return {}
    stacks: dict[str, list[str]] = {}
    for key, content in read_json(path, _stack_decoder).items():
        grouped = len(content) == 2 and all(isinstance(part, list) for part in content)
        owners, lines = (content[0], content[1]) if grouped else ([key], content)
        frames = [str(line) for line in lines]
        stacks.update({str(owner): frames for owner in owners})
    return stacks


def _read_values(path: Path, structure_exists: bool) -> tuple[_Head, Values, Ranges]:
    if not path.exists() and structure_exists:
        return _Head(task="structure"), Values(), {}
    try:
        if is_debug_file(path):
            loose = read_json(path, _loose_decoder)
            return loose, *collect_saved(loose.data)
        try:
            head = read_json(path, _dump_decoder)
            return head, *collect_values(head.data, _Whole(path))
        except FormError:
            loose = read_json(path, _loose_decoder)
            return loose, *collect_loose(loose.data)
    except (ValueError, RecursionError) as error:
        raise DumpError(f"{path}: not the form of a dump ({error})", "dump it again") from None


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
