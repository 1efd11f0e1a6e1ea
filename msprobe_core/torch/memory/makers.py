"""Which call put out the very tensor that is read, whatever memory it shows.

`flow.source_of` tells whose numbers a tensor holds; here is told through which calls it came. A
tensor object goes by its identity as long as it shows what it showed when it was put out; another
object goes by the memory that it shares with what was put out.
"""

from __future__ import annotations

import torch

from msprobe_core.torch.memory.book import Memory, Shown, new_shown
from msprobe_core.torch.memory.views import View, overlap


def put_out(tensor: torch.Tensor, memory: Memory, view: View, name: str | None) -> None:
    """Note that a tensor is the output of that value name, or was there before any call."""
    shown = new_shown(Shown, (name, memory.epoch, view, False))
    memory.objects[id(tensor)] = shown
    memory.show(shown)


def maker_of(tensor: torch.Tensor, memory: Memory, view: View) -> str | None:
    """The value name of the output that a tensor is; None where no call has put it out."""
    if not memory.shown:
        put_out(tensor, memory, view, None)
        return None
    if len(memory.shown) == 1:
        return memory.shown[0].name
    known = memory.objects.get(id(tensor))
    if known is None or (known.view is not view and known.view != view):
        return _of_memory(memory, view)
    if known.epoch == memory.epoch:
        return known.name
    return _written_since(memory, known.epoch, view) or known.name


def _written_since(memory: Memory, epoch: int, view: View) -> str | None:
    """The latest write of what a view shows, of those after an epoch."""
    extent = view.extent
    for shown in reversed(memory.shown):
        if shown.epoch <= epoch:
            return None
        if shown.writes and overlap(shown.view.extent, extent):
            return shown.name
    return None


def _of_memory(memory: Memory, view: View) -> str | None:
    """The output that shows the same, or wrote it last; else what made it, which is behind all."""
    extent = view.extent
    for shown in reversed(memory.shown):
        if shown.view == view or (shown.writes and overlap(shown.view.extent, extent)):
            return shown.name
    behind = (shown for shown in memory.shown if overlap(shown.view.extent, extent))
    first = next(behind, None)
    return None if first is None else first.name
