"""Turns the result of one pair into database rows, column by column."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import repeat
from math import isnan
from typing import Any

from builder.database.tables import NODE, VALUE
from builder.dump.values import Record
from builder.match.values import SURPLUS
from builder.measure.statistics import Floats
from builder.pipeline.layout import Placed, last_below, worst_below
from builder.pipeline.pair import PairResult
from builder.reasons import Reason, encode
from builder.tree import TreeNode
from msprobe_core.format import canonical_dtype

Row = tuple[Any, ...]
NODE_COLUMNS = NODE.columns
VALUE_COLUMNS = VALUE.columns
PAIR_START = VALUE_COLUMNS.index("partner")
TENSOR_START = VALUE_COLUMNS.index("cosine")


def node_rows(
    side: Placed, other: Placed | None, result: PairResult, threshold: float
) -> Iterator[Row]:
    """The rows of one side's nodes in pre-order; scores stand on the problem side."""
    listed, base = side.listed, side.node_base
    ours = side.tree is result.problem
    scores, before = _scores(side, result) if ours else (_none(side), _none(side))
    worst, divergent = worst_below(listed, scores, threshold)
    match, reason = _matches(side, other, result)
    verdict, reasons = _judged(side, result)
    return zip(
        range(base, base + len(listed)),
        repeat(side.graph),
        [None if n.parent is None else base + n.parent.index for n in listed],
        _positions(listed),
        [n.exec_order for n in listed],
        [n.depth for n in listed],
        [base + index for index in last_below(listed)],
        [len(n.children) for n in listed],
        [n.name for n in listed],
        [n.label for n in listed],
        [n.kind for n in listed],
        [n.direction for n in listed],
        _blocks(side, result),
        [int(n.recomputed) for n in listed],
        [n.micro_step for n in listed],
        [None if n.stack is None else side.stack_base + n.stack for n in listed],
        match,
        reason,
        scores,
        before,
        [None if s is None else max(0.0, s - (b or 0.0)) for s, b in zip(scores, before)],
        verdict,
        _overflow(side, result),
        worst,
        divergent,
        _sources(side, other, result),
        reasons,
    )


def value_rows(side: Placed) -> Iterator[Row]:
    """The rows of one side's values, up to the columns that concern the pair."""
    values = side.tree.dump.values
    records = values.records
    nodes: list[int | None] = [None] * len(records)
    for node in side.listed:
        start, stop = node.values
        if node.kind != "collection" and stop > start:
            nodes[start:stop] = [side.id_of(node)] * (stop - start)
    keys = {key: key.partition(".") for key in set(values.keys)}
    shapes = {shape: _shape(shape) for shape in {r.shape for r in records}}
    dtypes = {dtype: _dtype(dtype) for dtype in {r.dtype for r in records}}
    return zip(
        range(side.value_base, side.value_base + len(records)),
        nodes,
        [keys[key][0] for key in values.keys],
        [keys[key][2] for key in values.keys],
        [r.type for r in records],
        [dtypes[r.dtype] for r in records],
        [shapes[r.shape] for r in records],
        statistic_cells([r.Max for r in records]),
        statistic_cells([r.Min for r in records]),
        statistic_cells([r.Mean for r in records]),
        statistic_cells([r.Norm for r in records]),
        [r.requires_grad for r in records],
        [r.md5 for r in records],
        [r.data_name for r in records],
        [None if r.dtype is not None else _scalar(r) for r in records],
    )


def paired_value_rows(problem: Placed, benchmark: Placed, result: PairResult) -> Iterator[Row]:
    """The rows of the problem's values with partner, error, score and, in tensor mode, measures."""
    comparison = result.comparison
    assert comparison is not None
    count = len(problem.tree.dump.values.records)
    partner: list[int | None] = [None] * count
    error: list[float | None] = [None] * count
    score: list[float | None] = [None] * count
    tensor: list[Row] = [(None,) * (len(VALUE_COLUMNS) - TENSOR_START)] * count
    errors, scores = _optional(comparison.error), _optional(comparison.score)
    pairs = zip(comparison.pairs.problem, comparison.pairs.benchmark, strict=True)
    for row, (ours, theirs) in enumerate(pairs):
        if SURPLUS not in (ours, theirs):
            partner[ours] = benchmark.value_base + theirs
            error[ours], score[ours] = errors[row], scores[row]
    for row, m in comparison.tensors.items():
        tensor[comparison.pairs.problem[row]] = (
            m.cosine,
            m.euc_dist,
            m.max_abs_err,
            m.max_rel_err,
            m.one_thousandth,
            m.five_thousandths,
        )
    if comparison.mode == "tensor":
        wide = zip(value_rows(problem), partner, error, score, tensor, strict=True)
        return ((*row, p, e, s, *t) for row, p, e, s, t in wide)
    narrow = zip(value_rows(problem), partner, error, score, strict=True)
    return ((*row, p, e, s) for row, p, e, s in narrow)


def statistic_cells(column: list[float | bool | str | None]) -> list[Any]:
    """Statistics as SQLite keeps them: NaN as the text 'nan', since a NaN would become NULL.

    A dump's NaN is text already: JSON has no such number.
    """
    cells: list[Any] = column
    for index in [i for i, cell in enumerate(column) if type(cell) is str]:
        cells[index] = _text_cell(cells[index])
    return cells


def _text_cell(cell: str) -> float | str:
    try:
        number = float(cell)
    except ValueError:
        return "nan"
    return "nan" if isnan(number) else number


def _scores(side: Placed, result: PairResult) -> tuple[list[float | None], list[float | None]]:
    comparison = result.comparison
    if comparison is None:
        return _none(side), _none(side)
    scores, before = _optional(comparison.node_score), _optional(comparison.node_input_score)
    return (
        [None if n.kind == "collection" else scores[n.exec_order] for n in side.listed],
        [None if n.kind == "collection" else before[n.exec_order] for n in side.listed],
    )


def _none(side: Placed) -> list[float | None]:
    return [None] * len(side.listed)


def _optional(column: Floats) -> list[float | None]:
    return [None if isnan(number) else number for number in column.tolist()]


def _positions(listed: list[TreeNode]) -> list[int]:
    positions = [0] * len(listed)
    for node in listed:
        for position, child in enumerate(node.children):
            positions[child.index] = position
    return positions


def _blocks(side: Placed, result: PairResult) -> list[int | None]:
    if result.comparison is None or side.tree is not result.problem:
        return [None] * len(side.listed)
    depth = result.comparison.depth.astype(int).tolist()
    return [depth[node.exec_order] for node in side.listed]


def _matches(
    side: Placed, other: Placed | None, result: PairResult
) -> tuple[list[int | None], list[str | None]]:
    if result.comparison is None or other is None:
        return [None] * len(side.listed), [None] * len(side.listed)
    matching = result.comparison.matching
    match: list[int | None] = []
    reason: list[str | None] = []
    for node in side.listed:
        partner = matching.partner.get(node)
        known = matching.reason.get(node)
        if node.kind == "collection":
            partner = _collection_partner(node, matching.partner)
            known = "aligned" if partner is not None else None
        match.append(other.id_of(partner) if partner is not None else None)
        reason.append(known)
    return match, reason


def _collection_partner(node: TreeNode, partners: dict[TreeNode, TreeNode]) -> TreeNode | None:
    for child in node.children:
        partner = partners.get(child)
        if partner is not None and partner.parent is not None:
            return partner.parent if partner.parent.kind == "collection" else None
    return None


def _judged(side: Placed, result: PairResult) -> tuple[list[str | None], list[str | None]]:
    verdicts: list[str | None] = [None] * len(side.listed)
    reasons: list[str | None] = [None] * len(side.listed)
    if side.tree is result.problem:
        in_order = side.tree.in_order
        for order, judgement in result.judgements.items():
            index = in_order[order].index
            verdicts[index] = judgement.verdict
            if judgement.reasons:
                reasons[index] = encode(judgement.reasons)
        for node, facts in _guesses(result).items():
            judged = result.judgements.get(node.exec_order)
            reasons[node.index] = encode([facts, *(judged.reasons if judged is not None else [])])
    return verdicts, reasons


def _guesses(result: PairResult) -> dict[TreeNode, Reason]:
    if result.comparison is None:
        return {}
    matching = result.comparison.matching
    return {
        node: {"code": "fuzzy_guess", "partner": matching.partner[node].name, "score": score}
        for node, score in matching.guess.items()
    }


def _overflow(side: Placed, result: PairResult) -> list[str | None]:
    levels = result.overflow[0 if side.tree is result.problem else 1]
    if not levels:
        return [None] * len(side.listed)
    return [None if n.kind == "collection" else levels[n.exec_order] for n in side.listed]


def _sources(side: Placed, other: Placed | None, result: PairResult) -> list[int | None]:
    sources: list[int | None] = [None] * len(side.listed)
    if side.tree is not result.problem:
        return sources
    for finding in result.findings:
        home = side if finding.side == "problem" else other
        assert home is not None
        source = home.id_of(finding.node)
        for node in finding.carriers:
            sources[node.index] = source
        if home is side:
            sources[finding.node.index] = source
    return sources


def _shape(shape: tuple[int, ...] | None) -> str | None:
    return None if shape is None else ",".join(map(str, shape))


def _dtype(dtype: str | None) -> str | None:
    return None if dtype is None else canonical_dtype(dtype)


def _scalar(record: Record) -> str | None:
    if record.group_ranks is not None:
        return json.dumps({"group_ranks": record.group_ranks})
    return json.dumps(record.value, ensure_ascii=False) if record.value is not None else None
