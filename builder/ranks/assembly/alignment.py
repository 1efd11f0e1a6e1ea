"""Which calls of different ranks are one call of the logical model.

Modules by name, calls inside a module by their turn among its calls, micro-batches by their number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Literal

from builder.dump.reader import Dump
from builder.ranks.layout.names import LogicalNames
from builder.ranks.layout.schedule import RecordedSchedule
from msprobe_core.format import EntryName, NameSyntaxError, parse_entry

OPTIMIZER = "optimizer"
Phase = Literal[0, 1, 2]  # forward, backward, what follows


@dataclass(frozen=True, slots=True)
class Call:
    """One entry of one rank in its logical place.

    `key` is what it shares with the same call on other ranks and, if micro-batches are joined, of
    other micro-batches; `micro` the number of the micro-batch on this rank; `order` its turn.
    `owner` is the logical name up to the call number, `parent` the entry around it on this rank.
    `parameter` is what a call of the optimizer works on: its order depends on the layout.
    """

    name: str
    key: Hashable
    owner: str
    entry: EntryName | None
    parent: str | None
    micro: int
    phase: Phase
    order: int
    parameter: str | None = None


def parse(name: str) -> EntryName | None:
    """An entry's parts, None where the name is outside the grammar (`optimizer`)."""
    try:
        return parse_entry(name)
    except NameSyntaxError:
        return None


def entry_names(dump: Dump) -> list[str]:
    """All entries of a dump in order: those with a place, and values right after what they follow.

    The order of the values alone is that of completion; a gradient that only they hold is put
    behind its predecessor.
    """
    names = list(dump.parents)
    known = set(names)
    behind: dict[str | None, list[str]] = {}
    last: str | None = None
    for name in dump.ranges:
        if name in known:
            last = name
        else:
            behind.setdefault(last, []).append(name)
    listed = behind.pop(None, [])
    for name in names:
        listed.append(name)
        listed += behind.get(name, ())
    return listed


def calls_of(dump: Dump, names: LogicalNames, stage: int, micro_batches: int) -> Iterator[Call]:
    """The calls of one rank in order; what stands in no module goes with the calls before it."""
    return _Aligner(dump, names, stage, micro_batches).calls()


class _Aligner:
    """Walks one rank's entries; `made` holds the calls so far, modules all at once."""

    def __init__(self, dump: Dump, names: LogicalNames, stage: int, micro_batches: int) -> None:
        self.dump, self.names, self.stage = dump, names, stage
        listed = entry_names(dump)
        self.entries = {name: parse(name) for name in listed}
        # A wrapper around the whole model (DDP's `module`) is the model itself, which has no entry.
        self.wrappers = {name for name in listed if self._is_wrapper(self.entries[name])}
        self.listed = [name for name in listed if name not in self.wrappers]
        self.schedule = RecordedSchedule(dump, self.entries)
        self.turns: Counter[Hashable] = Counter()
        self.made: dict[str, Call] = self._modules(micro_batches)
        backward = (i for i, name in enumerate(self.listed) if _is_backward(self.entries[name]))
        self.last_backward = max(backward, default=len(self.listed))
        self.phase: Phase = 0
        self.micro = 0
        steps = list(dump.optimizer.values())
        self.updated = [name for step in steps for name in step.get("parameters", ())]
        self.optimizer_calls = Counter(
            e.owner
            for name, e in self.entries.items()
            if e is not None and dump.parents.get(name) == OPTIMIZER
        )

    def calls(self) -> Iterator[Call]:
        kept = self._last_gradients()
        for order, name in enumerate(self.listed):
            entry, call = self.entries[name], self.made.get(name)
            if self.schedule.is_dry(name):
                continue
            if call is not None:
                self.phase, self.micro = call.phase, call.micro
            elif entry is None:
                call = Call(name, name, name, None, None, 0, 2, order)
            elif entry.kind == "parameters_grad":
                if name not in kept:
                    continue
                owner = self.names.owner(entry)
                call = Call(name, (owner, "gradient"), owner, entry, None, 0, 1, order)
            else:
                call = self._api_call(name, entry, order)
            self.made[name] = call
            yield call

    def _parent(self, name: str) -> str | None:
        parent = self.dump.parents.get(name)
        while parent in self.wrappers:
            parent = self.dump.parents.get(parent)
        return parent

    def _is_wrapper(self, entry: EntryName | None) -> bool:
        return entry is not None and entry.kind == "module" and not self.names.path(entry.path)

    def _modules(self, micro_batches: int) -> dict[str, Call]:
        modules = [e for e in self.entries.values() if e is not None and e.kind == "module"]
        totals = Counter(entry.owner for entry in modules if entry.direction == "forward")
        made: dict[str, Call] = {}
        places = self.schedule.places()
        for order, name in enumerate(self.listed):
            entry = self.entries[name]
            if entry is None or entry.kind != "module":
                continue
            share = max(1, totals[entry.owner] // micro_batches)
            micro, turn = divmod(entry.call or 0, share)
            micro, turn = places.get((entry.owner, entry.call or 0), (micro, turn))
            owner = self.names.owner(entry)
            key = (owner, entry.direction, turn)
            phase: Phase = 0 if entry.direction == "forward" else 1
            parent = self._parent(name)
            made[name] = Call(name, key, owner, entry, parent, micro, phase, order)
        return made

    def _api_call(self, name: str, entry: EntryName, order: int) -> Call:
        parent = self._parent(name)
        forward = self.made.get(entry.twin("forward")) if entry.direction == "backward" else None
        if forward is not None:
            key: Hashable = (forward.key, "backward")
            parent = parent or self._backward_around(forward)
            self.phase, self.micro = 1, forward.micro
            return Call(name, key, forward.owner, entry, parent, forward.micro, 1, order)
        if parent == OPTIMIZER:
            call = self._optimizer_call(name, entry, order)
            if call is not None:
                return call
        around, micro, phase = self._around(parent, order)
        turn = self.turns[around, micro, entry.owner, entry.direction]
        self.turns[around, micro, entry.owner, entry.direction] += 1
        key = (around, entry.owner, entry.direction, turn)
        return Call(name, key, entry.owner, entry, parent, micro, phase, order)

    def _backward_around(self, forward: Call) -> str | None:
        """The backward entry of the module around a call.

        That of a module whose input needs no gradient is closed before the calls inside it run.
        """
        module = self.entries.get(forward.parent) if forward.parent is not None else None
        twin = module.twin("backward") if module is not None and module.kind == "module" else None
        return twin if twin in self.entries else None

    def _optimizer_call(self, name: str, entry: EntryName, order: int) -> Call | None:
        """A call inside an optimizer's step by its parameter: steps go through them one by one."""
        count = self.optimizer_calls[entry.owner]
        if not self.updated or count % len(self.updated):
            return None
        number = self.turns[OPTIMIZER, entry.owner]
        self.turns[OPTIMIZER, entry.owner] += 1
        place, turn = divmod(number, count // len(self.updated))
        parameter = self.names.updated(self.updated[place])
        key = (OPTIMIZER, parameter, entry.owner, turn)
        return Call(name, key, entry.owner, entry, OPTIMIZER, 0, 2, order, parameter)

    def _around(self, parent: str | None, order: int) -> tuple[Hashable, int, Phase]:
        """What identifies the surroundings of a call, its micro-batch and its phase."""
        if parent is None:
            if order > self.last_backward:
                self.phase, self.micro = 2, 0
            return ("top", self.stage, self.phase), self.micro, self.phase
        module = self.made.get(parent)
        if module is None or module.entry is None:
            return (parent, self.stage), 0, 2
        self.phase, self.micro = module.phase, module.micro
        return module.key, module.micro, module.phase

    def _last_gradients(self) -> set[str]:
        """The last of each module's gradients: they accumulate, so the others are parts of it."""
        gradients = {
            e.owner: name
            for name, e in self.entries.items()
            if e is not None and e.kind == "parameters_grad"
        }
        return set(gradients.values())


def _is_backward(entry: EntryName | None) -> bool:
    return entry is not None and entry.direction == "backward"
