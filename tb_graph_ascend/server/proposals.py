"""Proposes manual pairs: unmatched modules under matched parents that look the same but for a name.

Each fact that speaks for a pair is a reason that a person can check: the place between the same
neighbours, the class, the shapes that go in and come out, the number of calls inside.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from builder.match.manual_file import MappedPair
from builder.results.database import ResultDatabase
from builder.results.manual.patches import Patches
from builder.results.records import Node, Reason
from tb_graph_ascend.server.messages import Proposal
from tb_graph_ascend.view.module_path import module_path, type_name
from tb_graph_ascend.view.search.node_filter import NodeFilter
from tb_graph_ascend.view.search.node_index import PairIndex

_MOST_MODULES = 2_000
_MOST_CHILDREN = 2_000
# Of the four facts; the shapes alone, or the place alone, say too little.
_ENOUGH = 2
_NUMBER = re.compile(r"(?<![^.])\d+(?![^.])")
# What is inside a mapped module can be proposed once it is mapped; deeper than this nobody nests.
_MOST_ROUNDS = 12


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An unmatched module, its path below its parent, and how many matched siblings precede it."""

    node: Node
    neighbours: int
    type_name: str
    path: str
    shapes: tuple[object, ...]


def propose(database: ResultDatabase, index: PairIndex) -> list[Proposal]:
    """Proposals for the step and rank of an index; the same two names in several places are one."""
    groups: dict[tuple[str, str], list[tuple[Node, Node, list[Reason]]]] = {}
    for ours, theirs, reasons in _pairs(database, index):
        key = _NUMBER.sub("N", ours.path), _NUMBER.sub("N", theirs.path)
        groups.setdefault(key, []).append((ours.node, theirs.node, reasons))
    proposals = [
        Proposal(
            problem=alike[0][0],
            benchmark=alike[0][1],
            names=names,
            reasons=[reason for reason in alike[0][2] if all(reason in one[2] for one in alike)],
            places=len(alike),
            pairs=[MappedPair(one.name, other.name, descendants=True) for one, other, _ in alike],
        )
        for names, alike in groups.items()
    ]
    return sorted(proposals, key=lambda p: (-len(p.reasons), -p.places))


def propose_all(
    pairs: Sequence[MappedPair], seen_through: Callable[[Sequence[MappedPair]], list[Proposal]]
) -> list[MappedPair]:
    """All pairs that proposals lead to, in rounds: what is inside a pair is proposed after it.

    `seen_through` gives the proposals that are left with pairs laid over the file.
    """
    known = list(pairs)
    added: list[MappedPair] = []
    for _ in range(_MOST_ROUNDS):
        proposed = seen_through([*known, *added])
        new = [pair for one in proposed for pair in one.pairs if pair not in added]
        if not new:
            break
        added += new
    return added


def _pairs(
    database: ResultDatabase, index: PairIndex
) -> Iterator[tuple[_Candidate, _Candidate, list[Reason]]]:
    for parent, partner in _parents(database, index):
        ours, theirs = _unmatched_below(database, parent), _unmatched_below(database, partner)
        ranked = sorted(
            (
                (-len(reasons), i, j, reasons)
                for i, one in enumerate(ours)
                for j, other in enumerate(theirs)
                if len(reasons := _alike(one, other)) >= _ENOUGH
            ),
            key=lambda rated: rated[:3],
        )
        taken: set[tuple[str, int]] = set()
        for _, i, j, reasons in ranked:
            if ("problem", i) not in taken and ("benchmark", j) not in taken:
                taken |= {("problem", i), ("benchmark", j)}
                yield ours[i], theirs[j], reasons


def _parents(database: ResultDatabase, index: PairIndex) -> list[tuple[Node, Node]]:
    """Matched nodes with unmatched modules right below them, and their partners."""
    wanted = NodeFilter(show="unmatched", side="problem", kind="module", direction="forward")
    ids = index.select(wanted, database.patches or Patches(), database.threshold)
    modules = database.nodes_by_id(ids[:_MOST_MODULES].tolist())
    above = dict.fromkeys(node.parent for node in modules if node.parent is not None)
    parents = [node for node in database.nodes_by_id(above) if node.match is not None]
    partners = {n.id: n for n in database.nodes_by_id([p.match for p in parents if p.match])}
    return [(p, partners[p.match]) for p in parents if p.match is not None and p.match in partners]


def _unmatched_below(database: ResultDatabase, parent: Node) -> list[_Candidate]:
    candidates, neighbours = [], 0
    for node in database.children(parent.id, 0, _MOST_CHILDREN).children:
        if node.match is not None:
            neighbours += 1
        elif node.kind == "module" and node.direction == "forward":
            candidates.append(_candidate(database, parent, node, neighbours))
    return candidates


def _candidate(database: ResultDatabase, parent: Node, node: Node, neighbours: int) -> _Candidate:
    path, above = module_path(node.name) or node.name, module_path(parent.name)
    below = path.removeprefix(f"{above}.") if above is not None else path
    values = (
        (pair.role, value.shape)
        for pair in database.details(node.id).values
        if pair.role in ("input", "output")
        and (value := pair.problem or pair.benchmark) is not None
        and value.shape is not None
    )
    return _Candidate(node, neighbours, type_name(node.name), below, tuple(map(repr, values)))


def _alike(one: _Candidate, other: _Candidate) -> list[Reason]:
    """What speaks for a pair."""
    facts = {
        "same_place": one.neighbours == other.neighbours,
        "same_class": one.type_name == other.type_name != "",
        "same_shapes": bool(one.shapes) and one.shapes == other.shapes,
        "same_inside": one.node.children == other.node.children > 0,
    }
    named: dict[str, Reason] = {
        "same_class": {"code": "same_class", "name": one.type_name},
        "same_inside": {"code": "same_inside", "count": one.node.children},
    }
    return [named.get(code, {"code": code}) for code, holds in facts.items() if holds]
