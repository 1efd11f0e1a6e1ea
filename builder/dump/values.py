"""The values of a dump's entries: one flat list with a range per entry.

A value keeps its record as decoded; statistics become arrays only where they are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

import msgspec


class Record(msgspec.Struct, gc=False):
    """A value as dump.json holds it; a tensor when it has a dtype, else an argument."""

    type: str = ""
    dtype: str | None = None
    shape: tuple[int, ...] | None = None
    Max: int | float | bool | str | None = None  # int: of 64 bits float64 cannot tell all
    Min: int | float | bool | str | None = None
    Mean: float | bool | str | None = None
    Norm: float | bool | str | None = None
    requires_grad: bool | None = None
    data_name: str | None = None
    md5: str | float | None = None  # xor writes a 0-d tensor as a number
    sketch: str | None = None
    inf_count: int | None = None
    nan_count: int | None = None
    unwritten: bool | None = None
    fused: bool | None = None  # a compiler has kept it out of memory
    value: object = None
    group_ranks: list[int] | None = None
    source: str | None = None  # `<entry>.output.<path>` that an input is, where the dumper knew
    through: str | None = None  # the same of the very tensor, where another call handed it on
    rows: str | None = None  # numbers of each row, or the elements of integers
    placements: tuple[str, ...] | None = None
    mesh: tuple[str, ...] | None = None


# An object without a "type" holds further values; it decodes as a Record whose type is empty.
Item: TypeAlias = Record | list[object] | None
Entry: TypeAlias = dict[str, list[Item] | dict[str, Item] | None]
Ranges: TypeAlias = dict[str, tuple[int, int]]


@dataclass(slots=True)
class Values:
    """Keys and records of all values, in the order inputs, parameters, outputs per entry.

    `absent` keeps where an entry holds null: the index that a value there would have, and its key.
    """

    keys: list[str] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    absent: dict[str, list[tuple[int, str]]] = field(default_factory=dict)


def collect_values(
    entries: Mapping[str, Entry], whole: Callable[[str], object]
) -> tuple[Values, Ranges]:
    """Flatten the values of all entries; returns them with each entry's range.

    `whole` gives an entry as plain objects; it is asked where objects nest in a value. Raises
    ValueError, which names the entry, when an entry is not of the dump's form.
    """
    keys: list[str] = []
    items: list[Item] = []
    starts: list[int] = []
    for name, entry in entries.items():
        starts.append(len(keys))
        if _holds_gradients(name):
            _add_gradients(entry, keys, items)
            continue
        for part, role in _ROLES:
            content = entry.get(part)
            if content:
                if isinstance(content, dict):
                    keys += _named(role, tuple(content))
                    items += content.values()
                else:
                    keys += _positions(role, len(content))
                    items += content
    starts.append(len(keys))
    odd = [i for i, item in enumerate(items) if type(item) is not Record or not item.type]
    if odd:
        values, ranges = _expand(list(entries), starts, keys, items, odd, whole)
    else:
        values, ranges = Values(keys, items), _ranges(entries, starts)  # type: ignore[arg-type]  # records, as asked above
    share_texts(values.records)
    return values, ranges


def collect_loose(entries: Mapping[str, object]) -> tuple[Values, Ranges]:
    """The same from entries as plain objects, of any nesting; slow."""
    values, starts = Values(), []
    for name, entry in entries.items():
        starts.append(len(values.keys))
        _flatten_entry(name, entry, values)
    starts.append(len(values.keys))
    return values, _ranges(entries, starts)


def mark_not_finite(records: list[Record]) -> None:
    """Give values of captured graphs the NaN that mindstudio-probe writes as null, in place.

    It does so where an extreme, the mean or the norm is not finite; of its dumps only these have
    no `requires_grad`.
    """
    for record in records:
        if record.requires_grad is None and _is_blank(record):
            record.Max = record.Min = record.Mean = record.Norm = float("nan")


def _is_blank(record: Record) -> bool:
    """Whether a tensor of numbers with a point has elements and no statistics at all."""
    statistics = (record.Max, record.Min, record.Mean, record.Norm)
    has_elements = record.shape is not None and 0 not in record.shape
    is_float = "float" in (record.dtype or "")
    return is_float and has_elements and statistics == (None,) * 4 and record.md5 is None


def share_texts(records: list[Record]) -> None:
    """Have one object for each type, dtype and shape of some records, in place.

    Decoding makes a text per value; a handful of them serves all, for a third of the memory.
    """
    known: dict[object, object] = {}
    share = known.setdefault
    for record in records:
        record.type = share(record.type, record.type)  # type: ignore[assignment]  # the same value, one copy
        record.dtype = share(record.dtype, record.dtype)  # type: ignore[assignment]  # the same value, one copy
        record.shape = share(record.shape, record.shape)  # type: ignore[assignment]  # the same value, one copy
        if type(record.md5) is float:
            record.md5 = str(record.md5)


def collect_saved(entries: Mapping[str, object]) -> tuple[Values, Ranges]:
    """The values of a debug.json: an entry is a value, or lists and objects of values."""
    values, starts = Values(), []
    for name, content in entries.items():
        starts.append(len(values.keys))
        _flatten(name, [("output", content)], values)
    starts.append(len(values.keys))
    return values, _ranges(entries, starts)


def _add_gradients(entry: Entry, keys: list[str], items: list[Item]) -> None:
    for key, content in zip(_named("parameters_grad", tuple(entry)), entry.values()):
        listed = content if isinstance(content, list) else [content]
        keys += [key] * len(listed)
        items += listed  # type: ignore[arg-type]  # records, as asked above


def _expand(
    names: list[str],
    starts: list[int],
    keys: list[str],
    items: list[Item],
    odd: list[int],
    whole: Callable[[str], object],
) -> tuple[Values, Ranges]:
    """Flatten the entries whose items are absent or nest; the others are copied as they are."""
    values = Values()
    moved: list[int] = []
    waiting = iter(odd)
    place = next(waiting, len(items))
    for index, name in enumerate(names):
        start, stop = starts[index], starts[index + 1]
        moved.append(len(values.keys))
        if place >= stop:
            values.keys += keys[start:stop]
            values.records += items[start:stop]  # type: ignore[arg-type]  # records, as asked above
            continue
        if any(type(item) is Record and not item.type for item in items[start:stop]):
            _flatten_entry(name, whole(name), values)
        else:
            _flatten(name, zip(keys[start:stop], items[start:stop]), values)
        while place < stop:
            place = next(waiting, len(items))
    moved.append(len(values.keys))
    return values, _ranges(names, moved)


def _flatten_entry(name: str, entry: object, values: Values) -> None:
    if not isinstance(entry, dict):
        raise ValueError(f"{name} is a {type(entry).__name__}, no object")
    if not _holds_gradients(name):
        parts = ((role, entry[part]) for part, role in _ROLES if entry.get(part) is not None)
        _flatten(name, parts, values)
        return
    for key, content in entry.items():
        listed = content if isinstance(content, list) else [content]
        _flatten(name, ((f"parameters_grad.{key}", item) for item in listed), values)


def _flatten(name: str, content: Iterable[tuple[str, object]], values: Values) -> None:
    # Without recursion: how deep a file nests is not ours to say.
    pending = list(content)[::-1]
    while pending:
        key, item = pending.pop()
        if type(item) is Record:
            values.keys.append(key)
            values.records.append(item)
        elif isinstance(item, dict) and item.get("type"):
            values.keys.append(key)
            values.records.append(_record(item))
        elif isinstance(item, dict):
            pending += [(f"{key}.{k}", v) for k, v in reversed(item.items())]
        elif isinstance(item, list):
            pending += [(f"{key}.{i}", v) for i, v in reversed(list(enumerate(item)))]
        elif item is not None:
            values.keys.append(key)
            values.records.append(Record(type=type(item).__name__, value=item))
        else:
            values.absent.setdefault(name, []).append((len(values.keys), key))


def _ranges(names: Iterable[str], starts: list[int]) -> Ranges:
    return dict(zip(names, pairwise(starts)))


def _holds_gradients(name: str) -> bool:
    if "parameters_grad" not in name:
        return False
    head, separator, tail = name.rpartition(".parameters_grad")
    return bool(separator and head) and (not tail or tail[1:].isdigit())


@lru_cache(maxsize=1024)
def _positions(role: str, count: int) -> tuple[str, ...]:
    return tuple(f"{role}.{position}" for position in range(count))


@lru_cache(maxsize=4096)
def _named(role: str, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{role}.{name}" for name in names)


_ROLES = (
    ("input_args", "input"),
    ("input_kwargs", "input"),
    ("input", "input"),
    ("parameters", "parameters"),
    ("output", "output"),
)
_KNOWN = frozenset(Record.__struct_fields__)


def _record(content: dict[str, object]) -> Record:
    return msgspec.convert({key: v for key, v in content.items() if key in _KNOWN}, Record)
