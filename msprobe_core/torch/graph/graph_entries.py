"""Turns the rows of a step into entries with names, parents and stacks, as an eager dump has them.

Rows tell who ran and in which order; call numbers come from counting them, so a graph that runs
twice makes two calls. A gradient belongs to the last call of its owner that has none at its place:
backward passes run against the order of the forward ones. Where several forward passes come before
the first backward pass, as in a pipeline, the numbers of backward entries are those of that rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from msprobe_core.capture.entry import Entry, ModuleCall
from msprobe_core.capture.trace import Trace
from msprobe_core.format import module_entry, parameters_grad_entry
from msprobe_core.torch.graph.late_runs import LateRuns
from msprobe_core.torch.graph.log import Note, Row
from msprobe_core.torch.graph.sites import Owner
from msprobe_core.torch.graph.traced import SENT
from msprobe_core.torch.record.record_text import FUSED, head_of
from msprobe_core.values.text import quoted

ROOT = "__root__"
PARAMETER = "parameter/:"
"""Before the name of a parameter in the place of its gradient."""
Wants = Callable[[str], bool]


@dataclass(slots=True, eq=False)
class _Call:
    """One call of a module or of the API, while its values come in."""

    owner: int
    made: ModuleCall
    forward: Entry
    values: dict[str, str] = field(default_factory=dict)
    gradients: dict[str, str] = field(default_factory=dict)
    constants: set[str] = field(default_factory=set)
    """The places of values that no gradient comes to."""
    backward: Entry | None = None


class EntryMaker:
    """Writes rows into the trace of one step; may be given them in pieces."""

    def __init__(self, trace: Trace, owners: Sequence[Owner], wants: Wants) -> None:
        self._trace, self._owners, self._wants = trace, owners, wants
        self._late = LateRuns()
        self._open: list[_Call] = []
        self._calls: dict[int, list[_Call]] = {}
        self._passes: dict[tuple[int, str], int] = {}
        self._parameters: dict[tuple[int, int], tuple[Entry, dict[str, str]]] = {}
        self._order: list[tuple[Entry, Callable[[], None]]] = []
        self.seen: set[int] = set()
        """The owners that had a row."""

    def take(self, rows: Iterable[Row]) -> None:
        """Add rows in the order in which they ran."""
        for row in self._late.in_order(rows):
            self.seen.add(row.owner)
            kind = row.note.kind
            if kind == "begin":
                self._begin(row.owner, row.note.stack)
            elif kind == "end":
                self._end(row.owner)
            elif kind == "gradient":
                self._gradient(row)
            else:
                self._value(row)

    def finish(self) -> None:
        """Hand all entries to the trace, those whose call never ended among them."""
        while self._open:
            self._end(self._open[-1].owner)
        for entry, fill in self._order:
            fill()
            self._trace.add(entry)
        self._order.clear()

    def _begin(self, owner: int, stack: int) -> None:
        known = self._owners[owner]
        path, kind = known.path or ROOT, known.kind
        number = self._trace.next_call(f"{path}.{kind}")
        made = ModuleCall(
            module_entry(path, kind, number, "forward"),
            module_entry(path, kind, number, "backward"),
            self._around(),
        )
        call = _Call(owner, made, Entry(made.forward, stack))
        self._trace.modes.note(made.forward, None)
        self._open.append(call)
        self._calls.setdefault(owner, []).append(call)

    def _end(self, owner: int) -> None:
        if all(call.owner != owner for call in self._open):
            return
        while self._open:
            call = self._open.pop()
            self._trace.place_module(call.made, backward=False)
            self._keep_forward(call)
            if call.owner == owner:
                return

    def _value(self, row: Row) -> None:
        if row.note.call:
            call = self._call_of(row)
        else:
            here = (each for each in reversed(self._open) if each.owner == row.owner)
            call = next(here, None)
        if call is not None:
            call.values[row.note.place] = record_text(row)
            if not row.note.requires_grad:
                call.constants.add(row.note.place)
            call.forward.abnormal |= row.numbers.abnormal

    def _call_of(self, row: Row) -> _Call | None:
        calls = self._calls.setdefault(row.owner, [])
        if row.note.first:
            known = self._owners[row.owner]
            parent = self._around()
            name = f"{known.kind}.{self._trace.next_call(known.kind)}"
            made = ModuleCall(f"{name}.forward", f"{name}.backward", parent)
            call = _Call(row.owner, made, Entry(made.forward, known.stack))
            calls.append(call)
            self._trace.place_forward(made.forward, parent)
            self._keep_forward(call)
        return calls[-1] if calls else None

    def _gradient(self, row: Row) -> None:
        place = row.note.place
        if place.startswith(PARAMETER):
            self._parameter(row, place.removeprefix(PARAMETER))
            return
        calls = self._calls.get(row.owner, ())
        waiting = (each for each in calls[::-1] if place not in each.gradients)
        call = next((each for each in waiting if place not in each.constants), None)
        if call is None:
            return
        call.gradients[place] = record_text(row)
        if call.backward is None:
            call.backward = Entry(call.made.backward)
            if row.note.call:
                self._trace.place_backward(call.made.backward, call.made.parent)
            else:
                self._trace.place_module(call.made, backward=True)
            selection = self._trace.selection
            self._keep(call.backward, lambda: self._fill_backward(call), selection.backward)
        call.backward.abnormal |= row.numbers.abnormal

    def _parameter(self, row: Row, name: str) -> None:
        number = self._passes.get((row.owner, name), 0)
        self._passes[row.owner, name] = number + 1
        known = self._parameters.get((row.owner, number))
        if known is None:
            owner = self._owners[row.owner]
            entry = Entry(parameters_grad_entry(owner.path or "", owner.kind, number))
            known = self._parameters[row.owner, number] = (entry, {})
            members = known[1]
            selection = self._trace.selection
            wanted = selection.backward and selection.outputs
            self._keep(entry, lambda: _fill_parameters(entry, members), wanted)
        known[0].abnormal |= row.numbers.abnormal
        known[1][name] = record_text(row)

    def _around(self) -> ModuleCall | None:
        return self._open[-1].made if self._open else None

    def _keep_forward(self, call: _Call) -> None:
        self._keep(call.forward, lambda: self._fill_forward(call), self._trace.selection.forward)

    def _keep(self, entry: Entry, fill: Callable[[], None], wanted: bool) -> None:
        if wanted and self._wants(entry.name):
            self._order.append((entry, fill))

    def _fill_forward(self, call: _Call) -> None:
        selection, values = self._trace.selection, call.values
        parts: list[str] = []
        if selection.inputs:
            parts.append(f'"input_args": {_sequence(values, "input_args")}')
            parts.append(f'"input_kwargs": {_nested(_below(values, "input_kwargs")) or "{}"}')
        if selection.outputs:
            parts.append(f'"output": {_sequence(values, "output")}')
        call.forward.parts = [", ".join(parts)]

    def _fill_backward(self, call: _Call) -> None:
        # What a module sends to its inputs is recorded on demand: taking it apart regroups sums.
        parts: list[str] = []
        if self._trace.selection.inputs:
            parts.append(f'"input": {_sequence(call.gradients, "output")}')
        if self._trace.selection.outputs:
            parts.append(f'"output": {_sequence(call.gradients, SENT)}')
        assert call.backward is not None
        call.backward.parts = [", ".join(parts)]


def record_text(row: Row) -> str:
    """The record of a row's value."""
    note: Note = row.note
    assert note.dtype is not None
    grad = "true" if note.requires_grad else "false"
    numbers = row.numbers
    head = head_of(note.dtype, None if note.shape is None else list(note.shape))
    fused = FUSED if row.fused else ""
    return f'{head}{numbers.text}{row.sketch}, "requires_grad": {grad}{numbers.counts}{fused}}}'


def _fill_parameters(entry: Entry, members: dict[str, str]) -> None:
    entry.parts = [", ".join(f"{quoted(name)}: [{text}]" for name, text in members.items())]


def _below(values: dict[str, str], place: str) -> dict[str, str]:
    """The values below a place, with what is left of theirs."""
    start = f"{place}/"
    return {at.removeprefix(start): text for at, text in values.items() if at.startswith(start)}


def _sequence(values: dict[str, str], place: str) -> str:
    return _nested(_below(values, place)) or "[]"


def _nested(values: dict[str, str]) -> str:
    """Values at their places as JSON: null where a list has something else than a tensor."""
    if "" in values:
        return values[""]
    heads = list(dict.fromkeys(at.partition("/")[0] for at in values))
    if not heads:
        return ""
    inner = {
        head: _nested(
            {
                at.partition("/")[2]: text
                for at, text in values.items()
                if at.partition("/")[0] == head
            }
        )
        for head in heads
    }
    if heads[0].startswith(":"):
        return "{" + ", ".join(f"{quoted(k[1:])}: {text}" for k, text in inner.items()) + "}"
    last = max(int(head) for head in heads)
    return "[" + ", ".join(inner.get(str(at), "null") for at in range(last + 1)) + "]"
