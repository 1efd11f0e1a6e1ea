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
        known = vars(scheduler).setdefault("msprobe_records", {})
        alike = is_for_records(one, known) == is_for_records(other, known)
        return alike and usual(scheduler, one, other, score)

    can_fuse.for_records = True  # type: ignore[attr-defined]
    choices.can_fuse = can_fuse


def fuse_as_usual() -> None:
    """Take that back."""
    choices = _choices()
    if getattr(choices.can_fuse, "for_records", False):
        del choices.can_fuse  # what stood in the way of the class's own


def is_for_records(step: Any, known: dict[str, bool]) -> bool:  # noqa: ANN401
    """Whether all that read what a step of inductor's scheduler makes, over any number of further
    steps, are records. `known` holds the answers for steps that are no fusions.
    """
    return all(_is_alone(each, known) for each in step.get_nodes())


def _is_alone(step: Any, known: dict[str, bool]) -> bool:  # noqa: ANN401
    # Without recursion: chains of steps are as long as models are deep.
    waiting = [step]
    while waiting:
        each = waiting[-1]
        readers = [user.node for made in each.get_outputs() for user in made.users]
        unknown = [reader for reader in readers if not _is_told(reader, known)]
        if _is_record(each):
            known[each.get_name()] = True
        elif not readers or any(not _answer(r, known) for r in readers if r not in unknown):
            known[each.get_name()] = False  # it changes something, or others read it
        elif unknown:
            waiting += unknown
            continue
        else:
            known[each.get_name()] = True
        waiting.pop()
    return known[step.get_name()]


def _is_told(reader: Any, known: dict[str, bool]) -> bool:  # noqa: ANN401
    return not hasattr(reader, "get_outputs") or reader.get_name() in known


def _answer(reader: Any, known: dict[str, bool]) -> bool:  # noqa: ANN401
    """A reader that is no step is the graph's output."""
    return hasattr(reader, "get_outputs") and known[reader.get_name()]


def _is_record(step: Any) -> bool:  # noqa: ANN401
    kernel = getattr(step, "node", None)
    return getattr(kernel, "op_overload", None) is torch.ops.msprobe.row.default


def _choices() -> Any:  # noqa: ANN401 - what inductor decides by in this thread
    from torch._inductor.virtualized import V

    return V.choices
