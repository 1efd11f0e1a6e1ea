"""What a value went through since it was recorded last: told where both dumps tell of such calls.

A call without values shows no difference of its own. Where what is read behind it is further apart
than what was put out before it explains, what the call was given otherwise is the cause: another
number (a bound, an axis, an index), or what another call put out (a join in another order).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import TypeAlias

from builder.diagnosis.facts import Facts, slice_text
from builder.dump.passing_calls import PassingCall
from builder.dump.values import Record
from builder.match.tree import Tree, TreeNode, outputs_of
from builder.operators.table import has
from builder.reasons import ArgumentDiffers, FedOtherwise

GivenOtherwise: TypeAlias = ArgumentDiffers | FedOtherwise
_OUTPUT = ".output"
_INPUT = "input"  # how the keys of what a call reads begin
_FILLS = "copy_"  # its first tensor is written, and not read
_MOST = 256  # calls on one way: a list that grows in a loop


@dataclass(frozen=True, slots=True)
class PassedWay:
    """The calls without values that a value went through, the nearest first.

    `begins` are the values that were recorded before them; None where something else was read, or
    one of the calls may put elements out further apart than it read them. `ends` are the calls with
    values behind all of them.
    """

    calls: tuple[str, ...]
    ends: tuple[str, ...]
    begins: frozenset[int] | None


class PassedCalls:
    """The ways of one comparison's values through calls without values."""

    def __init__(self, facts: Facts) -> None:
        self._facts, self._matching = facts, facts.comparison.matching
        self._trees = (self._matching.problem, self._matching.benchmark)
        self.are_told = all(tree.dump.passing is not None for tree in self._trees)

    def expected(self, row: int) -> float | None:
        """How far apart a value may be read, by how far apart what it is made of was put out.

        ‖Δ‖² ≤ Σ ‖Δᵢ‖²·copies: no call on the way adds anything. None where that is not told.
        """
        ways = self._ways(row)
        if ways is None or not ways[0].calls or None in (ways[0].begins, ways[1].begins):
            return None
        rows = [
            {self._rows[side].get(at) for at in way.begins or ()} for side, way in enumerate(ways)
        ]
        if rows[0] != rows[1] or not rows[0]:
            return None
        known, total = self._facts.known, 0.0
        for at in rows[0]:
            if at is None or known.hidden[at] or not known.known[at] or known.paired.is_integer(at):
                return None
            copies = max(1.0, known.size[row] / max(1.0, known.size[at]))
            total += known.distance[at] ** 2 * copies
        return sqrt(total)

    def is_read_at_once(self, row: int) -> bool:
        """Whether both dumps tell who wrote it last, and of no call between that may expand it."""
        records = self._records(row)
        return self.are_told and all(r.source is not None and r.through is None for r in records)

    def is_outside_data(self, row: int) -> bool:
        """Whether no call of both runs stands behind a value, as behind labels that one clamps.

        Nothing upstream that is off can have come over such a way. Parameters and what goes back
        are made by no recorded call either, and are no data.
        """
        records = self._records(row)
        reader = self._matching.problem.in_order[int(self._facts.comparison.pairs.node[row])]
        if not self.are_told or reader.phase != "forward" or any(r.requires_grad for r in records):
            return False
        return all(map(self._is_outside_data, self._trees, records))

    def are_otherwise(self, row: int) -> bool:
        """Whether a call on the way of a value is one run's own, or was given something else."""
        return next(self.alone(row), None) is not None or self.otherwise(row) is not None

    def _is_outside_data(self, tree: Tree, record: Record) -> bool:
        """Whether the calls behind a value, up to where nothing is recorded, are one run's own."""
        pending, seen, values = [record], set[TreeNode](), tree.dump.values
        while pending:
            for name in _way(tree, pending.pop()).ends:
                node = tree.by_name.get(name)
                if node is None or node.kind != "api" or node in self._matching.partner:
                    return False
                if node not in seen:
                    seen.add(node)
                    inputs = (
                        at for at in range(*node.values) if values.keys[at].startswith(_INPUT)
                    )
                    pending += [values.records[at] for at in inputs]
        return True

    def alone(self, row: int) -> Iterator[TreeNode]:
        """The calls on the way of a value that one run alone makes, those with values last."""
        ways = self._ways(row)
        if ways is None or not (ways[0].calls or ways[1].calls):
            return
        for names in ([way.calls for way in ways], [way.ends for way in ways]):
            for side, listed in enumerate(names):
                nodes = (self._trees[side].by_name.get(name) for name in listed)
                yield from (n for n in nodes if n is not None and n not in self._matching.partner)

    def writers(self, row: int) -> Iterator[TreeNode]:
        """The calls behind the way of a value that left what they read and nothing they put out."""
        ways = self._ways(row)
        for name in ways[0].ends if ways is not None else ():
            node = self._trees[0].by_name.get(name)
            if node is not None and next(outputs_of(node, self._trees[0]), None) is None:
                yield node

    def otherwise(self, row: int) -> tuple[TreeNode, GivenOtherwise] | None:
        """The nearest call on the way of a value that was given something else, and what."""
        ways = self._ways(row)
        for name in ways[0].calls if ways is not None else ():
            node = self._trees[0].by_name.get(name)
            reason = self.difference(node) if node is not None else None
            if node is not None and reason is not None:
                return node, reason
        return None

    def difference(self, node: TreeNode) -> GivenOtherwise | None:
        """What a call of both runs was given otherwise; None of one with values."""
        partner = self._matching.partner.get(node)
        ours, theirs = self._call(0, node), self._call(1, partner)
        if ours is None or theirs is None:
            return None
        for key in dict.fromkeys((*ours.arguments, *theirs.arguments)):
            one, other = ours.arguments.get(key), theirs.arguments.get(key)
            if not (_are_alike(one, other) or self._is_of_the_runs(one, other)):
                return ArgumentDiffers(key, _text(one), _text(other))
        return self._fed_otherwise(ours, theirs)

    def _is_of_the_runs(
        self, one: tuple[str, object] | None, other: tuple[str, object] | None
    ) -> bool:
        """Whether an argument says where a run computes, or in which of two formats."""
        ours, theirs = self._facts.comparison.setting.precision
        types = {argument[0] for argument in (one, other) if argument is not None}
        return "torch.device" in types or ("torch.dtype" in types and ours != theirs)

    def _fed_otherwise(self, ours: PassingCall, theirs: PassingCall) -> FedOtherwise | None:
        """What calls put out that are no partners, or another output of partners."""
        read = dict(theirs.sources)
        for key, source in ours.sources:
            other = read.get(key)
            if source is None or other is None:
                continue
            ends = [_split(t, text) for t, text in zip(self._trees, (source, other))]
            made, meant = (tree.by_name.get(end[0]) for tree, end in zip(self._trees, ends))
            if made is None or meant is None or made not in self._matching.partner:
                continue
            if meant not in self._matching.partner:
                continue
            is_same = self._matching.partner[made] is meant and ends[0][1] == ends[1][1]
            if not is_same:
                return FedOtherwise(key, _said(made, ends[0][1]), _said(meant, ends[1][1]))
        return None

    def _call(self, side: int, node: TreeNode | None) -> PassingCall | None:
        passing = self._trees[side].dump.passing
        return passing.get(node.name) if passing is not None and node is not None else None

    def _records(self, row: int) -> tuple[Record, Record]:
        return self._facts.paired.ours[row], self._facts.paired.theirs[row]

    def _ways(self, row: int) -> tuple[PassedWay, PassedWay] | None:
        if not self.are_told:
            return None
        one, other = (_way(t, record) for t, record in zip(self._trees, self._records(row)))
        return one, other

    @cached_property
    def _rows(self) -> tuple[dict[int, int], dict[int, int]]:
        """The rows of the outputs, by the index of their value on either side."""
        comparison = self._facts.comparison
        pairs = [self._facts.paired.value_pair(row) for row in range(len(comparison.keys))]
        outputs = [row for row in range(len(pairs)) if comparison.is_output[row]]
        ours, theirs = ({pairs[row][side]: row for row in outputs} for side in (0, 1))
        return ours, theirs


def _way(tree: Tree, record: Record) -> PassedWay:
    passing, keys = tree.dump.passing or {}, tree.dump.values.keys
    calls: dict[str, None] = {}
    ends: dict[str, None] = {}
    begins: set[int] | None = set()
    start = record.through or record.source
    pending = [start] if start else []
    while pending:
        name, path = _split(tree, pending.pop(0))
        if name in calls:
            continue
        call = passing.get(name)
        if call is None:
            node, ends[name] = tree.by_name.get(name), None
            at = None if node is None else _value_at(keys, node, path)
            begins = begins | {at} if begins is not None and at is not None else None
            continue
        calls[name] = None
        read = [source for key, source in _reads(name, call)]
        if None in read or not _adds_nothing(name) or len(calls) > _MOST:
            begins = None
        if len(calls) <= _MOST:
            pending += [source for source in read if source is not None]
    return PassedWay(tuple(calls), tuple(ends), None if begins is None else frozenset(begins))


def _reads(name: str, call: PassingCall) -> Iterator[tuple[str, str | None]]:
    fills = _api(name) == _FILLS
    return ((key, source) for key, source in call.sources if not (fills and key == "input.0"))


def _api(name: str) -> str:
    return name.removesuffix(".forward").rpartition(".")[0].partition(".")[2]


def _adds_nothing(name: str) -> bool:
    """Whether a call puts elements out no further apart than it read them, to the last digit."""
    api = _api(name)
    moves = has(api, "moves", "create") or api == _FILLS
    return moves and not has(api, "cast", "converts", "chooses", "picks")


def _split(tree: Tree, source: str) -> tuple[str, str]:
    """A value name as that of its call and the key of the value there."""
    passing = tree.dump.passing or {}
    end = source.rfind(_OUTPUT)
    while end > 0 and source[:end] not in tree.by_name and source[:end] not in passing:
        end = source.rfind(_OUTPUT, 0, end)
    return (source[:end], source[end + 1 :]) if end > 0 else (source, "")


def _value_at(keys: list[str], node: TreeNode, path: str) -> int | None:
    return next((at for at in range(*node.values) if keys[at] == path), None)


def _said(node: TreeNode, path: str) -> str:
    return node.name if path in ("output.0", "") else f"{node.name}.{path}"


def _text(argument: tuple[str, object] | None) -> str | None:
    if argument is None:
        return None
    return slice_text(argument[1]) if argument[0] == "slice" else str(argument[1])


def _are_alike(one: tuple[str, object] | None, other: tuple[str, object] | None) -> bool:
    """Whether two arguments say the same, as 1 and 1.0 do."""
    return one == other or (one is not None and other is not None and one[1] == other[1])
