"""Builds the entry of one call: inputs before it runs, outputs after, then its place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Literal

from msprobe_core.capture.entry import Entry, ModuleCall
from msprobe_core.capture.trace import Trace
from msprobe_core.mindspore.untraced import untraced
from msprobe_core.values.text import quoted

Key = Literal["input", "output"]
_NO_INPUT = '"input_args": [], "input_kwargs": {}'
_NO_OUTPUT = '"output": []'


def begin_call(
    trace: Trace,
    name: str,
    parent: ModuleCall | None,
    args: Sequence[object],
    kwargs: Mapping[str, object],
    caller: FrameType | None,
) -> Entry | None:
    """The entry of a call that begins, its inputs written; None when it is not wanted."""
    selection = trace.selection
    selection.enter(name)
    picked = parent is not None and parent.picked_forward
    if not selection.forward or not selection.wants(name, picked):
        return None
    entry = Entry(name, trace.capture_stack(caller, parent))
    if selection.inputs:
        guarded(trace, entry, "input", _NO_INPUT, _fill_input, args, kwargs)
    return entry


def write_output(trace: Trace, entry: Entry, result: object) -> None:
    """Write what a call returned into its entry."""
    if trace.selection.outputs:
        outputs = result if isinstance(result, tuple) else (result,)
        guarded(trace, entry, "output", _NO_OUTPUT, _fill_list, "output", outputs)


def write_list(trace: Trace, entry: Entry, key: Key, values: Sequence[object]) -> None:
    """Write a list of values as the `input` or `output` of an entry."""
    guarded(trace, entry, key, f'"{key}": []', _fill_list, key, values)


def write_value(trace: Trace, entry: Entry, value: object) -> None:
    """Write one value as the whole of an entry."""
    guarded(trace, entry, "input", "null", _fill_value, value)


def write_named(trace: Trace, entry: Entry, name: str, value: object) -> None:
    """Write the gradient of one parameter as a member of an entry."""
    guarded(trace, entry, "output", f"{quoted(name)}: []", _fill_named, name, value)


def write_parameters(trace: Trace, entry: Entry, parameters: Mapping[str, object]) -> None:
    """Write a cell's own parameters into its entry."""
    guarded(trace, entry, "input", '"parameters": {}', _fill_parameters, parameters)


def end_call(trace: Trace, name: str, entry: Entry | None, parent: ModuleCall | None) -> None:
    """Hand over the entry of a call that has ended and note where it stands."""
    trace.place_forward(name, parent)
    if entry is not None:
        trace.add(entry)
    trace.selection.leave(name)


def guarded(
    trace: Trace, entry: Entry, side: Key, instead: str, fill: Callable[..., None], *values: object
) -> None:
    """Run a writer untraced; what it raises is reported, and `instead` written."""
    if not trace.selection.values:
        return
    book, part = trace.book, Entry(entry.name)
    with untraced:
        book.abnormal, book.side = False, side
        try:
            fill(trace, part, *values)
        except Exception as error:  # what an object of the user's raises while it is read
            part.parts = [instead]
            trace.report(entry.name, error)
        finally:
            book.side = None
    entry.abnormal |= book.abnormal
    entry.parts += [", ", *part.parts] if entry.parts else part.parts


def _fill_input(
    trace: Trace, entry: Entry, args: Sequence[object], kwargs: Mapping[str, object]
) -> None:
    parts, path = entry.parts, f"{entry.name}.input"
    parts.append('"input_args": ')
    trace.arguments.sequence(args, path, parts)
    parts.append(', "input_kwargs": ')
    trace.arguments.mapping(kwargs, path, parts)


def _fill_list(trace: Trace, entry: Entry, key: str, values: Sequence[object]) -> None:
    entry.parts.append(f'"{key}": ')
    trace.arguments.sequence(values, f"{entry.name}.{key}", entry.parts)


def _fill_value(trace: Trace, entry: Entry, value: object) -> None:
    path, _, key = entry.name.rpartition(".")
    trace.arguments.value(value, path, key, entry.parts)


def _fill_named(trace: Trace, entry: Entry, name: str, value: object) -> None:
    entry.parts.append(f"{quoted(name)}: [")
    trace.arguments.value(value, entry.name, name, entry.parts)
    entry.parts.append("]")


def _fill_parameters(trace: Trace, entry: Entry, parameters: Mapping[str, object]) -> None:
    entry.parts.append('"parameters": ')
    trace.arguments.mapping(parameters, f"{entry.name}.parameters", entry.parts)
