"""Which micro-batch a call works on, where the schedule's own numbers are recorded or follow.

What ran outside of the schedule beside calls that ran in it is dry: a stage that learns its shapes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from builder.dump.reader import Dump, MicroBatches
from builder.ranks.layout.coordinates import RunLayout
from msprobe_core.format import MODULE_PREFIXES, EntryName, NameSyntaxError, parse_entry

Entries = Mapping[str, EntryName | None]


def number_micro_batches(dumps: Mapping[int, Dump], layout: RunLayout) -> None:
    """Number the micro-batches of stages that do not record them but show a dry run, in place."""
    if layout.size("pp") > 1:
        for dump in dumps.values():
            dump.micro_batch = dump.micro_batch or _behind_a_dry_run(dump)


def _behind_a_dry_run(dump: Dump) -> MicroBatches:
    """The numbers where every module with gradients has run once more than those came about.

    With one micro-batch alone that may be recomputation.
    """
    calls: Counter[str] = Counter()
    gradients: Counter[str] = Counter()
    outermost: dict[str, int] = {}
    for name, parent in dump.parents.items() if dump.ranges else ():
        entry = _module_entry(name)
        if entry is not None and entry.direction == "forward":
            calls[entry.owner] += 1
            if parent is None:
                outermost[name] = entry.call or 0
    for name in dump.ranges:
        entry = _module_entry(name)
        if entry is not None and entry.kind == "parameters_grad":
            gradients[entry.owner] += 1
    is_dry = all(count > 1 and calls[owner] == count + 1 for owner, count in gradients.items())
    if not gradients or not is_dry:
        return {}
    return {name: call - 1 if call else None for name, call in outermost.items()}


def _module_entry(name: str) -> EntryName | None:
    try:
        return parse_entry(name) if name.partition(".")[0] in MODULE_PREFIXES else None
    except NameSyntaxError:
        return None


class RecordedSchedule:
    """The recorded numbers of one rank; `is_known` tells whether there are any."""

    def __init__(self, dump: Dump, entries: Entries) -> None:
        self._dump, self._entries = dump, entries
        self._outermost: dict[str, str | None] = {}
        self._dry: set[str] = set()
        self._in_dry_run = False
        self.is_known = bool(dump.micro_batch)

    def places(self) -> dict[tuple[str, int], tuple[int, int]]:
        """By module and call the number of the micro-batch and the turn in it; not of dry runs."""
        places = {}
        turns: Counter[tuple[str, int]] = Counter()
        for name, entry in self._entries.items():
            if entry is None or entry.kind != "module" or entry.direction != "forward":
                continue
            micro = self._dump.micro_batch.get(self._root(name) or "")
            if micro is not None:
                places[entry.owner, entry.call or 0] = micro, turns[entry.owner, micro]
                turns[entry.owner, micro] += 1
        return places

    def is_dry(self, name: str) -> bool:
        """Whether an entry belongs to a dry run; to be asked of all entries in their order.

        What stands in no module goes with the modules before it.
        """
        entry = self._entries[name]
        if not self.is_known or entry is None or entry.kind == "parameters_grad":
            return False
        root = self._root(name)
        if root is not None:
            dry = self._dump.micro_batch[root] is None
            if entry.kind == "module":
                self._in_dry_run = dry
        elif entry.direction == "backward" and entry.twin("forward") in self._entries:
            dry = entry.twin("forward") in self._dry
        else:
            dry = self._in_dry_run
        if dry:
            self._dry.add(name)
        return dry

    def _root(self, name: str) -> str | None:
        """The forward entry of the outermost module around an entry, whose number is recorded."""
        if name in self._outermost:
            return self._outermost[name]
        entry, parent = self._entries.get(name), self._dump.parents.get(name)
        own = entry.twin("forward") if entry is not None and entry.kind == "module" else name
        root = own if own in self._dump.micro_batch else None
        if root is None and parent is not None:
            root = self._root(parent)
        self._outermost[name] = root
        return root
