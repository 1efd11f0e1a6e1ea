"""Has inductor fuse a graph as if it had no records, and what is computed for records on its own.

Within a fused kernel a value goes on with all of its digits, in bfloat16 more than memory holds, so
which steps become one kernel decides the bits of a graph's results. Inductor decides that by what
two steps share, how far apart they stand, who else reads what they read, and what else could be
fused. So the steps that are there for records alone are set aside before inductor fuses, and put
back when it is done. No step of the graph reads one of theirs, so none is missed in between.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import torch

Steps = list[Any]
"""Nodes of inductor's scheduler."""
Pass = Callable[[Steps], Steps]


@dataclass(frozen=True, slots=True)
class _Aside:
    """Steps for records, and those of them that read a buffer of the graph's."""

    steps: Steps
    readers: list[tuple[Any, list[Any]]]


_ASIDE: WeakKeyDictionary[Any, _Aside] = WeakKeyDictionary()
"""By scheduler: one fuses each graph, and hands both passes the same steps."""


def keep_records_apart(config: Any) -> None:
    """Have all graphs fused so from now on; passes of the user's see all steps, as always."""
    before, after = config._pre_fusion_custom_pass, config._post_fusion_custom_pass
    if not isinstance(before, _Chain):
        config._pre_fusion_custom_pass = _Chain(set_aside, before, ours_first=False)
    if not isinstance(after, _Chain):
        config._post_fusion_custom_pass = _Chain(put_back, after, ours_first=True)


def fuse_as_usual(config: Any) -> None:
    """Take that back."""
    for key in ("_pre_fusion_custom_pass", "_post_fusion_custom_pass"):
        found = getattr(config, key)
        if isinstance(found, _Chain):
            setattr(config, key, found.theirs)


@dataclass(frozen=True, slots=True)
class _Chain:
    """A pass of ours beside one of the user's, if there is one."""

    ours: Pass
    theirs: Pass | None
    ours_first: bool

    def __call__(self, steps: Steps) -> Steps:
        passes = [each for each in (self.ours, self.theirs) if each is not None]
        for each in passes if self.ours_first else passes[::-1]:
            steps = each(steps)
        return steps


def set_aside(steps: Steps) -> Steps:
    """Take out the steps of records, and all that tells of them in what is left."""
    known: dict[str, bool] = {}
    aside = [step for step in steps if is_for_records(step, known)]
    if not aside or len(aside) == len(steps):
        return steps
    names = {step.get_name() for step in aside}
    own = [step for step in steps if step.get_name() not in names]
    _renumber(own, aside)
    _ASIDE[steps[0].scheduler] = _Aside(aside, _take_readers(own, names))
    return own


def put_back(steps: Steps) -> Steps:
    """Fuse the steps of records among themselves, and add them to those of the graph."""
    aside = _ASIDE.pop(steps[0].scheduler, None) if steps else None
    if aside is None:
        return steps
    scheduler = steps[0].scheduler
    for made, readers in aside.readers:
        made.users = [*made.users, *readers]
    records = scheduler.fuse_nodes(aside.steps)
    ordered: Steps = scheduler.topological_sort_schedule([*steps, *records])
    return ordered


def is_for_records(step: Any, known: dict[str, bool]) -> bool:
    """Whether all that read what a step of inductor's scheduler makes, over any number of further
    steps, are records. `known` keeps the answers.
    """
    name = step.get_name()
    if name not in known:
        known[name] = _leads_to_records(step, known)
    return known[name]


def _leads_to_records(step: Any, known: dict[str, bool]) -> bool:
    # Steps that overwrite something can stand in a circle of readers.
    waiting, seen = [step], set[str]()
    while waiting:
        each = waiting.pop()
        name = each.get_name()
        if name in seen or known.get(name) or _is_record(each):
            continue
        seen.add(name)
        readers = list(_readers(each))
        if not readers or not all(hasattr(reader, "get_outputs") for reader in readers):
            return False  # it changes something, or is a result of the graph
        waiting += readers
    return True


def _readers(step: Any) -> Iterable[Any]:
    """Who reads what a step makes; a weak user only overwrites later what the step has read."""
    return (user.node for made in step.get_outputs() for user in made.users if not user.is_weak)


def _is_record(step: Any) -> bool:
    kernel = getattr(step, "node", None)
    ours = torch.ops.msprobe
    return getattr(kernel, "op_overload", None) in (ours.row.default, ours.owner.default)


def _renumber(own: Steps, aside: Steps) -> None:
    """Give each step of the graph the place that it has without those of records."""
    places = sorted(step.min_order for step in aside)
    for step in own:
        step.min_order -= bisect_left(places, step.min_order)
        step.max_order -= bisect_left(places, step.max_order)
    for at, step in enumerate(aside, len(own)):
        step.min_order = step.max_order = at


def _take_readers(own: Steps, names: set[str]) -> list[tuple[Any, list[Any]]]:
    taken = []
    for made in (made for step in own for made in step.get_outputs()):
        readers = [user for user in made.users if user.get_name() in names]
        if readers:
            made.users = [user for user in made.users if user.get_name() not in names]
            taken.append((made, readers))
    return taken
