"""Matches a run of whole sequences with one that computed the same tokens in other forward passes.

Modules correspond by the weights that they hold; at their edges the rows of the tokens that both
runs computed are compared, all forward passes as one value.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import msgspec
import numpy as np

from builder.dump.values import Record
from builder.match.implementations.matching import (
    Correspondence,
    Found,
    copied,
    corresponding,
    whole_weights,
)
from builder.match.implementations.moved_elements import made_alike
from builder.match.nodes import Matching, MatchRules
from builder.match.sequences.aligned_values import (
    AlignedValue,
    RunOfTokens,
    apart,
    apart_in_any_order,
    have_moved,
    record_of,
    sum_of,
    values_of,
)
from builder.match.sequences.forwards import Pass, passes_of
from builder.match.sequences.row_numbers import Floats
from builder.match.sequences.token_alignment import Tokens, align
from builder.match.tree import Tree, TreeNode
from builder.match.value_pairing import SURPLUS, ValuePairs
from builder.reasons import TokensAligned
from msprobe_core.format import SKETCH_VERSION

# As many tokens of the run with fewer must be found in the other: below it two runs of other
# prompts share words by chance.
_SHARED = 0.5


@dataclass(frozen=True, slots=True)
class TokenErrors:
    """How far each token is apart, by the problem's values; `tokens` tells which token is which.

    `runs` are the forward passes of problem and benchmark. `errors` are relative to the root mean
    square norm of the benchmark's rows; NaN where a run has none.
    """

    tokens: Tokens
    errors: Mapping[int, Floats]
    runs: tuple[RunOfTokens, ...] = ()


@dataclass(frozen=True, slots=True)
class AlignedRuns:
    """Two runs matched by their tokens, and what is said of that."""

    correspondence: Correspondence
    said: TokensAligned


def match_tokens(
    both: tuple[Sequence[Tree], Sequence[Tree]], rules: MatchRules, *, asked: bool
) -> AlignedRuns | None:
    """Match two runs of one or more dumps; None where their tokens are laid out alike, or unknown.

    Unless it is `asked` for, runs of the same forward passes are left alone.
    """
    problem, benchmark = both
    sides = [passes_of(trees) for trees in both]
    if not all(sides) or (not asked and not _are_laid_out_otherwise(*sides)):
        return None
    found = corresponding(problem[0], benchmark[0], _width, rules)
    if found is None:
        return None
    is_swapped = _is_whole(sides[1]) > _is_whole(sides[0])
    whole, cut = reversed(sides) if is_swapped else sides
    tokens = align([p.forward for p in whole], [p.forward for p in cut])
    fewer = min(sum(p.rows for p in side) for side in sides)
    if len(tokens.request) < _SHARED * fewer:
        return None
    runs = RunOfTokens(whole, tokens.whole, ()), RunOfTokens(cut, tokens.cut, tokens.ends)
    ours, theirs = reversed(runs) if is_swapped else runs
    matching = _Matcher(found, (problem[0], benchmark[0]), (ours, theirs), tokens).matching()
    said = TokensAligned(len(tokens.request), len(np.unique(tokens.request)), len(cut), tokens.left)
    return AlignedRuns(Correspondence(matching, found.told, found.recorded), said)


def _are_laid_out_otherwise(ours: Sequence[Pass], theirs: Sequence[Pass]) -> bool:
    return [each.batch for each in ours] != [each.batch for each in theirs]


def _is_whole(passes: Sequence[Pass]) -> tuple[int, bool]:
    """What tells the run that has whole sequences: fewer passes, or lines that are padded."""
    return -len(passes), any(each.forward.is_padded for each in passes)


def _width(node: TreeNode, tree: Tree) -> int:
    """How many numbers a module puts out for a token."""
    values = tree.dump.values
    for index in range(*node.values):
        shape = values.records[index].shape
        if values.keys[index].startswith("output") and shape:
            return shape[-1]
    return 0


_Place = tuple[str, str, str, int, int, int]  # classes, role, width, and how many values each has


@dataclass(frozen=True, slots=True)
class _Edge:
    """What two modules read or put out, of one width; the side with fewer values is `few`."""

    nodes: tuple[TreeNode, TreeNode]
    place: _Place
    few: list[AlignedValue]
    many: list[AlignedValue]
    is_swapped: bool  # whether the benchmark has fewer


class _Matcher:
    def __init__(
        self,
        found: Found,
        trees: tuple[Tree, Tree],
        runs: tuple[RunOfTokens, RunOfTokens],
        tokens: Tokens,
    ) -> None:
        self._found, self._runs, self._tokens = found, runs, tokens
        self._partners = whole_weights(found.weights)
        self._problem, self._benchmark = (copied(tree) for tree in trees)
        for tree in (self._problem, self._benchmark):
            tree.dump.sketch_version = SKETCH_VERSION  # that of the sketches that are made here
        self._errors: dict[int, Floats] = {}
        self._rows: list[tuple[int, int, int]] = []
        self._moved: set[int] = set()

    def matching(self) -> Matching:
        """The nodes of the first forward pass matched, with the values of all."""
        matching = Matching(self._problem, self._benchmark)
        matching.pair(self._problem.root, self._benchmark.root, "name")
        edges: list[_Edge] = []
        for path, other in self._found.paths.items():
            nodes = (
                self._runs[0].passes[0].calls.get(path),
                self._runs[1].passes[0].calls.get(other),
            )
            if nodes[0] is None or nodes[1] is None:
                continue
            pair = nodes[0], nodes[1]
            matching.pair(*pair, "weights")
            self._rows += self._weights(pair)
            edges += self._edges(pair, (path, other))
        self._moved |= made_alike(self._problem, self._benchmark, self._rows)
        chosen = _chosen(edges)
        for edge in edges:
            self._join(edge, chosen[edge.place])
        table = np.array(sorted(self._rows), dtype=np.int64).reshape(-1, 3)
        matching.rows = ValuePairs(table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy())
        matching.moved = frozenset(self._moved)
        matching.token_errors = TokenErrors(self._tokens, self._errors, self._runs)
        return matching

    def _weights(self, nodes: tuple[TreeNode, TreeNode]) -> Iterator[tuple[int, int, int]]:
        keys = self._problem.dump.values.keys
        own = set(range(*nodes[1].values))
        for index in range(*nodes[0].values):
            if keys[index].startswith("parameters."):
                other = self._partners.get(index, SURPLUS)
                if other in own:
                    self._learn_alike(index, other)
                    self._without_files(index, other)
                yield nodes[0].exec_order, index, other if other in own else SURPLUS

    def _learn_alike(self, p: int, b: int) -> None:
        """That an engine keeps no gradients is what it is, and no difference."""
        ours, theirs = self._problem.dump.values.records, self._benchmark.dump.values.records
        ours[p] = msgspec.structs.replace(ours[p], requires_grad=theirs[b].requires_grad)

    def _without_files(self, p: int, b: int) -> None:
        """Weights are the same in any order: their elements are not compared one by one."""
        for tree, index in ((self._problem, p), (self._benchmark, b)):
            records = tree.dump.values.records
            records[index] = msgspec.structs.replace(records[index], data_name=None, md5=None)

    def _edges(self, nodes: tuple[TreeNode, TreeNode], paths: tuple[str, str]) -> Iterator[_Edge]:
        classes = [node.entry.type_name if node.entry is not None else "" for node in nodes]
        for role in ("input", "output"):
            ours, theirs = (
                list(values_of(run, path, role)) for run, path in zip(self._runs, paths)
            )
            for width in dict.fromkeys(each.width for each in ours):
                left, right = ([v for v in side if v.width == width] for side in (ours, theirs))
                if not right:
                    continue
                place = (*classes, role, width, len(left), len(right))
                is_swapped = len(right) < len(left)
                few, many = (right, left) if is_swapped else (left, right)
                yield _Edge(nodes, place, few, many, is_swapped)  # type: ignore[arg-type]  # sides in either order

    def _join(self, edge: _Edge, chosen: Sequence[tuple[int, ...]]) -> None:
        """Set the records of what is compared at an edge, and note which are compared."""
        for value, option in zip(edge.few, chosen):
            other = _option(edge.many, option)
            ours, theirs = (other, value) if edge.is_swapped else (value, other)
            known = ours.known & theirs.known
            if not known.any():
                continue
            in_order = not have_moved(ours, theirs)
            indices = [
                _set(tree, node, one, record_of(one, known, in_order=in_order))
                for tree, node, one in zip(
                    (self._problem, self._benchmark), edge.nodes, (ours, theirs)
                )
            ]
            if None in indices:
                continue
            p, b = (int(index or 0) for index in indices)
            self._learn_alike(p, b)
            measured = apart if in_order else apart_in_any_order
            self._errors[p] = measured(ours, theirs)
            if not in_order:
                self._moved.add(p)
            self._rows.append((edge.nodes[0].exec_order, p, b))


def _set(tree: Tree, node: TreeNode, value: AlignedValue, record: Record) -> int | None:
    """Let a value of the first pass's call stand for that of all; its index, None without it."""
    values = tree.dump.values
    for index in range(*node.values):
        if values.keys[index] == value.keys[0]:
            values.records[index] = record
            return index
    return None


# A program may keep apart what another has added up, as a residual beside what a layer adds to it.
# Which of its values, or which two together, are the other's is the same at all places of one kind:
# that which comes nearest at any of them, since one place that agrees cannot do so by chance.
def _chosen(edges: Sequence[_Edge]) -> dict[_Place, list[tuple[int, ...]]]:
    by_place: dict[_Place, list[_Edge]] = defaultdict(list)
    for edge in edges:
        by_place[edge.place].append(edge)
    chosen: dict[_Place, list[tuple[int, ...]]] = {}
    for place, listed in by_place.items():
        free = _options(len(listed[0].many), len(listed[0].few))
        picked: list[tuple[int, ...]] = []
        for number in range(len(listed[0].few)):
            nearest = min(free, key=lambda option: _nearest(listed, number, option))
            picked.append(nearest)
            free = [option for option in free if option != nearest] or free
        chosen[place] = picked
    return chosen


def _options(many: int, few: int) -> list[tuple[int, ...]]:
    """One value, or where a side has more of them two together."""
    singles: list[tuple[int, ...]] = [(number,) for number in range(many)]
    return singles if many == few else [*singles, *combinations(range(many), 2)]


def _nearest(edges: Sequence[_Edge], number: int, option: tuple[int, ...]) -> float:
    found = []
    for edge in edges:
        share = apart(edge.few[number], _option(edge.many, option))
        known = share[~np.isnan(share)]
        if len(known):
            found.append(float(np.sqrt(np.mean(known**2))))
    return min(found, default=float("inf"))


def _option(values: Sequence[AlignedValue], option: tuple[int, ...]) -> AlignedValue:
    one, *others = (values[number] for number in option)
    return sum_of(one, others[0]) if others else one
