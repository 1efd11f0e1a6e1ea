"""Which recorded value a tensor is: the output that made what lies in its memory.

A tensor is found by its storage, the part of it that it covers, and the epoch in which it was
written, so views and changes in place lead to the value that they show.
"""

from __future__ import annotations

from msprobe_core.torch.memory.book import Made, Memory
from msprobe_core.torch.memory.views import WHOLE, View, inside, overlap

_MOST_PARTS = 64  # a buffer that is filled piece by piece


def keep(memory: Memory, view: View, name: str) -> None:
    """Note that a view of a storage is the output of that value name.

    The first output that shows it in an epoch has made it: a module returns what a call inside it
    made.
    """
    made, epoch = memory.made, memory.epoch
    if not made:
        # A first output is taken for the whole: what lies beside it, nobody else has told of.
        memory.made = [Made(name, epoch, view, WHOLE)]
        return
    if any(each.view == view and each.epoch == epoch for each in made):
        return
    extent = view.extent
    own = [_own_extent(each) for each in made]
    memory.made = [
        each
        for each in own
        if not inside(each.extent, extent) or (each.epoch == epoch and each.name is not None)
    ][1 - _MOST_PARTS :]
    memory.made.append(Made(name, epoch, view, extent))


def source_of(memory: Memory, view: View) -> str | None:
    """The value name of the output that a view is or shows; None when none is known."""
    made = memory.made
    if len(made) == 1:
        return made[0].name
    extent = view.extent
    overlapping = [each for each in made if overlap(each.extent, extent)]
    if not overlapping:
        return None
    newest = max(each.epoch for each in overlapping)
    latest = [each for each in overlapping if each.epoch == newest]
    named = [each for each in latest if each.name is not None] or latest
    return next((each for each in named if each.view == view), named[0]).name


def _own_extent(made: Made) -> Made:
    return made if made.view is None else made._replace(extent=made.view.extent)
