"""Pairs the nodes of two trees: modules by name, calls by alignment, backward through forward.

Call numbers are no part of a node's identity, so an inserted call shifts nothing. Manual pairs win
over everything, then rules of a layer mapping, names, and last, on request, guesses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from builder.match.align import align
from builder.match.cell_mapping import CellMapping
from builder.match.crosswise import pair_crosswise
from builder.match.frameworks.recomputation import link_recomputed
from builder.match.frameworks.words import CallRules, speak_alike
from builder.match.guess import guess_modules
from builder.match.layer_mapping import LayerMapping, Rule
from builder.match.manual_file import MappedPair, MappedWeights
from builder.match.renaming import find_renaming, modules_of
from builder.match.rollout_mapping import RolloutMapping
from builder.match.tokens import Readers, call_names, call_tokens, pass_tokens, readers_of
from builder.match.tree import Tree, TreeNode, subtree
from builder.match.turns import pair_turns
from builder.match.unmatched import why_unmatched
from builder.match.updated_parameters import pairs_by_parameter, same_updates
from msprobe_core.format import MODULE_PREFIXES

if TYPE_CHECKING:
    from builder.match.sequences.token_matching import TokenErrors
    from builder.match.value_pairing import ValuePairs

MatchReason = Literal[
    "name", "path", "aligned", "crosswise", "fuzzy", "mapping", "weights", "manual"
]
ModuleMapping = LayerMapping | CellMapping | RolloutMapping
_Pair = tuple[TreeNode, TreeNode]


@dataclass(frozen=True, slots=True)
class MatchRules:
    """What a user asks of the matching beyond names.

    `by_position` pairs modules of other names by the shapes of their parameters and their place,
    the way one model written twice needs it. `weights` says which parameters are one tensor in two
    programs of one model. `values` pairs single values by their full names, `calls` those
    of another framework with PyTorch's.
    """

    layer_mapping: ModuleMapping | None = None
    by_position: bool = False
    fuzzy: bool = False
    manual: Sequence[MappedPair] = ()
    weights: Sequence[MappedWeights] = ()
    values: Mapping[str, str] = field(default_factory=dict)
    calls: CallRules = field(default_factory=dict)

    def at(self, step: int, rank: int) -> MatchRules:
        """The rules for a step and rank."""
        manual = [pair for pair in self.manual if pair.applies_to(step, rank)]
        weights = [each for each in self.weights if each.applies_to(step, rank)]
        return replace(self, manual=manual, weights=weights)


@dataclass(slots=True)
class Matching:
    """Partners in both directions, why each node has one or none, and how sure a guess is.

    `rows` are the value pairs where those do not follow from the keys, `moved` the problem's values
    that hold their partners' elements in another order, `token_errors` how far each token is apart
    where rows were aligned.
    """

    problem: Tree
    benchmark: Tree
    partner: dict[TreeNode, TreeNode] = field(default_factory=dict)
    reason: dict[TreeNode, str] = field(default_factory=dict)
    guess: dict[TreeNode, float] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)
    calls: CallRules = field(default_factory=dict)
    rows: ValuePairs | None = None
    moved: frozenset[int] = frozenset()
    token_errors: TokenErrors | None = None

    @property
    def across_implementations(self) -> bool:
        """Whether the runs are of two programs of one model, whose inner calls are not compared."""
        return self.rows is not None

    @property
    def across_frameworks(self) -> bool:
        """Whether the two runs are of two frameworks."""
        return self.problem.dump.framework != self.benchmark.dump.framework

    def pair(self, ours: TreeNode, theirs: TreeNode, reason: str) -> bool:
        """Record a pair; a node that is taken already keeps its first partner."""
        if ours in self.partner or theirs in self.partner:
            return False
        self.partner[ours] = theirs
        self.partner[theirs] = ours
        self.reason[ours] = self.reason[theirs] = reason
        return True


def match_trees(problem: Tree, benchmark: Tree, rules: MatchRules | None = None) -> Matching:
    """Match all nodes of two trees."""
    return _Matcher(problem, benchmark, rules or MatchRules()).run()


class _Matcher:
    def __init__(self, problem: Tree, benchmark: Tree, rules: MatchRules) -> None:
        self.matching = Matching(problem, benchmark, values=rules.values, calls=rules.calls)
        self.rules = rules
        # The rules of a file are in the words of the run that they translate.
        mapping = rules.layer_mapping
        translated = None if mapping is None else mapping.translate(problem)
        for tree in (problem, benchmark):
            link_recomputed(tree)
        if self.matching.across_frameworks:
            for tree in (problem, benchmark):
                speak_alike(tree, rules.calls)
        if translated is None and (rules.by_position or self.matching.across_frameworks):
            # Where whole layers have other names, places tell nothing before those are known.
            mapping = find_renaming(modules_of(problem), modules_of(benchmark)).mapping()
            translated = mapping.translate(problem)
        self.translated = translated or {}

    def run(self) -> Matching:
        problem, benchmark = self.matching.problem, self.matching.benchmark
        self._descend(self._pair_manually(), below_manual=True)
        self.matching.pair(problem.root, benchmark.root, "name")
        for pair in same_updates(problem, benchmark):
            self.matching.pair(*pair, "name")
        if _is_flat(problem) or _is_flat(benchmark):
            # Without modules on a side, the calls alone carry the order.
            self._match_calls(_calls(problem), _calls(benchmark), [])
            self._pair_in_turn(_unparsed(problem), _unparsed(benchmark), _own_key, _own_key)
        else:
            self._descend([(problem.root, benchmark.root)])
            self._pair_translated()
        self._match_backward()
        self._match_kernels()
        self._match_recomputed()
        self._match_gradients()
        known = self.matching.partner, self.matching.reason
        self.matching.reason.update(why_unmatched(problem, benchmark, *known))
        return self.matching

    def _descend(self, pending: list[_Pair], below_manual: bool = False) -> None:
        while pending:
            pending += self._match_children(*pending.pop(), below_manual)

    def _pair_manually(self) -> list[_Pair]:
        opened = []
        for pair in self.rules.manual:
            ours = self.matching.problem.by_name.get(pair.problem)
            theirs = self.matching.benchmark.by_name.get(pair.benchmark)
            if ours is None or theirs is None or not self.matching.pair(ours, theirs, "manual"):
                continue
            if pair.descendants:
                opened.append((ours, theirs))
        return opened

    def _match_children(self, ours: TreeNode, theirs: TreeNode, below_manual: bool) -> list[_Pair]:
        left = [c for c in ours.children if _stands_alone(c)]
        right = [c for c in theirs.children if _stands_alone(c)]
        known = [c for c in left if c in self.matching.partner]
        opened = [(c, self.matching.partner[c]) for c in known]
        new = self._match_modules(self._free_modules(left), self._free_modules(right))
        if below_manual:
            # Who maps a module with its descendants says that they are the same in their order.
            new += self._pair_by_position(
                self._free_modules(left), self._free_modules(right), "manual"
            )
        self._match_calls(left, right, opened + new)
        return new

    def _free_modules(self, nodes: list[TreeNode]) -> list[TreeNode]:
        return [n for n in nodes if n.kind == "module" and n not in self.matching.partner]

    def _match_modules(self, left: list[TreeNode], right: list[TreeNode]) -> list[_Pair]:
        opened = self._pair_in_turn(left, right, self._wanted, _own_key)
        opened += self._pair_in_turn(left, right, self._wanted_path, _own_path)
        opened += self._pair_in_turn(left, right, self._free_path, _own_path, "path")
        if self.rules.by_position:
            opened += self._pair_by_position(
                self._free_modules(left), self._free_modules(right), "mapping"
            )
        if self.rules.fuzzy:
            opened += self._pair_guesses(self._free_modules(left), self._free_modules(right))
        return opened

    def _pair_in_turn(
        self,
        left: list[TreeNode],
        right: list[TreeNode],
        wanted: Callable[[TreeNode], object],
        own: Callable[[TreeNode], object],
        reason: MatchReason | None = None,
    ) -> list[_Pair]:
        asking, waiting = self._free_by(left, wanted), self._free_by(right, own)
        partner = {
            ours: theirs
            for key, nodes in asking.items()
            if key is not None and key in waiting
            for ours, theirs in self._in_turn(nodes, waiting[key])
        }
        opened = [(node, partner[node]) for node in left if node in partner]
        return [p for p in opened if self.matching.pair(*p, reason or self._reason(p[0]))]

    def _free_by(
        self, nodes: list[TreeNode], key_of: Callable[[TreeNode], object]
    ) -> dict[object, list[TreeNode]]:
        by_key: dict[object, list[TreeNode]] = {}
        for node in nodes:
            if node not in self.matching.partner:
                by_key.setdefault(key_of(node), []).append(node)
        return by_key

    def _in_turn(self, ours: list[TreeNode], theirs: list[TreeNode]) -> list[_Pair]:
        """Passes of one module in their order; with more of them on a side, those most alike."""
        if len(ours) == len(theirs):
            return list(zip(ours, theirs))
        left, right = (
            pass_tokens(nodes, tree, readers)
            for nodes, tree, readers in zip(
                (ours, theirs), (self.matching.problem, self.matching.benchmark), self._readers
            )
        )
        return [(ours[i], theirs[j]) for i, j in align(left, right)]

    def _wanted(self, node: TreeNode) -> object:
        return None if self._rule(node) is not None else _own_key(node)

    def _wanted_path(self, node: TreeNode) -> object:
        # A rule says nothing of the class on the other side, so the path alone decides.
        return (self.translated[node][0], node.direction) if self._rule(node) else None

    def _free_path(self, node: TreeNode) -> object:
        return None if self._rule(node) is not None else _own_path(node)

    def _rule(self, node: TreeNode) -> Rule | None:
        return self.translated.get(node, ("", None))[1]

    def _reason(self, node: TreeNode) -> str:
        rule = self._rule(node)
        if rule is None:
            return "name"
        rule.reached = True
        return "mapping"

    def _pair_by_position(
        self, left: list[TreeNode], right: list[TreeNode], reason: MatchReason
    ) -> list[_Pair]:
        if len(left) != len(right):
            return []
        return [p for p in zip(left, right) if self.matching.pair(*p, reason)]

    def _pair_guesses(self, left: list[TreeNode], right: list[TreeNode]) -> list[_Pair]:
        opened = []
        trees = (self.matching.problem, self.matching.benchmark)
        for ours, theirs, score in guess_modules(left, right, trees):
            if self.matching.pair(ours, theirs, "fuzzy"):
                self.matching.guess[ours] = score
                opened.append((ours, theirs))
        return opened

    def _pair_translated(self) -> None:
        # A rule may lead to another level of the other tree, where no matched parent leads.
        lost = [n for n in self.translated if n not in self.matching.partner and self._rule(n)]
        if not lost:
            return
        modules = [n for n in subtree(self.matching.benchmark.root) if n.kind == "module"]
        left = [node for node in lost if _stands_alone(node)]
        self._descend(self._pair_in_turn(left, modules, self._wanted_path, _own_path))

    def _match_calls(
        self, left: list[TreeNode], right: list[TreeNode], opened: list[_Pair]
    ) -> None:
        # Matched modules are tokens of their own; where their order differs between the sides, the
        # alignment drops the fewest of them, and their match by name stands all the same.
        rank = {node: index for index, pair in enumerate(opened) for node in pair}
        left = [
            n for n in left if n in rank or (n.kind == "api" and n not in self.matching.partner)
        ]
        right = [
            n for n in right if n in rank or (n.kind == "api" and n not in self.matching.partner)
        ]
        trees = self.matching.problem, self.matching.benchmark
        parted = pairs_by_parameter(left, right, *trees, self.matching.partner)
        if parted is None:
            self._align_calls(left, right, rank)
            return
        for parameter in parted:
            self._align_calls(parameter.problem, parameter.benchmark, rank)
            # Those of one name were paired by it, whoever of several ranks has the parameter.
            lone = (each for each in parameter.alone() if each[0] not in self.matching.partner)
            self.matching.reason.update(lone)

    def _align_calls(
        self, left: list[TreeNode], right: list[TreeNode], rank: dict[TreeNode, int]
    ) -> None:
        loose = self.matching.across_frameworks
        trees = self.matching.problem, self.matching.benchmark
        if call_names(left, rank, loose) == call_names(right, rank, loose):
            pairs = list(enumerate(range(len(left))))
        else:
            ours, theirs = self._readers
            tokens = call_tokens(left, trees[0], rank, loose, ours)
            others = call_tokens(right, trees[1], rank, loose, theirs)
            pairs = pair_turns(align(tokens, others), tokens, others)
        pairs, crossed = pair_crosswise(pairs, left, right, trees)
        for i, j in pairs:
            self.matching.pair(left[i], right[j], "crosswise" if i in crossed else "aligned")

    @cached_property
    def _readers(self) -> tuple[Readers, Readers]:
        return readers_of(self.matching.problem), readers_of(self.matching.benchmark)

    def _match_kernels(self) -> None:
        """Match what ran below matched calls: no module is there that would lead to it."""
        for node in self.matching.problem.in_order:
            partner = self.matching.partner.get(node)
            if node.kind == "api" and node.children and partner is not None:
                self._match_calls(node.children, partner.children, [])

    def _match_backward(self) -> None:
        matching = self.matching
        for node in matching.problem.in_order:
            if node.backward is None or node.direction != "forward":
                continue
            partner = matching.partner.get(node)
            if partner is not None and partner.backward is not None:
                matching.pair(node.backward, partner.backward, matching.reason[node])

    def _match_recomputed(self) -> None:
        # Recomputed calls stand under backward ones, whose partners are known only now.
        for ours in self.matching.problem.in_order:
            theirs = self.matching.partner.get(ours)
            if ours.direction != "backward" or theirs is None:
                continue
            left = [node for node in ours.children if node.recomputed]
            right = [node for node in theirs.children if node.recomputed]
            if left and right:
                self._descend(self._pair_in_turn(left, right, _own_key, _own_key))

    def _match_gradients(self) -> None:
        matching = self.matching
        left, right = _gradients(matching.problem), _gradients(matching.benchmark)
        # Directly under the root stand the gradients of many modules: only names tell.
        below: dict[TreeNode | None, list[TreeNode]] = {}
        named: dict[object, list[TreeNode]] = {}
        for node in reversed(right):
            below.setdefault(node.parent, []).append(node)
            if node.parent is matching.benchmark.root:
                named.setdefault(_own_key(node), []).append(node)
        for node in left:
            partner = matching.partner.get(node.parent) if node.parent is not None else None
            if node.parent is None or partner is None or node in matching.partner:
                continue
            is_top = node.parent.kind == "root"
            waiting = named.get(_own_key(node), []) if is_top else below.get(partner, [])
            while waiting and waiting[-1] in matching.partner:
                waiting.pop()
            if waiting:
                matching.pair(node, waiting.pop(), matching.reason[node.parent])
        # A backward pass of a module that one side did not record leaves its gradients elsewhere.
        self._pair_in_turn(left, right, self._wanted, _own_key)


def _is_flat(tree: Tree) -> bool:
    return not any(node.kind == "module" and node.entry is not None for node in tree.in_order)


def _calls(tree: Tree) -> list[TreeNode]:
    return [n for n in tree.in_order if n.kind == "api" and _stands_alone(n)]


def _gradients(tree: Tree) -> list[TreeNode]:
    return [node for node in tree.in_order if node.holds_gradients]


def _unparsed(tree: Tree) -> list[TreeNode]:
    """Entries whose names are outside the grammar: single saved values, paired by name alone."""
    return [n for n in tree.in_order if n.kind == "module" and n.entry is None]


def _stands_alone(node: TreeNode) -> bool:
    # Backward calls go with their forward calls; only those without one stand for themselves.
    # A recomputed block is no part of the forward pass; inside, its calls align like any others.
    if node.direction == "forward":
        parent = node.parent
        return not (node.recomputed and parent is not None and not parent.recomputed)
    return node.entry is not None and not node.holds_gradients and node.forward is None


def _own_key(node: TreeNode) -> object:
    prefix, dot, rest = node.owner.partition(".")
    # Frameworks have words of their own for a module.
    return (f"Module.{rest}" if dot and prefix in MODULE_PREFIXES else node.owner, node.direction)


def _own_path(node: TreeNode) -> object:
    return (node.entry.path if node.entry is not None else node.name, node.direction)
