"""Everything recorded of one step in one process: entries, their parents, their stacks.

It hands finished entries to the step's files; nothing here touches the model.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType

from msprobe_core.capture.selection import Selection
from msprobe_core.capture.stacks import StackBook
from msprobe_core.values.arguments import ArgumentWriter, Fragment
from msprobe_core.values.numbers import read_back
from msprobe_core.values.tensors import PendingTensor, TensorBook
from msprobe_core.values.text import quoted

StackGroup = tuple[list[str], str]
"""Names of entries and the stack that they share, as a JSON list of frames."""
_WRITE_EVERY = 512
"""Entries between two writes: a killed process loses at most so many."""


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

    `open` counts the values that may still be added to it.
    """

    __slots__ = ("abnormal", "name", "open", "parts", "stack")

    def __init__(self, name: str, stack: int = -1) -> None:
        self.name, self.stack = name, stack
        self.parts: list[Fragment] = []
        self.abnormal = False
        self.open = 0


class Trace:
    """The record of one step. All methods may be called from any thread.

    Without `nested` (level L1) no parents are kept, as no module can be one.
    """

    def __init__(
        self,
        selection: Selection,
        book: TensorBook,
        stacks: StackBook,
        extra_info: bool,
        nested: bool,
    ) -> None:
        self.selection = selection
        self.book = book
        self.arguments = ArgumentWriter(book)
        self.stacks = stacks
        self.lock = threading.RLock()
        self.closed = False
        self.write: Callable[[], None] = _nothing
        self._write_at = _WRITE_EVERY
        self.recomputed: list[str] = []
        self.entry_count = 0
        self._extra_info, self.nested = extra_info, nested
        self._calls: dict[str, int] = {}
        self._parents: dict[str, str | None] = {}
        self._new_parents: list[tuple[str, str | None]] = []
        self._entries: list[Entry] = []
        self._groups: dict[int, list[str]] = {}
        self._waiting: list[Waiting] = []

    def next_call(self, owner: str) -> int:
        """The number of this call of `owner` in the step, from 0."""
        with self.lock:
            count = self._calls.get(owner, 0)
            self._calls[owner] = count + 1
        return count

    def calls_of(self, owner: str) -> int:
        """How many calls of `owner` there were in the step."""
        return self._calls.get(owner, 0)

    def capture_stack(self, frame: FrameType | None, inside: ModuleCall | None) -> int:
        """The number of the stack at `frame`, -1 when stacks are not kept."""
        if not self._extra_info:
            return -1
        if inside is None:
            return self.stacks.capture(frame, None, -1)
        return self.stacks.capture(frame, inside.base_frame, inside.base_stack)

    def capture_caller(self, depth: int) -> int:
        """The number of the stack that begins `depth` frames above the calling one."""
        return self.capture_stack(sys._getframe(depth + 1), None)

    def place_forward(self, name: str, parent: ModuleCall | None) -> None:
        """Note where a forward call stands, and its parents if they are new."""
        if not self.nested:
            return
        if parent is not None and parent.parent is None and parent.forward == parent.backward:
            self._place_chain(parent, backward=False)  # a region stands before its calls
        self._place(name, None if parent is None else parent.forward)
        self._place_chain(parent, backward=False)

    def place_backward(self, name: str, parent: ModuleCall | None) -> None:
        """Note where a backward call stands: below the backward twin of its forward's parent."""
        self._place(name, None if parent is None else parent.backward)
        self._place_chain(parent, backward=True)

    def place_module(self, call: ModuleCall, backward: bool) -> None:
        """Note where a module call stands; its parents come first."""
        self._place_chain(call, backward)

    def add(self, entry: Entry) -> None:
        """Append a finished entry (or one that is still open)."""
        with self.lock:
            self._entries.append(entry)
            # Numbers that still lie on a device wait for the end of the recording.
            if len(self._entries) >= self._write_at and not self.book.pending:
                self.write()
                self._write_at = len(self._entries) + _WRITE_EVERY

    def wait(self, waiting: Waiting) -> None:
        """Let a module's backward entry wait until what belongs before it has been written."""
        with self.lock:
            place = len(self._waiting)
            if waiting.early:
                place = next(
                    (n for n, w in enumerate(self._waiting) if waiting.call.holds(w.call)), place
                )
            self._waiting.insert(place, waiting)

    def run_waiting(self, node: int | None = None, early_only: bool = False) -> None:
        """Write what waits, save what the same graph node has queued.

        `early_only` writes up to the last entry of a module without input gradients: its
        parameters' gradients follow it, while those of other modules precede.
        """
        with self.lock:
            ready = [w for w in self._waiting if node is None or w.node != node]
            if early_only:
                ready = ready[: max((n + 1 for n, w in enumerate(ready) if w.early), default=0)]
            self._waiting = [w for w in self._waiting if w not in ready]
        for each in ready:
            each.write()

    def take(self, last: bool) -> tuple[list[Entry], list[tuple[str, str | None]]]:
        """Entries and parents that are new since the last call, numbers read from devices.

        Entries behind an open one stay, unless this is the last call of the step.
        """
        with self.lock:
            if last:
                self.run_waiting()
            read_back(self.book.pending)
            self.book.pending.clear()
            ready = self._entries
            if not last:
                ready = ready[: next((n for n, e in enumerate(ready) if e.open), len(ready))]
            self._entries = self._entries[len(ready) :]
            parents, self._new_parents = self._new_parents, []
        kept = ready
        if self.selection.only_abnormal:
            kept = [entry for entry in ready if self._is_abnormal(entry)]
        self.entry_count += len(kept)
        return kept, parents

    def waiting_entries(self) -> int:
        """How many entries have not been taken yet."""
        return len(self._entries)

    def group_stacks(self, entries: list[Entry]) -> list[StackGroup]:
        """Group new entries by stack text; all groups since the step began are remembered."""
        fresh: dict[int, list[str]] = {}
        for entry in entries:
            if entry.stack >= 0:
                fresh.setdefault(self.stacks.text_number(entry.stack), []).append(entry.name)
        for stack, names in fresh.items():
            self._groups.setdefault(stack, []).extend(names)
        return [(names, self.stacks.json(stack)) for stack, names in fresh.items()]

    def all_groups(self) -> list[StackGroup]:
        """All entries of the step grouped by stack text."""
        return [(names, self.stacks.json(stack)) for stack, names in self._groups.items()]

    def _place(self, name: str, parent: str | None) -> None:
        if self.nested and name not in self._parents:
            self._parents[name] = parent
            self._new_parents.append((name, parent))

    def _place_chain(self, call: ModuleCall | None, backward: bool) -> None:
        missing: list[ModuleCall] = []
        while call is not None and self.nested:
            if (call.backward if backward else call.forward) in self._parents:
                break
            missing.append(call)
            call = call.parent
        for each in reversed(missing):
            parent = each.parent
            if backward:
                self._place(each.backward, None if parent is None else parent.backward)
            else:
                self._place(each.forward, None if parent is None else parent.forward)

    @staticmethod
    def _is_abnormal(entry: Entry) -> bool:
        return entry.abnormal or any(
            part.abnormal for part in entry.parts if isinstance(part, PendingTensor)
        )


def _nothing() -> None:
    """Keeps entries until they are taken."""


def entry_text(entry: Entry) -> str:
    """The member text of an entry: `"name": {…}`."""
    try:
        text = "".join(entry.parts)  # type: ignore[arg-type]
    except TypeError:  # a record lay on a device
        text = "".join(map(str, entry.parts))
    return f"{quoted(entry.name)}: {{{text}}}"
