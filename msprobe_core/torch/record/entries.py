"""Builds the entry of one call: inputs before it runs, outputs after, then its place.

Values are read with gradients and all overrides off, so that reading leaves no trace itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import FrameType
from typing import Literal

import torch

from msprobe_core.capture.entry import Entry, ModuleCall
from msprobe_core.capture.trace import Trace
from msprobe_core.torch.measure.users_modes import users_modes_off
from msprobe_core.torch.memory.memory_trace import MemoryTrace
from msprobe_core.torch.names.api_table import Api
from msprobe_core.values.arguments import Fragment

Key = Literal["input", "output"]
_NO_INPUT = '"input_args": [], "input_kwargs": {}'
_NO_OUTPUT = '"output": []'
Written = tuple[tuple[object, ...], dict[str, object]]


def begin_call(
    trace: MemoryTrace,
    name: str,
    api: Api,
    parent: ModuleCall | None,
    written: Written,
    caller: FrameType | None,
) -> Entry | None:
    """The entry of a call that begins, its inputs written; None when nothing of it is kept."""
    selection = trace.selection
    if selection.takes_all and api.has_values:
        selection.matched = True
        entry = Entry(name, trace.capture_stack(caller, parent))
        write_input(trace, entry, *written)
        return entry
    selection.enter(name)
    if not selection.forward:
        return None
    if not api.has_values and not selection.names(name):
        return begin_passing(trace, name, parent, written, caller)
    if not selection.wants(name, parent is not None and parent.picked_forward):
        return None
    entry = Entry(name, trace.capture_stack(caller, parent))
    write_input(trace, entry, *written)
    return entry


def begin_passing(
    trace: MemoryTrace,
    name: str,
    parent: ModuleCall | None,
    written: Written,
    caller: FrameType | None,
) -> Entry | None:
    """The entry of a call that leaves no values: what it was given, and from whom."""
    passing = trace.passing
    if passing is None:
        trace.pass_by(name, caller, parent)
        return None
    if not trace.selection.wants(name, parent is not None and parent.picked_forward):
        return None
    entry = Entry(name, trace.capture_stack(caller, parent))
    entry.leaves_values = False
    # No element is read, so all that has to be off is what overrides questions about a tensor.
    with torch._C.DisableTorchFunction():
        trace.safely(name, passing.fill, entry, *written)
    return entry


def write_input(
    trace: Trace, entry: Entry, args: Sequence[object], kwargs: Mapping[str, object]
) -> None:
    """Write positional and keyword arguments into an entry."""
    if trace.selection.inputs:
        trace.book.side = "input"
        guarded(trace, entry, _NO_INPUT, _fill_input, args, kwargs)


def write_output(trace: Trace, entry: Entry, result: object) -> None:
    """Write what a call returned into its entry."""
    if not entry.leaves_values:
        _pass_on(trace, entry, result)
    elif trace.selection.outputs:
        trace.book.side = "output"
        if type(result) is torch.Tensor:
            guarded(trace, entry, _NO_OUTPUT, _fill_output, result)
            return
        outputs = result if isinstance(result, tuple) else (result,)
        guarded(trace, entry, _NO_OUTPUT, _fill_list, "output", outputs)


def write_list(trace: Trace, entry: Entry, key: Key, values: Sequence[object]) -> None:
    """Write a list of values as the `input` or `output` of an entry."""
    trace.book.side = key
    guarded(trace, entry, f'"{key}": []', _fill_list, key, values)


def write_value(trace: Trace, entry: Entry, value: object) -> None:
    """Write one value as the whole of an entry."""
    guarded(trace, entry, "null", _fill_value, value)


def end_call(trace: Trace, name: str, entry: Entry | None, parent: ModuleCall | None) -> None:
    """Hand over the entry of a call that has ended and note where it stands."""
    trace.place_forward(name, parent)
    if entry is not None and not entry.leaves_values:
        trace.pass_on(entry, parent, is_placed=True)
    elif entry is not None:
        close_forward(trace, entry)
    if not trace.selection.takes_all:
        trace.selection.leave(name)


def close_forward(trace: Trace, entry: Entry) -> None:
    """Hand over a forward entry, marked when it was run again inside a backward pass."""
    if torch._C._current_graph_task_id() != -1:
        trace.recomputed.append(entry.name)
    trace.add(entry)


def guarded(
    trace: Trace, entry: Entry, instead: str, fill: Callable[..., None], *values: object
) -> None:
    """Run a writer with gradients, modes and subclass overrides off; note abnormal values.

    What a user's object raises while it is read is reported, and `instead` written.
    """
    book = trace.book
    if not trace.selection.values:
        return
    with users_modes_off():
        grad = torch.is_grad_enabled()
        torch._C._set_grad_enabled(False)
        part = Entry(entry.name)
        book.abnormal = False
        try:
            fill(trace, part, *values)
        except Exception as error:  # nothing of this may reach the user's step
            part.parts = [instead]
            trace.report(entry.name, error)
        finally:
            torch._C._set_grad_enabled(grad)
            book.side = None
        entry.abnormal |= book.abnormal
        # In one go: Ctrl-C leaves all of it or nothing.
        entry.parts += [", ", *part.parts] if entry.parts else part.parts


def untraced() -> AbstractContextManager[object]:
    """What runs inside is seen by nothing of the user's; functorch's transforms stay on."""
    return users_modes_off(keep_transforms=True)


def holds_tensor(value: object) -> bool:
    """Whether a result is a tensor or a container with one."""
    if isinstance(value, torch.Tensor):
        return True
    if isinstance(value, Mapping):
        return any(holds_tensor(inner) for inner in value.values())
    return isinstance(value, (list, tuple)) and any(holds_tensor(inner) for inner in value)


def tensor_text(trace: Trace, tensor: torch.Tensor, path: str, side: Key) -> tuple[Fragment, bool]:
    """The record of one tensor, and whether it is abnormal."""
    if not trace.selection.values:
        return "null", False
    holder = Entry(path)
    trace.book.side = side
    guarded(trace, holder, "null", _fill_tensor, tensor)
    return holder.parts[0], holder.abnormal


def _pass_on(trace: Trace, entry: Entry, result: object) -> None:
    """Remember whose output the tensors of a result are."""
    assert isinstance(trace, MemoryTrace)
    if trace.passing is not None:
        with torch._C.DisableTorchFunction():
            trace.passing.put_out(entry.name, result)


def _fill_tensor(trace: Trace, entry: Entry, tensor: torch.Tensor) -> None:
    entry.parts.append(trace.book.record(tensor, entry.name))


def _fill_value(trace: Trace, entry: Entry, value: object) -> None:
    path, _, key = entry.name.rpartition(".")
    trace.arguments.value(value, path, key, entry.parts)


def _fill_input(
    trace: Trace, entry: Entry, args: Sequence[object], kwargs: Mapping[str, object]
) -> None:
    parts, path = entry.parts, f"{entry.name}.input"
    parts.append('"input_args": ')
    trace.arguments.sequence(args, path, parts)
    parts.append(', "input_kwargs": ')
    trace.arguments.mapping(kwargs, path, parts)


def _fill_output(trace: Trace, entry: Entry, result: torch.Tensor) -> None:
    record = trace.book.record(result, entry.name, "output.0")
    entry.parts += ('"output": [', record, "]")


def _fill_list(trace: Trace, entry: Entry, key: str, values: Sequence[object]) -> None:
    entry.parts.append(f'"{key}": ')
    trace.arguments.sequence(values, f"{entry.name}.{key}", entry.parts)
