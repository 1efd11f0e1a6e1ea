"""Turns the result of one pair into database rows; ids count from the bases given."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from builder.compare import Comparison
from builder.dump.values import Record
from builder.match.values import SURPLUS
from builder.measure.statistics import Floats
from builder.pipeline.pair import PairResult
from builder.reasons import Reason, encode
from builder.tree import Tree, TreeNode, subtree
from builder.verdict import Judgement
from msprobe_core.format import canonical_dtype

Row = tuple[Any, ...]

NODE_COLUMNS = (
    "id graph parent position exec_order depth last children name label kind direction block "
    "recomputed micro_step stack match match_reason score input_score introduced verdict overflow "
    "worst_below divergent_below source reasons"
).split()
VALUE_COLUMNS = (
    "id node role path type dtype shape max min mean norm requires_grad checksum file scalar"
).split()
PAIR_COLUMNS = "partner error score".split()
TENSOR_COLUMNS = (
    "cosine euc_dist max_abs_err max_rel_err one_thousandth five_thousandths"
).split()


@dataclass(slots=True)
class Bases:
    """The first free id of each table."""

    node: int
    value: int
    stack: int


@dataclass(slots=True)
class SideRows:
    """Where the nodes of one tree went: ids in pre-order, and totals for the graph row."""

    tree: Tree
    graph: int
    ids: dict[TreeNode, int] = field(default_factory=dict)
    listed: list[TreeNode] = field(default_factory=list)
    value_base: int = 0
    stack_base: int = 0


def place(tree: Tree, graph: int, bases: Bases) -> SideRows:
    """Give ids to a tree's nodes and reserve those of its values and stacks."""
    group_top_level(tree)
    listed = subtree(tree.root)
    ids = {node: bases.node + index for index, node in enumerate(listed)}
    side = SideRows(tree, graph, ids, listed, bases.value, bases.stack)
    bases.node += len(listed)
    bases.value += len(tree.dump.values.records)
    bases.stack += len(tree.dump.frames)
    return side


def group_top_level(tree: Tree) -> None:
    """Show runs of top-level calls between modules as collections, a view that matches nothing."""
    if all(child.kind != "module" for child in tree.root.children):
        return
    grouped: list[TreeNode] = []
    number = 0
    run: list[TreeNode] = []
    for child in [*tree.root.children, tree.root]:
        if child.kind == "api":
            run.append(child)
            continue
        if len(run) > 1:
            grouped.append(_collection(tree, number, run))
            number += 1
        else:
            grouped += run
        run = []
        if child is not tree.root:
            grouped.append(child)
    tree.root.children = grouped


def _collection(tree: Tree, number: int, run: list[TreeNode]) -> TreeNode:
    collection = TreeNode(
        f"Apis_Between_Modules.{number}",
        "collection",
        None,
        parent=tree.root,
        children=run,
        micro_step=run[0].micro_step,
        exec_order=run[-1].exec_order,
        depth=1,
        began=run[0].began,
    )
    for node in run:
        node.parent = collection
        for below in subtree(node):
            below.depth += 1
    return collection


def node_rows(
    side: SideRows, other: SideRows | None, result: PairResult, threshold: float
) -> Iterator[Row]:
    """The rows of one side's nodes in pre-order; scores stand on the problem side."""
    ours = side.tree is result.problem
    below = _Below(side, result.comparison if ours else None, threshold)
    sources = _sources(result) if ours else {}
    overflow = result.overflow[0 if ours else 1]
    last = _last_ids(side)
    positions = {child: i for node in side.listed for i, child in enumerate(node.children)}
    depths = result.comparison.depth if result.comparison is not None else None
    partners = result.comparison.matching.partner if result.comparison is not None else {}
    reason_of = result.comparison.matching.reason if result.comparison is not None else {}
    for node in side.listed:
        partner = partners.get(node)
        judgement = result.judgements.get(node.exec_order) if ours else None
        if node.kind == "collection":
            judgement = None
            partner = _collection_partner(node, partners)
        source = sources.get(node)
        yield (
            side.ids[node],
            side.graph,
            side.ids[node.parent] if node.parent is not None else None,
            positions.get(node, 0),
            node.exec_order,
            node.depth,
            last[node],
            len(node.children),
            node.name,
            node.label,
            node.kind,
            node.direction,
            int(depths[node.exec_order]) if ours and depths is not None else None,
            int(node.recomputed),
            node.micro_step,
            side.stack_base + node.stack if node.stack is not None else None,
            other.ids.get(partner) if other is not None and partner is not None else None,
            reason_of.get(node) or ("aligned" if node.kind == "collection" and partner else None),
            *below.scores(node),
            judgement.verdict if judgement is not None else None,
            overflow[node.exec_order] if overflow and node.kind != "collection" else None,
            *below.totals(node),
            (side.ids.get(source) or (other.ids.get(source) if other else None))
            if source is not None
            else None,
            encode(_reasons(judgement)),
        )


def _reasons(judgement: Judgement | None) -> list[Reason]:
    return judgement.reasons if judgement is not None else []


def _collection_partner(
    node: TreeNode, partners: dict[TreeNode, TreeNode]
) -> TreeNode | None:
    for child in node.children:
        partner = partners.get(child)
        if partner is not None and partner.parent is not None:
            return partner.parent if partner.parent.kind == "collection" else None
    return None


def _sources(result: PairResult) -> dict[TreeNode, TreeNode]:
    sources = {node: f.node for f in result.findings for node in f.carriers}
    sources.update({finding.node: finding.node for finding in result.findings})
    return sources


def _last_ids(side: SideRows) -> dict[TreeNode, int]:
    last: dict[TreeNode, int] = {}
    for node in reversed(side.listed):
        last[node] = last[node.children[-1]] if node.children else side.ids[node]
    return last


class _Below:
    """Scores of nodes and what is worst below them."""

    def __init__(self, side: SideRows, comparison: Comparison | None, threshold: float) -> None:
        self._comparison = comparison
        self._worst: dict[TreeNode, float] = {}
        self._divergent: dict[TreeNode, int] = {}
        if comparison is not None:
            self._gather(side, threshold)

    def _gather(self, side: SideRows, threshold: float) -> None:
        for node in reversed(side.listed):
            if node.parent is None:
                continue
            own = self.scores(node)[0]
            worst = max(self._worst.get(node, -1.0), -1.0 if own is None else own)
            count = self._divergent.get(node, 0) + int(own is not None and own > threshold)
            if worst >= 0:
                self._worst[node.parent] = max(self._worst.get(node.parent, -1.0), worst)
            if count:
                self._divergent[node.parent] = self._divergent.get(node.parent, 0) + count

    def scores(self, node: TreeNode) -> tuple[float | None, float | None, float | None]:
        """score, input_score, introduced."""
        if self._comparison is None or node.kind in ("collection", "root"):
            return None, None, None
        score = _number(self._comparison.node_score, node.exec_order)
        before = _number(self._comparison.node_input_score, node.exec_order)
        introduced = None if score is None else max(0.0, score - (before or 0.0))
        return score, before, introduced

    def totals(self, node: TreeNode) -> tuple[float | None, int]:
        """worst_below, divergent_below."""
        return self._worst.get(node), self._divergent.get(node, 0)


def _number(column: Floats, index: int) -> float | None:
    number = column[index]
    return None if np.isnan(number) else float(number)


def value_rows(side: SideRows) -> Iterator[Row]:
    """The rows of one side's values without what concerns the pair."""
    values = side.tree.dump.values
    roles: dict[str, tuple[str, str]] = {}
    for node in side.listed:
        if node.kind == "collection":
            continue
        node_id = side.ids[node]
        for index in range(*node.values):
            record = values.records[index]
            key = values.keys[index]
            role = roles.get(key)
            if role is None:
                name, _, path = key.partition(".")
                role = roles[key] = (name, path)
            yield (
                side.value_base + index,
                node_id,
                *role,
                *record_cells(record),
            )


_dtypes: dict[str | None, str | None] = {None: None}
_shapes: dict[tuple[int, ...] | None, str | None] = {None: None}


def record_cells(record: Record) -> Row:
    """type … scalar of one value, in the order of VALUE_COLUMNS."""
    dtype = _dtypes.get(record.dtype)
    if dtype is None and record.dtype is not None:
        dtype = _dtypes[record.dtype] = canonical_dtype(record.dtype)
    shape = _shapes.get(record.shape)
    if shape is None and record.shape is not None:
        shape = _shapes[record.shape] = ",".join(map(str, record.shape))
    return (
        record.type,
        dtype,
        shape,
        cell(record.Max),
        cell(record.Min),
        cell(record.Mean),
        cell(record.Norm),
        record.requires_grad,
        record.md5,
        record.data_name,
        _scalar(record),
    )


def cell(number: float | bool | str | None) -> float | str | None:
    """A statistic as SQLite keeps it: NaN as the text 'nan', since a NaN would become NULL."""
    if isinstance(number, str):
        try:
            number = float(number)
        except ValueError:
            return "nan"
    return "nan" if number != number else number


def _scalar(record: Record) -> str | None:
    if record.dtype is not None:
        return None
    if record.group_ranks is not None:
        return json.dumps({"group_ranks": record.group_ranks})
    return json.dumps(record.value, ensure_ascii=False) if record.value is not None else None


def pair_rows(
    problem: SideRows, benchmark: SideRows, comparison: Comparison
) -> dict[int, Row]:
    """partner, error, score (and the tensor measures) by the problem's value index."""
    rows: dict[int, Row] = {}
    tensor = comparison.mode == "tensor"
    error, score = comparison.error.tolist(), comparison.score.tolist()
    pairs = zip(comparison.pairs.problem, comparison.pairs.benchmark, strict=True)
    for row, (ours, theirs) in enumerate(pairs):
        if SURPLUS in (ours, theirs):
            continue
        e, s = error[row], score[row]
        cells: Row = (
            benchmark.value_base + theirs,
            None if e != e else e,
            None if s != s else s,
        )
        rows[ours] = cells + _tensor_cells(comparison, row) if tensor else cells
    return rows


def _tensor_cells(comparison: Comparison, row: int) -> Row:
    measures = comparison.tensors.get(row)
    if measures is None:
        return (None,) * len(TENSOR_COLUMNS)
    return (
        measures.cosine,
        measures.euc_dist,
        measures.max_abs_err,
        measures.max_rel_err,
        measures.one_thousandth,
        measures.five_thousandths,
    )
