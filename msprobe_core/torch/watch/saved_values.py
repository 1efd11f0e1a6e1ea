"""Records single values that the user's code names: `debugger.save(value, "name")`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch

from msprobe_core.capture.entry import Entry
from msprobe_core.capture.trace import Trace
from msprobe_core.format import api_entry
from msprobe_core.torch.record.entries import close_forward, write_list
from msprobe_core.torch.watch.gradients import record_backward
from msprobe_core.torch.watch.graph import edge_of

_PREFIX = "Debug"


def save_value(trace: Trace, variable: object, name: str, save_backward: bool) -> None:
    """Write a value as `Debug.<name>.<n>.forward`, its gradient as `….backward`."""
    number = trace.next_call(f"{_PREFIX}.{name}")
    entry = Entry(api_entry(_PREFIX, name, number, "forward"), trace.capture_caller())
    entry.parts.append('"input_args": [], "input_kwargs": {}')
    write_list(trace, entry, "output", [variable])
    close_forward(trace, entry)
    trace.place_forward(entry.name, None)
    if save_backward:
        for position, tensor in enumerate(_tensors(variable)):
            _watch(trace, tensor, api_entry(_PREFIX, name, number, "backward"), position)


def _watch(trace: Trace, tensor: torch.Tensor, name: str, position: int) -> None:
    edge = edge_of(tensor)
    if edge is None:
        return
    node, slot = edge
    path = name if not position else name.replace(".backward", f"_{position}.backward")
    fired = False

    def hook(received: tuple[torch.Tensor | None, ...]) -> None:
        nonlocal fired
        if not fired and not trace.closed:
            fired = True
            trace.place_backward(path, None)
            record_backward(trace, path, False, (received[slot],), ())

    node.register_prehook(hook)


def _tensors(value: object) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _tensors(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _tensors(inner)
