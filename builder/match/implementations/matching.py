"""Matches two programs of one model at the edges of the modules that correspond.

What either side calls inside a module is how it computes it, and is held against nothing. Values at
an edge pair by size: a port may keep them in another shape, or in another order of axes.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from math import prod

import msgspec
import numpy as np

from builder.dump.sketch_numbers import projected_norms, sketches_of
from builder.dump.stack_frames import model_frame
from builder.dump.values import Record
from builder.match.implementations.met_values import MetValues
from builder.match.implementations.modules import pair_modules, unpaired_in
from builder.match.implementations.parameters import (
    Parameter,
    call_path,
    has_modules,
    numbers_of,
    parameters_of,
)
from builder.match.implementations.weight_pairs import Side, WeightPair, pair_weights
from builder.match.nodes import Matching, MatchRules
from builder.match.shared_calls import ENOUGH_SHARED
from builder.match.tree import Tree, TreeNode
from builder.match.value_pairing import SURPLUS, ValuePairs
from builder.reasons import TwoImplementations
from msprobe_core.format import is_integer_dtype

# Of the run with fewer weights as many must be found in the other for the two to be one model. One
# number throughout, as of norms that were folded into the next weight, is found in any model.
_FOUND = 0.5
# Distinct values that calls put out. What reads a weight that is found is one; two more are none
# that another model comes by.
_ENOUGH_MET = 3
# Numbers that are the same to 1e-5 leave elements that far apart, by the norm, where none moved;
# moved at random they are √2 apart. Between them the value is free.
_MOVED = 0.1
# What is left of a value whose elements stand in another order: its statistics.
_UNSEEN: dict[str, None] = {"sketch": None, "md5": None, "data_name": None}


_Calls = dict[str, list[TreeNode]]


@dataclass(frozen=True, slots=True)
class Correspondence:
    """Two programs of one model: their nodes matched, and which weights are which."""

    matching: Matching
    weights: Sequence[WeightPair]
    recorded: int  # weights of the run that has fewer of them

    def said(self) -> TwoImplementations:
        """What was found, in numbers."""
        by_value = [pair for pair in self.weights if pair.relation != "differs"]
        found = min(_count(by_value, 0), _count(by_value, 1))
        fused = sum(pair.relation in ("joined", "split") for pair in by_value)
        kind = "module" if has_modules(self.matching.problem) else "api"
        modules = {
            node.entry.path if kind == "module" else node.name
            for node in self.matching.problem.in_order
            if node.kind == kind and node.direction == "forward" and node.entry is not None
            if node in self.matching.partner
        }
        return TwoImplementations(found, self.recorded, fused, len(modules))


PutOut = Callable[[TreeNode, Tree], int]


@dataclass(frozen=True, slots=True)
class Found:
    """Which weights and modules correspond: paths of the benchmark by those of the problem.

    `calls` are the forward calls of each module on either side; `recorded` counts the weights of
    the run that has fewer.
    """

    weights: list[WeightPair]
    paths: dict[str, str]
    calls: tuple[_Calls, _Calls]
    recorded: int


_NOTHING_TOLD = MatchRules()


def match_implementations(
    problem: Tree, benchmark: Tree, rules: MatchRules = _NOTHING_TOLD
) -> Correspondence | None:
    """The correspondence of two programs; None where they do not share half of their weights.

    Of `rules` the weights and modules count that were paired by hand. Raises MappingError where
    weights so paired are not of one size.
    """
    trees = (problem, benchmark)
    found = corresponding(problem, benchmark, _put_out, rules)
    if found is None:
        return None
    nodes = [*_in_turn(*found.calls, found.paths), *_outside_in_turn(trees)]
    return Correspondence(_matched(trees, nodes, found.weights), found.weights, found.recorded)


def corresponding(
    problem: Tree, benchmark: Tree, put_out: PutOut, rules: MatchRules = _NOTHING_TOLD
) -> Found | None:
    """The weights and modules of two programs that correspond; None and raises as above.

    `put_out` tells how much a module puts out: of those that hold the same weights, modules that
    put out as much pair.
    """
    trees = (problem, benchmark)
    ours, theirs = (Side(parameters_of(tree), tree.dump.values.records) for tree in trees)
    pairs = pair_weights(ours, theirs, rules.weights)
    fewer = min(len(ours.parameters), len(theirs.parameters))
    if not (_tell_apart(ours) and _tell_apart(theirs)):
        return None
    is_told = any(pair.by_hand for pair in pairs)
    if not (is_told or _tell_one_model(pairs, ours, theirs) or _share_values(pairs, trees)):
        return None
    calls = _modules(problem), _modules(benchmark)
    ran = [
        {path: put_out(nodes[0], tree) for path, nodes in found.items()}
        for found, tree in zip(calls, trees)
    ]
    alike = partial(_edges_alike, trees, calls)
    paths = pair_modules(pairs, *ran, alike=alike)
    pairs += _differing(pairs, paths, ours.parameters, theirs.parameters)
    paths |= {k: v for k, v in pair_modules(pairs, *ran, alike=alike).items() if k not in paths}
    for path, other in _modules_by_hand(trees, rules):
        paths = {k: v for k, v in paths.items() if path != k and other != v}
        paths[path] = other
    return Found(pairs, paths, calls, fewer)


def _modules_by_hand(trees: tuple[Tree, Tree], rules: MatchRules) -> Iterator[tuple[str, str]]:
    """The paths of modules that a person has paired."""
    for pair in rules.manual:
        ours, theirs = trees[0].by_name.get(pair.problem), trees[1].by_name.get(pair.benchmark)
        if ours is None or theirs is None or ours.kind != "module" or theirs.kind != "module":
            continue
        if ours.entry is not None and theirs.entry is not None:
            yield ours.entry.path, theirs.entry.path


def _edges_alike(
    trees: tuple[Tree, Tree], calls: tuple[_Calls, _Calls], path: str, other: str
) -> int:
    """How many are alike of the first tensor that modules read and the first that they put out."""
    ours, theirs = (
        _tensors(nodes[name][0], tree) for nodes, name, tree in zip(calls, (path, other), trees)
    )
    return sum(
        _are_alike(ours[role][0], theirs[role][0], trees)
        for role in ("input", "output")
        if ours.get(role) and theirs.get(role)
    )


def _tell_apart(side: Side) -> bool:
    """Whether weights tell one module from another: not where they are all equal."""
    told = [p.numbers for p in side.parameters if not p.is_constant]
    return len(set(told)) >= min(2, len(told))


def _tell_one_model(pairs: Sequence[WeightPair], ours: Side, theirs: Side) -> bool:
    """Whether enough weights of the run with fewer are found in the other.

    Constant ones tell nothing of a model.
    """
    telling = min(sum(not p.is_constant for p in side.parameters) for side in (ours, theirs))
    evidence = [pair for pair in pairs if not any(p.is_constant for p in pair.problem)]
    return telling > 0 and min(_count(evidence, 0), _count(evidence, 1)) >= _FOUND * telling


def _share_values(pairs: Sequence[WeightPair], trees: tuple[Tree, Tree]) -> bool:
    """Whether two programs come by the same values, though most of their weights are others.

    So it is where norms are folded into weights, or gates stand in another order. What programs of
    two models share, such as angles, is made without weights; one weight at least has to be found.
    """
    found = any(not p.is_constant for pair in pairs for p in pair.problem)
    return found and MetValues(*trees).put_out(trees[0]) >= _ENOUGH_MET


def are_unlike_calls(matching: Matching) -> bool:
    """Whether calls that share their names are those of two programs of one model.

    It is asked where calls alone are recorded, which share names in any two programs. Most weights
    that are found by value then stand in calls that are no partners; or most calls that are
    partners are made in other functions.
    """
    trees = (matching.problem, matching.benchmark)
    if any(has_modules(tree) for tree in trees):
        return False
    return _are_of_other_code(matching) or _hold_other_weights(matching)


def _are_of_other_code(matching: Matching) -> bool:
    """Whether most partners are called in other functions, or of other files."""
    ours, theirs = (_functions(tree) for tree in (matching.problem, matching.benchmark))
    places = [
        (ours[node.stack], theirs[partner.stack])
        for node in matching.problem.in_order
        if node.kind == "api" and (partner := matching.partner.get(node)) is not None
        if node.stack is not None and partner.stack is not None
    ]
    told = [(one, other) for one, other in places if one is not None and other is not None]
    return 2 * sum(one != other for one, other in told) > len(told)


def _functions(tree: Tree) -> list[tuple[str, str] | None]:
    """The file and the function that each stack of a run calls from, outside the framework."""
    frames = (model_frame(stack.splitlines()) for stack in tree.dump.frames)
    return [
        None if frame is None else (frame.line.rpartition(":")[0], frame.function)
        for frame in frames
    ]


def _hold_other_weights(matching: Matching) -> bool:
    """Whether most weights that are found by value stand in calls that are no partners."""
    trees = (matching.problem, matching.benchmark)
    ours, theirs = (Side(parameters_of(tree), tree.dump.values.records) for tree in trees)
    pairs = pair_weights(ours, theirs)
    partners = {
        call_path(node): call_path(matching.partner[node])
        for node in matching.problem.in_order
        if node.direction == "forward" and node in matching.partner
    }
    elsewhere = [
        pair
        for pair in pairs
        if any(partners.get(p.module) != b.module for p in pair.problem for b in pair.benchmark)
    ]
    return len(elsewhere) > (1 - ENOUGH_SHARED) * len(pairs) > 0


def _count(pairs: Sequence[WeightPair], side: int) -> int:
    return sum(len((pair.problem, pair.benchmark)[side]) for pair in pairs)


def whole_weights(pairs: Sequence[WeightPair]) -> dict[int, int]:
    """The benchmark's value by the problem's, of weights that are one tensor on either side."""
    return {
        pair.problem[0].index: pair.benchmark[0].index
        for pair in pairs
        if len(pair.problem) == len(pair.benchmark) == 1 and pair.relation != "scaled"
    }


def _differing(
    pairs: Sequence[WeightPair],
    paths: Mapping[str, str],
    ours: Sequence[Parameter],
    theirs: Sequence[Parameter],
) -> list[WeightPair]:
    known = {id(each) for pair in pairs for each in (*pair.problem, *pair.benchmark)}
    left, right = ([p for p in side if id(p) not in known] for side in (ours, theirs))
    return [WeightPair((p,), (b,), "differs") for p, b in unpaired_in(paths, left, right)]


def _modules(tree: Tree) -> _Calls:
    """The forward calls of each module by its path, in their order; without any, of each call."""
    found: _Calls = defaultdict(list)
    if not has_modules(tree):
        calls = [n for n in tree.in_order if n.kind == "api" and n.direction == "forward"]
        return {call_path(node): [node] for node in calls}
    for node in tree.in_order:
        if node.kind == "module" and node.entry is not None and node.direction == "forward":
            found[node.entry.path].append(node)
    return found


def _put_out(node: TreeNode, tree: Tree) -> int:
    """How many elements the first output of a module has."""
    outputs = _tensors(node, tree).get("output", ())
    return _size(tree.dump.values.records[outputs[0]]) if outputs else 0


def _in_turn(
    ours: _Calls, theirs: _Calls, paths: Mapping[str, str]
) -> Iterator[tuple[TreeNode, TreeNode]]:
    """The calls of modules that correspond, in their order."""
    for path, other in paths.items():
        yield from zip(ours[path], theirs[other])


def _outside_in_turn(trees: tuple[Tree, Tree]) -> Iterator[tuple[TreeNode, TreeNode]]:
    """The calls outside all modules that both runs make as often."""
    ours, theirs = map(_outside, trees)
    for name, calls in ours.items():
        if len(calls) == len(theirs.get(name, ())):
            yield from zip(calls, theirs[name])


def _outside(tree: Tree) -> _Calls:
    """The calls outside all modules, by name: the loss. Where calls alone are recorded: those that
    put out one number, as a loss does.
    """
    found: _Calls = defaultdict(list)
    is_among_modules = has_modules(tree)
    for node in tree.root.children:
        if not node.call or node.direction != "forward":
            continue
        if is_among_modules or _put_out(node, tree) == 1:
            found[node.call].append(node)
    return found


# --- the values at the edges ----------------------------------------------------------------------


def _matched(
    trees: tuple[Tree, Tree],
    nodes: Sequence[tuple[TreeNode, TreeNode]],
    pairs: Sequence[WeightPair],
) -> Matching:
    problem, benchmark = (copied(tree) for tree in trees)
    matching = Matching(problem, benchmark)
    matching.pair(problem.root, benchmark.root, "name")
    for ours, theirs in nodes:
        matching.pair(ours, theirs, "weights")
        if ours.backward is not None and theirs.backward is not None:
            matching.pair(ours.backward, theirs.backward, "weights")
    weights = whole_weights(pairs)
    rows = [
        (node.exec_order, p, b)
        for node in problem.in_order
        if (partner := matching.partner.get(node)) is not None
        for p, b in _edge(node, partner, (problem, benchmark), weights)
    ]
    matching.moved = made_alike(problem, benchmark, rows)
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    matching.rows = ValuePairs(table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy())
    return matching


def copied(tree: Tree) -> Tree:
    """The tree over a dump whose values may be given another shape."""
    values = replace(tree.dump.values, records=list(tree.dump.values.records))
    return replace(tree, dump=replace(tree.dump, values=values))


def _edge(
    ours: TreeNode, theirs: TreeNode, trees: tuple[Tree, Tree], weights: Mapping[int, int]
) -> Iterator[tuple[int, int]]:
    """The values of two nodes that are one tensor; tensors that one of them has alone are single.

    What else a module is given is another signature, and no difference.
    """
    left, right = _tensors(ours, trees[0]), _tensors(theirs, trees[1])
    own = set(right.pop("parameters", ()))
    for index in left.pop("parameters", ()):
        other = weights.get(index, SURPLUS)
        yield index, other if other in own else SURPLUS
    for role in sorted(left.keys() | right.keys()):
        waiting: dict[tuple[int, bool], deque[int]] = defaultdict(deque)
        for index in right.get(role, ()):
            waiting[_form(index, trees[1])].append(index)
        for place, index in enumerate(left.get(role, ())):
            fitting = waiting[_form(index, trees[0])]
            if fitting and (role != "input" or not place or _are_alike(index, fitting[0], trees)):
                yield index, fitting.popleft()
            else:
                yield index, SURPLUS
        yield from ((SURPLUS, index) for rest in waiting.values() for index in rest)


def _are_alike(ours: int, theirs: int, trees: tuple[Tree, Tree]) -> bool:
    """Whether what a module is given besides its first tensor is the same thing.

    A mask, angles or places that either program makes for itself are another signature. What has
    no end, as the numbers of a mask, is the same where all that is known of it is.
    """
    records = [tree.dump.values.records[index] for index, tree in zip((ours, theirs), trees)]
    one, other = map(numbers_of, records)
    if one is not None and other is not None:
        return one.are_like(other)
    if all(is_integer_dtype(record.dtype or "") for record in records):
        return True
    left, right = ([r.Max, r.Min, r.Mean, r.Norm] for r in records)
    return left == right


def _tensors(node: TreeNode, tree: Tree) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    values = tree.dump.values
    for index in range(*node.values):
        if values.records[index].dtype is not None:
            found[values.keys[index].partition(".")[0]].append(index)
    return found


def _form(index: int, tree: Tree) -> tuple[int, bool]:
    """What two values that are one tensor have in common: its size, and the kind of numbers."""
    record = tree.dump.values.records[index]
    return _size(record), is_integer_dtype(record.dtype or "")


def _size(record: Record) -> int:
    return prod(record.shape or ())


def made_alike(
    problem: Tree, benchmark: Tree, rows: Sequence[tuple[int, int, int]]
) -> frozenset[int]:
    """Give the problem's values the shapes of their partners; tells those in another order.

    A sketch sees the order of elements. Where it is quite another one, and the numbers that do not
    depend on it are the same, elements have moved and none has changed. A module whose weight's
    elements moved puts out what moved with them.
    """
    sides = problem.dump.values.records, benchmark.dump.values.records
    keys = problem.dump.values.keys
    paired = [row for row in rows if SURPLUS not in row]
    weights = [row for row in paired if keys[row[1]].startswith("parameters.")]
    others = [row for row in paired if not keys[row[1]].startswith("parameters.")]
    moved = dict.fromkeys(_moved(weights, sides, frozenset()))
    owners = {node for node, p, _ in weights if p in moved}
    backward = problem.in_order
    owners |= {b.exec_order for at in owners if (b := backward[at].backward) is not None}
    return frozenset([*moved, *_moved(others, sides, owners)])


def _moved(
    rows: Sequence[tuple[int, int, int]],
    sides: tuple[list[Record], list[Record]],
    owners: Set[int],
) -> Iterator[int]:
    """The problem's values whose elements moved; `owners` are nodes whose weights did.

    Not those whose axes stand in another order, which is how a program lays them out.
    """
    ours, theirs = sides
    pairs = [(p, b) for _, p, b in rows]
    apart = _apart_by_sketches([ours[p] for p, _ in pairs], [theirs[b] for _, b in pairs])
    for (node, p, b), share in zip(rows, apart):
        one, other = ours[p], theirs[b]
        has_turned = _axes_turned(one.shape or (), other.shape or ())
        may_move = node in owners or has_turned or one.shape != other.shape
        if share > _MOVED and _are_of_the_same(one, other, may_move=may_move):
            ours[p] = msgspec.structs.replace(one, shape=other.shape, **_UNSEEN)
            theirs[b] = msgspec.structs.replace(other, **_UNSEEN)
            if not has_turned:
                yield p
        elif one.shape != other.shape:
            ours[p] = msgspec.structs.replace(one, shape=other.shape, md5=None)


def _axes_turned(one: Sequence[int], other: Sequence[int]) -> bool:
    """Whether two shapes have the same axes in another order, as [tokens, batch, width] has."""
    ours, theirs = ([size for size in shape if size != 1] for shape in (one, other))
    return ours != theirs and sorted(ours) == sorted(theirs)


def _apart_by_sketches(ours: list[Record], theirs: list[Record]) -> list[float]:
    """How far apart values are in relation to their norm, by their sketches; 0 without any."""
    left, right = sketches_of(ours), sketches_of(theirs)
    if left is None or right is None:
        return [0.0] * len(ours)
    distance, norm = map(projected_norms, (left - right, right))
    with np.errstate(all="ignore"):
        return list(np.nan_to_num(distance / norm, nan=0.0, posinf=0.0).tolist())


def _are_of_the_same(one: Record, other: Record, *, may_move: bool) -> bool:
    """Whether elements may have moved; where something else says that, numbers say less."""
    ours, theirs = numbers_of(one), numbers_of(other)
    if ours is None or theirs is None:
        return False
    return ours.are_like(theirs) if may_move else ours.agree(theirs)
