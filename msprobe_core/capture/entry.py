"""The parts of a step's record: calls of modules, entries, and what waits to become one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType

from msprobe_core.format import nth_pass
from msprobe_core.values.arguments import Fragment
from msprobe_core.values.text import quoted


class ModuleCall:
    """One running or finished call of a module: the parent of what runs inside it.

    `optimizer` and `clip_grad` are such parents too.
    """

    __slots__ = (
        "backward",
        "base_frame",
        "base_stack",
        "forward",
        "parent",
        "picked_backward",
        "picked_forward",
    )

    def __init__(self, forward: str, backward: str, parent: ModuleCall | None) -> None:
        self.forward, self.backward, self.parent = forward, backward, parent
        self.base_frame: FrameType | None = None
        self.base_stack = -1
        self.picked_forward = self.picked_backward = False

    def in_pass(self, number: int) -> ModuleCall:
        """The same call in the n-th backward pass through its graph, counted from 1."""
        if number == 1 or self.forward == self.backward:
            return self
        parent = None if self.parent is None else self.parent.in_pass(number)
        twin = ModuleCall(self.forward, nth_pass(self.backward, number), parent)
        twin.picked_backward = self.picked_backward
        return twin

    def holds(self, other: ModuleCall | None) -> bool:
        """Whether another call ran inside this one."""
        while other is not None and other is not self:
            other = other.parent
        return other is self


@dataclass(frozen=True, slots=True, eq=False)
class Waiting:
    """A module's backward entry that is complete but not written yet.

    `node` is the identity of the graph node that completed it; `early` marks a module none of whose
    inputs has a gradient.
    """

    call: ModuleCall
    node: int
    early: bool
    write: Callable[[], None]


class Entry:
    """One entry of dump.json; `stack` is a number of the stack book or -1.

    `open` counts the values that may still be added to it. `is_value` tells that its parts are a
    whole value, as in debug.json, and no members; `leaves_values` is False for a call that only
    flow.json tells of.
    """

    __slots__ = ("abnormal", "is_value", "leaves_values", "name", "open", "parts", "stack")

    def __init__(self, name: str, stack: int = -1) -> None:
        self.name, self.stack = name, stack
        self.parts: list[Fragment] = []
        self.abnormal = self.is_value = False
        self.leaves_values = True
        self.open = 0


def entry_text(entry: Entry) -> str:
    """The member text of an entry: `"name": {…}`, or `"name": value`."""
    try:
        text = "".join(entry.parts)  # type: ignore[arg-type]  # what is no text raises
    except TypeError:  # a record lay on a device
        text = "".join(map(str, entry.parts))
    return f"{quoted(entry.name)}: {text if entry.is_value else f'{{{text}}}'}"
