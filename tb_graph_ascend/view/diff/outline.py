"""A window of the tree of modules as it is sent: what is open in it, or all that diverges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from builder.results.node_words import NOTHING, Bools, Ints
from builder.results.records import Count
from tb_graph_ascend.view.diff.modules import ModuleTree
from tb_graph_ascend.view.diff.row_sources import ModuleRows
from tb_graph_ascend.view.diff.visible import covered


@dataclass(frozen=True, slots=True)
class OutlineWish:
    """What is asked: `toggled` entries are open where others are closed, or the other way round.

    All but the first are closed at first; of what diverges (`divergent`) all are open at first.
    `here` is a node whose module is looked for, `prefix` the beginning of a title below the row
    `after`, around the end.
    """

    toggled: Sequence[int] = ()
    divergent: bool = False
    here: int | None = None
    prefix: str = ""
    after: int = 0


class OutlineRow(msgspec.Struct, frozen=True, gc=False):
    """A module: `entry` is its number in the tree, `node` the node to go to.

    `other` is what the benchmark calls it where it does so differently, `above` the row of the
    module it is in; the counts are of all that ran in it,
    modules as well as calls.
    """

    entry: int
    node: int
    title: str
    type_name: str
    other: str
    depth: int
    above: int | None
    children: Count
    open: bool
    position: Count
    siblings: Count
    nodes: Count
    divergent: Count
    alone: Count
    begins: bool
    worst: float | None


class OutlineWindow(msgspec.Struct, frozen=True):
    """A part of the rows; `here` and `found` are rows of the whole list, None where there is none.

    `modules` counts all modules, `divergent` those with a divergent node in them, `outside` the
    divergent nodes in none: of the optimizer, say, or the loss.
    """

    total: Count
    offset: Count
    rows: list[OutlineRow]
    modules: Count
    divergent: Count
    outside: Count
    here: int | None
    found: int | None


def outline_of(index: ModuleRows, wish: OutlineWish, offset: int, limit: int) -> OutlineWindow:
    """The rows of the tree from an offset on."""
    tree = index.modules
    differs = (tree.divergent > 0) | (tree.causes > 0)
    kept = differs if wish.divergent else np.ones(len(tree), dtype=bool)
    is_open = np.full(len(tree), wish.divergent)
    is_open[:1] = True
    toggled = [entry for entry in wish.toggled if entry < len(tree)]
    is_open[toggled] ^= True
    closed = np.flatnonzero(~is_open)
    below_closed = covered(len(tree), closed + 1, tree.last[closed] + 1)
    seen = np.flatnonzero(kept & ~below_closed)
    shown = seen[offset : offset + limit]
    return OutlineWindow(
        total=len(seen),
        offset=offset,
        rows=_rows(index, seen, shown.tolist(), kept, is_open),
        modules=len(tree) - 1,
        divergent=int(differs[1:].sum()),
        outside=int(tree.divergent[0] - tree.divergent[tree.parent == 0].sum()),
        here=_here(index, seen, wish.here),
        found=_found(tree, seen, wish.prefix, wish.after),
    )


def _rows(
    index: ModuleRows, seen: Ints, shown: Sequence[int], kept: Bools, is_open: Bools
) -> list[OutlineRow]:
    tree = index.modules
    below: dict[int, Ints] = {}

    def children(entry: int) -> Ints:
        if entry not in below:
            inside = np.arange(entry + 1, tree.last[entry] + 1)
            below[entry] = inside[(tree.parent[inside] == entry) & kept[inside]]
        return below[entry]

    depths: dict[int, int] = {NOTHING: -1}

    def depth(entry: int) -> int:
        if entry not in depths:
            depths[entry] = depth(int(tree.parent[entry])) + 1
        return depths[entry]

    def row(entry: int) -> OutlineRow:
        above = int(tree.parent[entry])
        beside = children(above) if above >= 0 else np.array([entry])
        worst = float(tree.worst[entry])
        return OutlineRow(
            entry=entry,
            node=int(index.rows.key[tree.row[entry]]),
            title=tree.title[entry],
            type_name=tree.type_name[entry],
            other=tree.other[entry],
            depth=depth(entry),
            above=int(np.searchsorted(seen, above)) if above >= 0 else None,
            children=len(children(entry)),
            open=bool(is_open[entry]),
            position=int(np.searchsorted(beside, entry)),
            siblings=len(beside),
            nodes=int(tree.nodes[entry]),
            divergent=int(tree.divergent[entry]),
            alone=int(tree.alone[entry]),
            begins=bool(tree.begins[entry]),
            worst=None if np.isnan(worst) else round(worst, 6),
        )

    return [row(entry) for entry in shown]


def _here(index: ModuleRows, seen: Ints, node: int | None) -> int | None:
    """The row of the module that a node is in, or of what it is closed into."""
    if node is None or not len(seen):
        return None
    row = int(index.rows.rows_of(np.array([node], dtype=np.int64))[0])
    if row == NOTHING:
        return None
    entry = index.modules.owner[row]
    place = int(np.searchsorted(seen, entry, "right")) - 1
    return place if place >= 0 and index.modules.last[seen[place]] >= entry else None


def _found(tree: ModuleTree, seen: Ints, prefix: str, after: int) -> int | None:
    if prefix == "" or not len(seen):
        return None
    wanted, count = prefix.casefold(), len(seen)
    entries = seen.tolist()
    for step in range(1, count + 1):
        place = (after + step) % count
        if tree.title[entries[place]].casefold().startswith(wanted):
            return place
    return None
