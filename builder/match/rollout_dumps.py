"""Makes a training dump and an inference dump alike, so that they compare as any other two.

Only forward passes of modules are kept. Projections that one side computes in parts are joined, and
batch and sequence become one dimension, since the engine knows no batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

import msgspec

from builder.dump.joined_tensors import Join, JoinedTensor
from builder.dump.reader import Dump
from builder.dump.values import Ranges, Record, Values
from builder.match.joined_records import joined_statistics
from builder.match.rollout_mapping import BETWEEN, PARTS, WRAPPED, Backend, engine_path
from msprobe_core.format import EntryName, NameSyntaxError, parse_entry

_INTERLEAVED = "linear_qkv"  # Megatron's: query, key and value of one group after the other
Place = tuple[str, int]  # a module's path in the engine's words, and the number of the call
Groups = dict[str, tuple[str, ...]]  # the entries to join, by the first of them


def make_alike(problem: Dump, benchmark: Dump, backend: Backend) -> tuple[Dump, Dump]:
    """Both dumps as what they have in common; nothing is written."""
    ours, theirs = _forward_modules(problem), _forward_modules(benchmark)
    sides = (problem, _groups(ours, theirs), ours), (benchmark, _groups(theirs, ours), theirs)
    first, second = (_rebuilt(dump, groups, entries) for dump, groups, entries in sides)
    for dump in (first, second):
        _flatten(dump, backend)
    return first, second


def _forward_modules(dump: Dump) -> dict[str, EntryName]:
    modules = {}
    for name in dump.ranges:
        try:
            entry = parse_entry(name)
        except NameSyntaxError:
            continue
        if entry.kind == "module" and entry.direction == "forward":
            modules[name] = entry
    paths = {entry.path for entry in modules.values()}
    # A wrapper says again what the module in it says.
    return {
        name: entry
        for name, entry in modules.items()
        if paths.isdisjoint(f"{entry.path}.{inner}" for inner in WRAPPED)
    }


def _groups(ours: dict[str, EntryName], theirs: dict[str, EntryName]) -> Groups:
    """What one side has in parts and the other in one."""
    by_place = {_place(entry): name for name, entry in ours.items()}
    others = {_place(entry) for entry in theirs.values()}
    groups: Groups = {}
    for path, call in others - by_place.keys():
        above, _, last = path.rpartition(".")
        parts = [by_place.get((f"{above}.{part}", call)) for part in PARTS.get(last, ())]
        if parts and None not in parts:
            names = tuple(part for part in parts if part is not None)
            groups[names[0]] = names
    return groups


def _place(entry: EntryName) -> Place:
    return engine_path(entry.path), entry.call or 0


def _rebuilt(dump: Dump, groups: Groups, entries: dict[str, EntryName]) -> Dump:
    joined = {name for names in groups.values() for name in names}
    renamed = {first: BETWEEN.join(names) for first, names in groups.items()}
    fresh = replace(
        dump, values=Values(), ranges={}, joined=dict(dump.joined), optimizer={}, modes={}
    )
    for name in dump.ranges:
        if name in groups:
            _add(fresh, renamed[name], _joined_values(fresh, dump, groups[name]))
        elif name in entries and name not in joined:
            start, stop = dump.ranges[name]
            keys, records = dump.values.keys[start:stop], dump.values.records[start:stop]
            shift = len(fresh.values.keys) - start
            absent = dump.values.absent.get(name)
            if absent is not None:
                fresh.values.absent[name] = [(index + shift, key) for index, key in absent]
            _add(fresh, name, zip(keys, records, strict=True))
    kept = {renamed.get(name, name) for name in entries if name not in joined or name in renamed}
    fresh.parents = {
        renamed.get(name, name): _above(parent, dump, kept, renamed)
        for name, parent in dump.parents.items()
        if renamed.get(name, name) in kept
    }
    fresh.stacks = {renamed.get(name, name): stack for name, stack in dump.stacks.items()}
    return fresh


def _above(parent: str | None, dump: Dump, kept: set[str], renamed: dict[str, str]) -> str | None:
    """The nearest module above that is kept."""
    seen: set[str] = set()
    while parent is not None and parent not in seen and renamed.get(parent, parent) not in kept:
        seen.add(parent)
        parent = dump.parents.get(parent)
    return None if parent is None or parent in seen else renamed.get(parent, parent)


def _add(dump: Dump, name: str, values: Iterator[tuple[str, Record]]) -> None:
    start = len(dump.values.keys)
    for key, record in values:
        dump.values.keys.append(key)
        # What the two sides make of a record is theirs alone.
        dump.values.records.append(msgspec.structs.replace(record, source=None))
    ranges: Ranges = dump.ranges
    ranges[name] = (start, len(dump.values.keys))


def _joined_values(fresh: Dump, dump: Dump, names: tuple[str, ...]) -> Iterator[tuple[str, Record]]:
    """Inputs are those of the first part, which all read; outputs and parameters stand in a row."""
    parts = [_by_key(dump, name) for name in names]
    for key, record in parts[0].items():
        records = [part[key] for part in parts if key in part]
        role = key.partition(".")[0]
        if role == "input" or len(records) < len(parts) or not record.shape:
            yield key, record
        else:
            dim = len(record.shape) - 1 if role == "output" else 0
            yield key, _joined_record(fresh, dump, records, dim)


def _by_key(dump: Dump, name: str) -> dict[str, Record]:
    window = slice(*dump.ranges[name])
    return dict(zip(dump.values.keys[window], dump.values.records[window], strict=True))


def _joined_record(fresh: Dump, dump: Dump, records: list[Record], dim: int) -> Record:
    shapes = tuple(record.shape or () for record in records)
    if len({len(shape) for shape in shapes}) > 1:
        return records[0]
    whole = list(shapes[0])
    whole[dim] = sum(shape[dim] for shape in shapes)
    name = None
    if all(record.data_name for record in records):
        find = dump.tensor_finder()
        files = [find(record.data_name) for record in records if record.data_name]
        if all(isinstance(file, str) for file in files):
            name = f"joined:{records[0].data_name}"
            join = Join("S", len(records), dim)
            fresh.joined[name] = JoinedTensor(tuple(map(str, files)), shapes, (join,))
    cells = joined_statistics(records)
    return msgspec.structs.replace(
        records[0], shape=tuple(whole), md5=None, sketch=None, data_name=name, **cells
    )


def _flatten(dump: Dump, backend: Backend) -> None:
    for name, (start, stop) in dump.ranges.items():
        for index in range(start, stop):
            record, key = dump.values.records[index], dump.values.keys[index]
            shape = record.shape
            if shape is None or len(shape) < 3 or key.startswith("parameters"):
                continue
            flat = (prod(shape[:-1]), shape[-1])
            # Megatron has the sequence before the batch: the same numbers in another order.
            moved = backend == "megatron" and shape[1] > 1
            moved = moved or (_INTERLEAVED in name and key.startswith("output"))
            data_name = None if moved else record.data_name
            changed = msgspec.structs.replace(record, shape=flat, data_name=data_name)
            dump.values.records[index] = changed
