"""Parameters that a framework keeps in another form than PyTorch, the numbers in the same order."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from builder.dump.reader import Dump
from builder.dump.values import Record
from msprobe_core.format import EntryName, framework_named

_KERNELS = ("parameters.weight", "parameters_grad.weight")


def give_torch_shapes(dump: Dump, entries: Mapping[str, EntryName]) -> None:
    """Give kernels of a dump PyTorch's shapes; `entries` are in PyTorch's words.

    The dump's list of records has to be its own: it is written to.
    """
    layers = framework_named(dump.framework).height_one
    if not layers:
        return
    records = dump.values.records
    for name, (start, stop) in dump.ranges.items():
        entry = entries.get(name)
        if entry is None or entry.kind == "api" or entry.type_name not in layers:
            continue
        for index in range(start, stop):
            if dump.values.keys[index].startswith(_KERNELS):
                records[index] = _without_height(records[index])


def _without_height(kernel: Record) -> Record:
    shape = kernel.shape
    if shape is None or len(shape) != 4 or shape[2] != 1:
        return kernel
    return replace(kernel, shape=(*shape[:2], shape[3]))
