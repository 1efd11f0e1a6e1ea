"""Everything recorded of one step in one process: entries, their parents, their stacks.

It hands finished entries to the step's files; nothing here touches the model.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TypeVar

from msprobe_core.capture.entry import Entry, ModuleCall, Waiting, entry_text
from msprobe_core.capture.framework import ValueBook
from msprobe_core.capture.module_modes import ModuleModes
from msprobe_core.capture.output import StackGroup, StepOutput
from msprobe_core.capture.selection import Selection
from msprobe_core.capture.stacks import StackBook, users_frame
from msprobe_core.config import Config
from msprobe_core.values.arguments import ArgumentWriter
from msprobe_core.values.text import quoted

_Result = TypeVar("_Result")
_WRITE_EVERY = 512
"""Entries between two writes: a killed process loses at most so many."""


class Trace:
    """The record of one step. All methods may be called from any thread.

    At level L1 no parents are kept (`nested` is False), as no module can be one.
    """

    def __init__(
        self,
        config: Config,
        selection: Selection,
        book: ValueBook,
        stacks: StackBook,
        output: StepOutput,
    ) -> None:
        self.selection = selection
        self.book = book
        self.arguments = ArgumentWriter(book)
        self.stacks = stacks
        self.lock = threading.RLock()
        self.seconds_to_write = 0.0
        self._output = output
        self._ended = False
        self._writes_early, self._write_at = not config.async_dump, _WRITE_EVERY
        self.recomputed: list[str] = []
        self.modes = ModuleModes()
        self.entry_count = 0
        self._extra_info, self.nested = config.extra_info, config.records_modules
        self._calls: dict[str, int] = {}
        self._parents: dict[str, str | None] = {}
        self._new_parents: list[tuple[str, str | None]] = []
        self._entries: list[Entry] = []
        self._passed_by: list[tuple[str, int]] = []
        self._passing: list[str] = []
        self._added = 0
        self._groups: dict[int, list[str]] = {}
        self._waiting: list[Waiting] = []

    @property
    def closed(self) -> bool:
        """Whether nothing is recorded any more: the step has ended, or its disk has failed."""
        return self._ended or self._output.failed

    @property
    def directory(self) -> Path:
        """Where the step is written."""
        return self._output.directory

    def report(self, where: str, error: BaseException) -> None:
        """Note what recording could not do; it never reaches the user's step."""
        self._output.report(where, error)

    def safely(self, where: str, run: Callable[..., _Result], *values: object) -> _Result | None:
        """Run a part of recording; what it raises is reported, and None returned."""
        try:
            return run(*values)
        except Exception as error:  # nothing of this may reach the user's step
            self.report(where, error)
            return None

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

    def pass_by(self, name: str, frame: FrameType | None, inside: ModuleCall | None) -> None:
        """Note where a call was made that has a place among the others and gets no entry."""
        if self.nested and self.selection.takes_all and not self.selection.only_abnormal:
            stack = self.capture_stack(frame, inside)
            with self.lock:
                self._passed_by.append((name, stack))

    def pass_on(self, entry: Entry, parent: ModuleCall | None, *, is_placed: bool) -> None:
        """Note a finished call that leaves no values; `is_placed` tells that it has a parent.

        Else its text says where it stands: behind so many members of construct.json, or at level L1
        behind so many entries of dump.json.
        """
        with self.lock:
            where = ""
            if not (is_placed and self.nested):
                where = f'"after": {len(self._parents) if self.nested else self._added}, '
                if self.nested and parent is not None:
                    where += f'"parent": {quoted(parent.forward)}, '
            self._passing.append(
                f"{quoted(entry.name)}: {{{where}{''.join(map(str, entry.parts))}}}"
            )
            self._passed_by.append((entry.name, entry.stack))

    def capture_caller(self) -> int:
        """The number of the stack that begins where the user's code called this package."""
        return self.capture_stack(users_frame(), None)

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
            self._added += 1
            # Numbers that still lie on a device wait for the end of the recording.
            if (
                self._writes_early
                and len(self._entries) >= self._write_at
                and not self.book.has_pending
            ):
                self.flush(last=False)
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
        if not self._waiting:
            return
        with self.lock:
            ready = [w for w in self._waiting if node is None or w.node != node]
            if early_only:
                ready = ready[: max((n + 1 for n, w in enumerate(ready) if w.early), default=0)]
            self._waiting = [w for w in self._waiting if w not in ready]
        for each in ready:
            self.safely(each.call.backward, each.write)

    def leave(self) -> None:
        """Record and write nothing more, in a process that was forked."""
        self._ended = True
        self._output.leave()

    def flush(self, last: bool) -> None:
        """Write the entries that are finished: all of them when this is the step's last time."""
        if self.closed:
            return
        began = time.perf_counter()
        entries, parents = self._take(last)
        groups = self._group_stacks([(entry.name, entry.stack) for entry in entries])
        # A structure dump has names and stacks only.
        texts = [self._text(entry) for entry in entries] if self.selection.values else []
        with self.lock:
            passing, self._passing = self._passing, []
        self._output.append(texts, parents, groups, passing)
        self.seconds_to_write += time.perf_counter() - began

    def end(self) -> None:
        """Write the rest and record nothing more: hooks that are still somewhere do nothing."""
        try:
            self.safely("the end of a step", self.flush, True)
        finally:
            self._ended = True
            self._waiting.clear()
            self.book.forget_all()

    def _text(self, entry: Entry) -> str:
        try:
            return entry_text(entry)
        except Exception as error:  # one entry must not take the others with it
            self.report(entry.name, error)
            return f"{quoted(entry.name)}: {{}}"

    def _take(self, last: bool) -> tuple[list[Entry], list[tuple[str, str | None]]]:
        # Entries behind an open one stay, unless this is the last time.
        with self.lock:
            if last:
                self.run_waiting()
            self.safely("numbers on a device", self.book.read_back)
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

    def _group_stacks(self, entries: list[tuple[str, int]]) -> list[StackGroup]:
        fresh: dict[int, list[str]] = {}
        with self.lock:
            passed_by, self._passed_by = self._passed_by, []
        for name, stack in (*entries, *passed_by):
            if stack >= 0:
                fresh.setdefault(self.stacks.text_number(stack), []).append(name)
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
            part.abnormal for part in entry.parts if not isinstance(part, str)
        )
