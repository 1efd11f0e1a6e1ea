"""Where the entries of a dump stand that came without construct.json.

The path of a module names those around it. Nothing in a name tells in which module a call ran:
calls stand where the other run has calls of their name, and else where their neighbours stand.
Entries are listed when they end, so a call that the end of a module follows ran in it, if nothing
better is known, and any other one beside the entry before it. Where modules are listed before those
inside them, entries are listed when they begin, as in mindstudio-probe's captured graphs: a call
that follows the beginning of a module ran in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from builder.dump.reader import Dump
from msprobe_core.format import Direction, EntryName, NameSyntaxError, module_entry, parse_entry

_ROOT = "__root__"
"""The path of the model itself, where it has an entry."""
Parents = dict[str, str | None]
_Modules = Mapping[tuple[str, Direction], tuple[str, int]]
"""By path and direction of a module: its class, and how often it was called."""


def give_places(dump: Dump, other: Dump | None = None) -> None:
    """Fill in the parents of a dump that has modules and no parent of any."""
    if dump.parents:
        return
    entries = dict(_parsed(dump.ranges))
    if not any(entry.kind == "module" for entry in entries.values()):
        return
    theirs: Mapping[str, str | None] = {} if other is None else other.parents
    modules = _modules_of(entries.values())
    for name, entry in entries.items():
        if name in theirs:
            _copy_chain(dump.parents, name, theirs)
        elif entry.kind == "module":
            dump.parents[name] = _module_around(entry, modules)
    _place_calls(dump.parents, entries, told=bool(theirs))
    dump.parents = _in_order(dump, {} if other is None else _valueless(dump, other))


def _parsed(names: Iterable[str]) -> Iterable[tuple[str, EntryName]]:
    for name in names:
        try:
            yield name, parse_entry(name)
        except NameSyntaxError:
            continue


def _copy_chain(parents: Parents, name: str, theirs: Mapping[str, str | None]) -> None:
    """Take the place of an entry, and of all around it, from the other run."""
    current: str | None = name
    while current is not None and current not in parents:
        around = theirs.get(current)
        parents[current] = around
        current = around


def _place_calls(parents: Parents, entries: Mapping[str, EntryName], told: bool) -> None:
    """Place calls by their neighbours; `told` says that the other run has placed most of them."""
    order = list(entries)
    before: dict[Direction, str | None] = {}
    begins = _are_listed_when_they_begin(parents, order)
    for index, name in enumerate(order):
        entry = entries[name]
        if begins and entry.kind == "module":
            before[entry.direction] = name
            continue
        if name not in parents and entry.kind == "api" and begins:
            parents[name] = before.get(entry.direction)
        elif name not in parents and entry.kind == "api":
            after = entries[order[index + 1]] if index + 1 < len(order) else None
            ends = not told and after is not None and after.kind == "module"
            inside = ends and after is not None and after.direction == entry.direction
            parents[name] = order[index + 1] if inside else before.get(entry.direction)
        before[entry.direction] = parents.get(name)


def _are_listed_when_they_begin(parents: Parents, order: list[str]) -> bool:
    """Whether modules stand before those inside them, as most of their places say."""
    at = {name: index for index, name in enumerate(order)}
    inner = [(name, around) for name, around in parents.items() if around in at and name in at]
    return 2 * sum(at[around] < at[name] for name, around in inner if around) > len(inner)


def _valueless(dump: Dump, other: Dump) -> dict[str, Parents]:
    """The calls that the risk level leaves without values, by the entry of both runs after them.

    construct.json alone names them, so this dump cannot say that it lacks them.
    """
    found: dict[str, Parents] = {}
    waiting: Parents = {}
    for name, around in other.parents.items():
        if name in dump.ranges:
            found[name] = waiting
            waiting = {}
        elif name not in other.ranges and (around is None or around in dump.ranges):
            waiting[name] = around
    return found


def _in_order(dump: Dump, valueless: Mapping[str, Parents]) -> Parents:
    """The parents in the order of the dump's entries: the order of the tree comes from it."""
    ordered: Parents = {}
    for name in dump.ranges:
        ordered |= valueless.get(name, {})
        if name in dump.parents:
            ordered[name] = dump.parents[name]
    return {**ordered, **{n: p for n, p in dump.parents.items() if n not in ordered}}


def _modules_of(entries: Iterable[EntryName]) -> _Modules:
    counts = Counter(
        (entry.path, entry.direction, entry.type_name)
        for entry in entries
        if entry.kind == "module"
    )
    return {(path, way): (kind, number) for (path, way, kind), number in counts.items()}


def _module_around(entry: EntryName, modules: _Modules) -> str | None:
    """The call of the nearest module around a call of a module, the calls shared out in order."""
    mine = modules[entry.path, entry.direction][1]
    path = entry.path
    while path:
        outer = path.rpartition(".")[0]
        path = outer or (_ROOT if path != _ROOT else "")
        around = modules.get((path, entry.direction))
        if around is not None:
            kind, count = around
            call = min((entry.call or 0) * count // mine, count - 1)
            name = module_entry(path, kind, call, entry.direction)
            return name if entry.prefix == "Module" else f"{entry.prefix}{name[len('Module') :]}"
    return None
