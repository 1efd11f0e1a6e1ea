"""Keeps what is computed for records in kernels of its own.

Within a fused kernel a value goes on with all of its digits, so which steps of a graph are one
kernel decides its bits. A step that is there for records alone would take the place of another.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

CanFuse = Callable[[Any, Any, Any, int], bool]


def keep_records_apart() -> None:
    """Have inductor fuse no step of records with one of the graph's own."""
    choices = _choices()
    if getattr(choices.can_fuse, "for_records", False):
        return
    usual: CanFuse = choices.can_fuse

    def can_fuse(scheduler: Any, one: Any, other: Any, score: int) -> bool:  # noqa: ANN401
        alike = is_for_records(one) == is_for_records(other)
        return alike and usual(scheduler, one, other, score)

    can_fuse.for_records = True  # type: ignore[attr-defined]
    choices.can_fuse = can_fuse


def fuse_as_usual() -> None:
    """Take that back."""
    choices = _choices()
    if getattr(choices.can_fuse, "for_records", False):
        del choices.can_fuse  # what stood in the way of the class's own


def is_for_records(step: Any) -> bool:  # noqa: ANN401 - a node of inductor's scheduler
    """Whether all that read what a step makes, over any number of steps, are records."""
    waiting, seen = [step], set()
    while waiting:
        each = waiting.pop()
        if each in seen or _is_record(each):
            continue
        seen.add(each)
        readers = [user.node for made in each.get_outputs() for user in made.users]
        if not readers or not all(hasattr(reader, "get_outputs") for reader in readers):
            return False  # it changes something, or is a result of the graph
        waiting += readers
    return True


def _is_record(step: Any) -> bool:  # noqa: ANN401
    kernel = getattr(step, "node", None)
    return getattr(kernel, "op_overload", None) is torch.ops.msprobe.row.default


def _choices() -> Any:  # noqa: ANN401 - what inductor decides by in this thread
    from torch._inductor.virtualized import V

    return V.choices
