"""Which calls of a dump are checked, and why others are not.

Pure: reads dump.json, runs nothing, needs no torch.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from builder.dump.json_files import read_json
from builder.errors import DumpError
from msprobe_core.format import TENSOR_DIR
from msprobe_core.format.frameworks import (
    COMMUNICATION,
    PYTORCH,
    TENSOR_TYPES,
    framework_called,
    frameworks,
)
from msprobe_core.format.names import EntryName, NameSyntaxError, parse_entry

Record = Mapping[str, object]
_DECODER = msgspec.json.Decoder(dict[str, object])


@dataclass(frozen=True, slots=True)
class Call:
    """One recorded call; `skip` says why it cannot be run, None if it can.

    `backward` is None where the dump has no backward entry of the call.
    """

    name: str
    prefix: str
    api: str
    forward: Record
    backward: Record | None = None
    skip: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """The calls in the order of the dump; `tensors` is the folder of their data, if recorded."""

    calls: tuple[Call, ...]
    tensors: Path | None
    framework: str = PYTORCH.name


@dataclass(frozen=True, slots=True)
class Selection:
    """Names of APIs to check (empty: all) and not to check, and whether repetitions are dropped."""

    white: Collection[str] = ()
    black: Collection[str] = ()
    without_repetitions: bool = False


def read_plan(dump: Path, selection: Selection | None = None) -> Plan:
    """Read dump.json of level L1 or mix; raises DumpError if it is of no framework known here."""
    content = read_json(dump, _DECODER)
    written = content.get("framework")
    framework = framework_called(written)
    if framework is None or framework.acc_check is None:
        checked = [each.display for each in frameworks() if each.acc_check is not None]
        hint = f"give a dump.json of {' or '.join(checked)}"
        raise DumpError(f"{dump}: framework is {written!r}", hint)
    data = content.get("data")
    if not isinstance(data, Mapping):
        raise DumpError(f"{dump}: has no data", "give a dump.json of level L1 or mix")
    calls = tuple(_selected(_calls(data), selection or Selection()))
    tensors = dump.parent / TENSOR_DIR if content.get("dump_data_dir") else None
    return Plan(calls, tensors, framework.name)


def find_call(plan: Plan, name: str) -> Call:
    """The call of that name, with or without its direction; raises DumpError."""
    wanted = name.removesuffix(".forward").removesuffix(".backward")
    for call in plan.calls:
        if call.name == wanted:
            return call
    near = [call.name for call in plan.calls if call.api in wanted.split(".")][:5]
    hint = f"recorded are {', '.join(near)}" if near else "look the name up in dump.json"
    raise DumpError(f"{name}: no such call in the dump", hint)


def _calls(data: Mapping[str, object]) -> Iterator[Call]:
    entries = {name: entry for name in data if (entry := _api_entry(name)) is not None}
    for name, entry in entries.items():
        if entry.direction == "forward":
            twin = data.get(entry.twin("backward"))
            yield _call(entry, data[name], twin if isinstance(twin, Mapping) else None)
        elif entry.twin("forward") not in entries:
            reason = "the dump has its backward entry only; record the forward pass as well"
            yield Call(_name(entry), entry.prefix, entry.type_name, {}, None, reason)


def _api_entry(name: str) -> EntryName | None:
    try:
        entry = parse_entry(name)
    except NameSyntaxError:
        return None
    return entry if entry.kind == "api" else None


def _call(entry: EntryName, record: object, backward: Record | None) -> Call:
    readable = isinstance(record, Mapping) and "input_args" in record
    forward: Record = record if isinstance(record, Mapping) and readable else {}
    skip = _reason(entry) if readable else "its entry holds no input_args; dump it again"
    return Call(_name(entry), entry.prefix, entry.type_name, forward, backward, skip)


def _name(entry: EntryName) -> str:
    return f"{entry.owner}.{entry.call}"


_BY_PREFIX = {
    **dict.fromkeys(COMMUNICATION, "communication needs the other ranks; it is not run alone"),
    "Jit": "compiled code is no function that can be found by its name",
    "MindSpeed": "MindSpeed's functions need its own set-up; they are not run alone",
    "Triton": "a Triton kernel is no function that can be found by its name",
}
_UNDEFINED = frozenset(
    "empty empty_like empty_strided new_empty new_empty_strided empty_with_format".split()
)
_RUN_BY_TORCH = frozenset("__init_subclass__ __subclasshook__ __torch_function__".split())


def _reason(entry: EntryName) -> str | None:
    if entry.prefix in _BY_PREFIX:
        return _BY_PREFIX[entry.prefix]
    if entry.type_name in _UNDEFINED:
        return "what it returns is undefined until it is written to"
    if entry.type_name in _RUN_BY_TORCH:
        return "it is part of Python's class machinery and computes nothing"
    return None


def _selected(calls: Iterator[Call], selection: Selection) -> Iterator[Call]:
    seen: set[str] = set()
    for call in calls:
        if call.api in selection.black or (selection.white and call.api not in selection.white):
            continue
        if selection.without_repetitions:
            form = _form(call)
            if form in seen:
                continue
            seen.add(form)
        yield call


def _form(call: Call) -> str:
    """What calls have in common that differ in numbers only: formats, shapes, other arguments."""
    parts = (call.forward.get("input_args"), call.forward.get("input_kwargs"), call.backward)
    return json.dumps([call.prefix, call.api, [_without_numbers(part) for part in parts]])


_FORM_KEYS = ("type", "dtype", "shape", "requires_grad")


def _without_numbers(value: object) -> object:
    if isinstance(value, Mapping):
        tensor = value.get("type") in TENSOR_TYPES
        kept = _FORM_KEYS if tensor else tuple(value)
        return {key: _without_numbers(value.get(key)) for key in kept}
    if isinstance(value, list):
        return [_without_numbers(element) for element in value]
    return value
