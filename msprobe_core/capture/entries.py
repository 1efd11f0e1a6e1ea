"""Builds the entry of one call: inputs before it runs, outputs after, then its place.

Values are read with gradients and all overrides off, so that reading leaves no trace itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import FrameType

import torch

from msprobe_core.capture.api_table import Api
from msprobe_core.capture.trace import Entry, ModuleCall, Trace
from msprobe_core.values.arguments import Fragment

Written = tuple[tuple[object, ...], dict[str, object]]


def begin_call(
    trace: Trace,
    name: str,
    api: Api,
    parent: ModuleCall | None,
    written: Written,
    caller: FrameType | None,
) -> Entry | None:
    """The entry of a call that begins, its inputs written; None when it gets no values."""
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
        return None
    if not selection.wants(name, parent is not None and parent.picked_forward):
        return None
    entry = Entry(name, trace.capture_stack(caller, parent))
    write_input(trace, entry, *written)
    return entry


def write_input(
    trace: Trace, entry: Entry, args: Sequence[object], kwargs: Mapping[str, object]
) -> None:
    """Write positional and keyword arguments into an entry."""
    if trace.selection.inputs:
        guarded(trace, entry, _fill_input, args, kwargs)


def write_output(trace: Trace, entry: Entry, result: object) -> None:
    """Write what a call returned into its entry."""
    if trace.selection.outputs:
        if type(result) is torch.Tensor:
            guarded(trace, entry, _fill_output, result)
            return
        outputs = result if isinstance(result, tuple) else (result,)
        guarded(trace, entry, _fill_list, "output", outputs)


def write_list(trace: Trace, entry: Entry, key: str, values: Sequence[object]) -> None:
    """Write a list of values under a key (`input` or `output`) of an entry."""
    guarded(trace, entry, _fill_list, key, values)


def end_call(trace: Trace, name: str, entry: Entry | None, parent: ModuleCall | None) -> None:
    """Hand over the entry of a call that has ended and note where it stands."""
    trace.place_forward(name, parent)
    if entry is not None:
        close_forward(trace, entry)
    if not trace.selection.takes_all:
        trace.selection.leave(name)


def close_forward(trace: Trace, entry: Entry) -> None:
    """Hand over a forward entry, marked when it was run again inside a backward pass."""
    if torch._C._current_graph_task_id() != -1:
        trace.recomputed.append(entry.name)
    trace.add(entry)


def guarded(trace: Trace, entry: Entry, fill: Callable[..., None], *values: object) -> None:
    """Run a writer with gradients, modes and subclass overrides off; note abnormal values."""
    if not trace.selection.values:
        return
    book = trace.book
    with torch._C.DisableTorchFunction():
        grad = torch.is_grad_enabled()
        torch._C._set_grad_enabled(False)
        try:
            book.abnormal = False
            if entry.parts:
                entry.parts.append(", ")
            fill(trace, entry, *values)
            entry.abnormal |= book.abnormal
        finally:
            torch._C._set_grad_enabled(grad)


def holds_tensor(value: object) -> bool:
    """Whether a result is a tensor or a container with one."""
    if isinstance(value, torch.Tensor):
        return True
    if isinstance(value, Mapping):
        return any(holds_tensor(inner) for inner in value.values())
    return isinstance(value, (list, tuple)) and any(holds_tensor(inner) for inner in value)


def tensor_text(trace: Trace, tensor: torch.Tensor, path: str) -> tuple[Fragment, bool]:
    """The record of one tensor, and whether it is abnormal."""
    if not trace.selection.values:
        return "null", False
    holder = Entry(path)
    guarded(trace, holder, _fill_tensor, tensor)
    return holder.parts[0], holder.abnormal


def _fill_tensor(trace: Trace, entry: Entry, tensor: torch.Tensor) -> None:
    entry.parts.append(trace.book.record(tensor, entry.name))


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
