"""Parameters that modules share: one tensor on one process, a copy on each stage of a pipeline.

Embedding and head are tied so. Each copy's gradient is a part of a sum over the stages, and copies
have to agree wherever an optimizer reads or writes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from builder.dump.reader import Dump
from builder.ranks.assembly.alignment import parse
from builder.ranks.assembly.logical_run import LogicalRun, Part, Parts, Places
from builder.ranks.assembly.peers import names_of_ranks
from builder.ranks.joining.layouts import AXIS_NAMES
from builder.ranks.joining.parts import fingerprint
from builder.ranks.layout.coordinates import RunLayout
from builder.ranks.layout.names import LogicalNames, Ties
from msprobe_core.format import EntryName

_STAGE = AXIS_NAMES.index("pp")
Side = tuple[Mapping[int, Dump], RunLayout]
Group = list[str]


def tied_names(*sides: Side) -> Ties:
    """The names of tied parameters in two runs, each with the one that stands for all.

    Nothing where no run has stages. A run that does not record ties shows them by an embedding and
    another module that hold the same numbers.
    """
    if all(layout.size("pp") == 1 for _, layout in sides):
        return {}
    ties: dict[str, str] = {}
    for dumps, layout in sides:
        names = names_of_ranks(dumps, layout)
        for group in _groups(dumps, names):
            main = next((ties[name] for name in group if name in ties), group[0])
            ties |= dict.fromkeys(group, main)
    for dumps, layout in sides:
        for name in _apart(dumps, names_of_ranks(dumps, layout), ties):
            del ties[name]
    return ties


def _groups(dumps: Mapping[int, Dump], names: Mapping[int, LogicalNames]) -> Iterator[Group]:
    shared: dict[str, None] = {}
    is_recorded = False
    for rank, dump in dumps.items():
        header = dump.parallel
        for group in header.tied if header is not None else ():
            is_recorded = True
            yield [names[rank].parameter(name) for name in group]
        layouts = header.layouts if header is not None else {}
        own = (names[rank].parameter(n) for n, layout in layouts.items() if layout.shared_embedding)
        shared |= dict.fromkeys(own)
    if shared:
        yield list(shared)
    elif not is_recorded:
        yield from _by_value(dumps, names)


def _by_value(dumps: Mapping[int, Dump], names: Mapping[int, LogicalNames]) -> Iterator[Group]:
    embeddings: dict[object, str] = {}
    others: dict[object, str] = {}
    for rank, dump in dumps.items():
        for name, entry in _first_calls(dump):
            found = embeddings if "Embedding" in entry.type_name else others
            for index in range(*dump.ranges[name]):
                role, _, last = dump.values.keys[index].partition(".")
                record = dump.values.records[index]
                if role == "parameters" and fingerprint(record):
                    key = (record.shape, *fingerprint(record))
                    found.setdefault(key, names[rank].parameter(f"{entry.path}.{last}"))
    yield from ([name, others[key]] for key, name in embeddings.items() if key in others)


def _first_calls(dump: Dump) -> Iterator[tuple[str, EntryName]]:
    for name in dump.ranges:
        entry = parse(name)
        is_module = entry is not None and entry.kind == "module"
        if entry is not None and is_module and entry.direction == "forward" and not entry.call:
            yield name, entry


def _apart(
    dumps: Mapping[int, Dump], names: Mapping[int, LogicalNames], ties: Ties
) -> frozenset[str]:
    """The names of parameters that some rank updates beside those they are tied to."""
    apart = set()
    for rank, dump in dumps.items():
        for step in dump.optimizer.values():
            own = {names[rank].parameter(name) for name in step.get("parameters", ())}
            apart |= {name for name in own if ties.get(name, name) != name and ties[name] in own}
    return frozenset(apart)


def join_gradients(run: LogicalRun, ties: Ties) -> None:
    """Give each copy's gradient of the backward pass the parts of the copies on other stages."""
    copies: dict[str, list[int]] = {}
    for name, (start, stop) in run.dump.ranges.items() if ties else ():
        entry = parse(name)
        if entry is None or entry.kind != "parameters_grad":
            continue
        for index in range(start, stop):
            parameter = f"{entry.path}.{run.dump.values.keys[index].partition('.')[2]}"
            if parameter in ties:
                copies.setdefault(ties[parameter], []).append(index)
    for listed in copies.values():
        _join(run, listed)


def _join(run: LogicalRun, copies: Sequence[int]) -> None:
    staged = [[_on_stage(run, part) for part in run.parts[index]] for index in copies]
    for index, own in zip(copies, staged, strict=True):
        joined = list(own)
        for others in staged:
            known = {part.at[_STAGE] for part in joined}
            joined += [part for part in others if part.at[_STAGE] not in known]
        joined.sort(key=lambda part: (part.at[::-1], part.rank))
        places = Places(tuple((part.at, part.rank) for part in joined))
        run.parts[index] = Parts(places, tuple(part.record for part in joined))


def _on_stage(run: LogicalRun, part: Part) -> Part:
    tp, cp, dp, micro, _ = part.at
    stage = run.layout.places[part.rank].at.get("pp", 0)
    return part._replace(at=(tp, cp, dp, micro, stage))
