"""Serves the renamings that the builder recognises as pairs that a person may map.

The rules are the matching's own (`builder.match.renaming`); here the nodes without a partner are
read for them, and what they name becomes pairs of nodes.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from builder.match.manual_file import MappedPair
from builder.match.renaming import NamedModule, RenamedModule, find_renaming
from builder.match.updated_parameters import OTHER_PARAMETER
from builder.results.database import ResultDatabase
from builder.results.node_words import DIRECTIONS, KINDS, NOTHING, Bools, Ints
from builder.results.side_nodes import SideNodes
from tb_graph_ascend.server.messages import Proposal
from tb_graph_ascend.view.module_path import entry_of

# Names of this many a side take 1.7 s of an EPYC core; whoever has more writes a layer mapping.
_MOST_MODULES = 20_000
_NUMBER = re.compile(r"(?<![^.])\d+(?![^.])")


@dataclass(frozen=True, slots=True)
class _Side:
    """The modules to look at in their order, and the ids of those without a partner by path."""

    modules: list[NamedModule]
    alone: dict[str, list[int]]


def propose(database: ResultDatabase, step: int, rank: int) -> list[Proposal]:
    """Modules without a partner that are the same under another name; alike names are one.

    Names that occur in most places stand first. Raises UnknownNodeError where the file has no such
    step and rank.
    """
    nodes = [side.patched(database.patches.nodes) for side in database.side_nodes(step, rank)]
    alone = [_forward_modules(side) & (side.match == NOTHING) for side in nodes]
    if not all(side.any() for side in alone):
        return []
    ours, theirs = (_side(database, *each) for each in zip(nodes, alone, strict=True))
    renaming = find_renaming(ours.modules, theirs.modules, _known(*nodes))
    groups: dict[tuple[str, str], list[tuple[RenamedModule, int, int]]] = defaultdict(list)
    for module in renaming.renamed:
        names = _NUMBER.sub("N", module.below[0]), _NUMBER.sub("N", module.below[1])
        groups[names] += [(module, *pair) for pair in _pairs(module, ours, theirs)]
    proposals = [_proposal(database, names, found) for names, found in groups.items() if found]
    return sorted(proposals, key=lambda proposal: -proposal.places)


def lone_updates(database: ResultDatabase, step: int, rank: int) -> int:
    """How many calls of optimizers have no partner, their parameter having another name there.

    Raises UnknownNodeError where the file has no such step and rank.
    """
    calls = KINDS.index("api")
    alone = [
        side.id[(side.match == NOTHING) & (side.kind == calls)].tolist()
        for side in (s.patched(database.patches.nodes) for s in database.side_nodes(step, rank))
    ]
    nodes = database.nodes_by_id([id_ for ids in alone for id_ in ids])
    return sum((node.match_reason or "").startswith(f"{OTHER_PARAMETER}:") for node in nodes)


def _pairs(module: RenamedModule, ours: _Side, theirs: _Side) -> Iterator[tuple[int, int]]:
    """The passes of a module and those of its partner, in their order."""
    return zip(ours.alone.get(module.problem, ()), theirs.alone.get(module.benchmark, ()))


def _proposal(
    database: ResultDatabase,
    names: tuple[str, str],
    found: Sequence[tuple[RenamedModule, int, int]],
) -> Proposal:
    first, problem, benchmark = found[0]
    told = database.names_by_id(id_ for _, *pair in found for id_ in pair)
    one, other = database.nodes_by_id([problem, benchmark])
    return Proposal(
        problem=one,
        benchmark=other,
        names=names,
        reasons=[reason for reason in first.reasons if all(reason in m.reasons for m, *_ in found)],
        places=len(found),
        pairs=[MappedPair(told[ours], told[theirs], descendants=True) for _, ours, theirs in found],
    )


def _forward_modules(side: SideNodes) -> Bools:
    forward = side.direction == DIRECTIONS.index("forward")
    return np.asarray(forward & (side.kind == KINDS.index("module")))


def _side(database: ResultDatabase, side: SideNodes, alone: Bools) -> _Side:
    """The modules without a partner with what stands around and beside them."""
    wanted = np.flatnonzero(_around(side, alone) & _forward_modules(side))[:_MOST_MODULES]
    shapes = database.parameter_shapes(side.id[wanted[alone[wanted]]].tolist())
    modules: dict[str, NamedModule] = {}
    ids: dict[str, list[int]] = defaultdict(list)
    for index in wanted.tolist():
        entry = entry_of(side.names[index])
        if entry is None:
            continue
        id_ = int(side.id[index])
        module = NamedModule(entry.path, entry.type_name, shapes.get(id_, ()))
        modules.setdefault(entry.path, module)
        if alone[index]:
            ids[entry.path].append(id_)
    return _Side(list(modules.values()), ids)


def _around(side: SideNodes, alone: Bools) -> Bools:
    """These nodes, all above them, and all that stand right beside any of those."""
    above = alone.copy()
    level: Ints = np.unique(side.parent[alone])
    while len(level := level[level != NOTHING]):
        level = level[~above[level]]
        above[level] = True
        level = np.unique(side.parent[level])
    parents = np.unique(side.parent[above])
    return np.asarray(above | np.isin(side.parent, parents[parents != NOTHING]))


def _known(ours: SideNodes, theirs: SideNodes) -> dict[str, str]:
    """The paths of modules that have a partner of another path."""
    matched = np.flatnonzero(_forward_modules(ours) & (ours.match != NOTHING))
    partners = theirs.places(ours.match[matched])
    known: dict[str, str] = {}
    for one, other in zip(matched.tolist(), partners.tolist(), strict=True):
        name, partner = ours.names[one], theirs.names[other] if other != NOTHING else ""
        if name == partner:
            continue
        entry, its = entry_of(name), entry_of(partner)
        if entry is not None and its is not None and entry.path != its.path:
            known.setdefault(entry.path, its.path)
    return known
