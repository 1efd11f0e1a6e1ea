"""What one run alone calls, or calls otherwise: named where values differ behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TypeAlias

from msgspec import UNSET, UnsetType

from builder.compare.attributes import are_written_otherwise
from builder.diagnosis.communication import talks_to_ranks
from builder.diagnosis.facts import Facts
from builder.diagnosis.finding import Change, ChangeKind, Finding
from builder.diagnosis.lone_backward import LoneBackward
from builder.diagnosis.reordered_calls import passed_over, twins_behind
from builder.diagnosis.verdicts import Named
from builder.match.layout_calls import REASON as LAYOUT
from builder.match.tree import TreeNode
from builder.operators.table import has
from builder.reasons import (
    AttributeDiffers,
    CalledEarlier,
    CalledLater,
    ExtraCalls,
    ExtraInside,
    ExtraReplaced,
    MissingCalls,
    MissingInside,
    MissingReplaced,
)

CallsReason: TypeAlias = ExtraCalls | ExtraReplaced | MissingCalls | MissingReplaced
# Calls of both runs that stand in each other's place have few others between them.
BESIDE = 6
_OPERATOR = "Aten"  # the prefix of operators below the functions of torch


def silent_before(node: TreeNode) -> str | UnsetType:
    """The name of the call right before a node that left no values; UNSET without one."""
    if node.parent is None:
        return UNSET
    siblings = node.parent.children
    place = siblings.index(node)
    last = siblings[place - 1] if place > 0 else None
    silent = last is not None and last.kind == "api" and last.values[0] == last.values[1]
    return last.name if last is not None and silent else UNSET


class Changes:
    """The changed calls that were passed so far, `listed` in the order of the problem's calls."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._matching = facts.comparison.matching
        ours, theirs = facts.comparison.setting.precision
        self._converts = ours != theirs  # one run converts where the other need not
        calls = [node for node in self._matching.benchmark.in_order if self.is_change(node)]
        self._ahead = calls[::-1]
        self.listed: list[Change] = []
        self._gradients: list[Change] = []
        self._named: set[TreeNode] = set()
        comparison = facts.comparison
        numbers = ~(facts.paired.tensors[0] & facts.paired.tensors[1]) & (
            comparison.scores.error > 0
        )
        rows = [*comparison.differs, *facts.paired.surplus_arguments]
        nodes = comparison.pairs.node
        self._otherwise = {*nodes[rows].tolist(), *nodes[numbers].tolist()}

    def is_change(self, node: TreeNode) -> bool:
        """Whether a call of either run has no partner, and is more than the layout's doing.

        Not an operator of torch's own without values: a function is made of them, and they are seen
        where a dispatch mode runs in one of the runs. What they change shows in values.
        """
        if node.kind != "api" or node in self._matching.partner or _is_bare_operator(node):
            return False
        if has(node.call, "tells"):
            return False
        if has(node.call, "converts") and (self._converts or node.direction == "backward"):
            return False  # a gradient is converted back where its forward call converts
        return self._matching.reason.get(node) != LAYOUT

    def differs(self, node: TreeNode) -> bool:
        """Whether a matched call may have been made otherwise."""
        return node.exec_order in self._otherwise

    def arguments(self, node: TreeNode) -> list[int]:
        """The rows of arguments, no tensors, that a matched call was given otherwise."""
        if not self.differs(node):
            return []
        facts, comparison = self._facts, self._facts.comparison
        return [
            row
            for row in facts.paired.rows(node)
            if not comparison.is_output[row]
            and (
                row in facts.paired.surplus_arguments
                or (
                    (None in (facts.paired.ours[row].dtype, facts.paired.theirs[row].dtype))
                    and comparison.scores.error[row] > 0
                )
            )
        ]

    def given_by_one_run(self, node: TreeNode) -> list[int]:
        """The rows of tensors, as a bias or a mask, that a call is given in one run alone.

        Asked of what its inputs do not explain: many calls take a tensor more and compute the same.
        """
        if node.kind != "api" or node.direction != "forward":
            return []
        return self._surplus_inputs(node)

    def given_otherwise(self, node: TreeNode) -> list[int]:
        """The rows of what any entry reads in one run alone, or of arguments that are not the same.

        The last that is asked before one says that inputs agree: parameters and gradients that one
        run lacks, and numbers of like meaning, as two masks.
        """
        facts = self._facts
        return self._surplus_inputs(node) or [
            row
            for row in facts.paired.rows(node)
            if not facts.comparison.is_output[row]
            and are_written_otherwise(facts.paired.ours[row], facts.paired.theirs[row])
        ]

    def _surplus_inputs(self, node: TreeNode) -> list[int]:
        """None across frameworks, which list other things: buffers among the parameters."""
        comparison = self._facts.comparison
        if self._matching.across_frameworks:
            return []
        rows = self._facts.paired.rows(node)
        return [r for r in rows if comparison.is_surplus(r) and not comparison.is_output[r]]

    def follow(self, node: TreeNode, partner: TreeNode) -> None:
        """Go along with a matched node: what the benchmark called before its partner is known."""
        while self._ahead and self._ahead[-1].exec_order < partner.exec_order:
            missing = self._ahead.pop()
            if missing in self._named:
                continue
            up = scope_of(missing)
            while up is not None and up not in self._matching.partner:
                up = scope_of(up)
            scope = self._matching.partner[up] if up is not None else None
            self.listed.append(Change("missing", missing, node.exec_order, scope))

    def add(self, kind: ChangeKind, node: TreeNode, reader: TreeNode | None = None) -> Change:
        """Note a call; `reader` is the problem's node behind one that the benchmark alone makes."""
        here = reader or node
        change = Change(kind, node, here.exec_order, scope_of(here))
        if node not in self._named:
            self.listed.append(change)
            self._gradients += [change] if kind == "gradient" else []
        return change

    def of(self, node: TreeNode | None) -> Change | None:
        """The change that is this very call, if it has not been named; requires_grad apart."""
        own = (c for c in self.listed if c.node is node and c.kind != "gradient")
        return next((change for change in own if not change.named), None)

    def finding_of(self, node: TreeNode | None) -> Finding | None:
        """The finding that named the change that is this very call; requires_grad apart."""
        own = (c for c in self.listed if c.node is node and c.kind != "gradient")
        return next((change.finding for change in own if change.finding is not None), None)

    def forget(self) -> None:
        """Leave all that were passed aside: one of them was named, or another cause was."""
        self.listed.clear()

    def at(self, node: TreeNode) -> Change | None:
        """The change that is this very call."""
        return next((one for one in self.listed if one.node is node), None)

    def ahead(self, node: TreeNode, reader: TreeNode) -> Change | None:
        """An unmatched call that the dump names as the maker of a value, before its turn.

        What hooks call in the backward pass stands in no module, and so behind those around it.
        """
        known = self.at(node)
        if known is not None or node in self._named or not self.is_change(node):
            return known
        return self.made_by(node, reader)

    def made_by(self, node: TreeNode, reader: TreeNode) -> Change:
        """The change that is an unmatched maker of what a node of the problem reads."""
        known = self.at(node)
        if known is not None:
            return known
        return self.add("extra", node) if self._is_ours(node) else self.add("missing", node, reader)

    def inside(self, module: TreeNode) -> Change | None:
        """The latest in a module, whose output differs although all its calls agree."""
        return self._latest(c for c in self._live() if is_in(c.scope, module))

    def around(self, node: TreeNode) -> Change | None:
        """The latest of the innermost module around a node that has one, in the same pass.

        Asked of values that no recorded call made: what moved them may be a call without values.
        """
        live = [c for c in self._live() if c.node.phase == node.phase]
        scope = scope_of(node)
        while True:
            found = self._latest(c for c in live if c.scope is scope)
            if found is None and scope is not None:
                found = self._latest(c for c in live if is_in(c.scope, scope))
            if found is not None:
                return found
            if scope is None:
                return self._behind_gradients() if node.phase == "after" else None
            scope = scope_of(scope)

    def _behind_gradients(self) -> Change | None:
        """The latest that one run alone calls to go back once more, behind all gradients of both.

        It adds to gradients that agreed when they were recorded.
        """
        last = self._last_gradient
        return self._latest(
            c for c in self._live() if c.node.phase == "backward" and c.order > last
        )

    @cached_property
    def _last_gradient(self) -> int:
        """The place of the last node that both runs go back through: asked of many updates."""
        ours, partner = self._matching.problem.in_order, self._matching.partner
        both = (n.exec_order for n in ours if n.phase == "backward" and n in partner)
        return max(both, default=-1)

    @property
    def wanted_by_one_run(self) -> Change | None:
        """The first value of which one run alone wants a gradient."""
        return next((c for c in self._live() if c.kind == "gradient"), None)

    def of_gradient(self) -> Change | None:
        """The first value of which one run alone wants a gradient, or the call that cut it off."""
        first = self.wanted_by_one_run
        if first is None:
            return None
        first.named = True
        scope = first.scope
        before = [
            change
            for change in self._live()
            if change.order <= first.order and _is_unmatched(change)
            if change.node.direction == first.node.direction
        ]
        cut = self._latest(c for c in before if is_in(c.scope, first.node))
        while cut is None:
            cut = self._latest(c for c in before if c.scope is scope)
            if scope is None:
                break
            scope = scope_of(scope)
        return cut or first

    def cutting(self, backward: Change) -> Change | None:
        """The first call by which one run alone cuts a gradient off, where the other goes back."""
        kind: ChangeKind = "missing" if backward.kind == "extra" else "extra"
        cuts = (c for c in self._live() if c.kind == kind and has(c.node.call, "cuts"))
        return min(cuts, key=lambda change: change.order, default=None)

    def is_cut_before(self, node: TreeNode, wanted: Change) -> bool:
        """Whether one run alone cuts a gradient off here, before a value that then has none."""
        cuts = has(node.call, "cuts") and node not in self._matching.partner
        return cuts and (not self._is_ours(node) or node.exec_order <= wanted.order)

    def lost_gradients(self, is_leaf: Callable[[int], bool] | None = None) -> Named | None:
        """What cuts parameters of one run off from their gradients.

        What is gone has no value that could differ. Only where both runs go back at all: a run
        without a backward pass is another kind of run. Behind a finding, which may have cut off
        what it made, only leaves count, which nothing made: `is_leaf` tells of a row.
        """
        trees, partner = (self._matching.problem, self._matching.benchmark), self._matching.partner
        ours = trees[0].in_order
        if not any(node.direction == "backward" and node in partner for node in ours):
            return None
        gone = any(are_of_one_run(n, partner) for tree in trees for n in tree.in_order)
        if not gone and not self.gone_back.calls:
            return None
        change = self._frozen(is_leaf) if is_leaf else self.of_gradient()
        return None if change is None else self.naming(change, ours[change.order], 1.0)

    def lone_backward(self) -> Named | None:
        """The first call that one run alone goes back through, where nothing recorded says why."""
        if not self.gone_back.calls:
            return None
        first, ours = self.gone_back.calls[0], self._matching.problem.in_order
        if self._is_ours(first):
            change = self.add("extra", first)
        else:
            later = self._matching.benchmark.in_order[first.exec_order :]
            behind = (self._matching.partner[n] for n in later if n in self._matching.partner)
            change = self.add("missing", first, next(behind, ours[-1]))
        return self.naming(change, ours[change.order], 1.0)

    @cached_property
    def gone_back(self) -> LoneBackward:
        """The backward calls that one run alone makes of what both run."""
        return LoneBackward(self._matching)

    def _frozen(self, is_leaf: Callable[[int], bool]) -> Change | None:
        """The first call that reads a leaf of which one run alone wants a gradient."""
        untold = (change for change in self._gradients if change.node not in self._named)
        return next((c for c in untold if is_leaf(self.requires_grad(c.node)[0])), None)

    def late(self) -> Named | None:
        """The last in the optimizer's part of a walk without findings: the next step shows it."""
        while self._ahead:  # what the benchmark alone calls behind all that both do
            self.add("missing", self._ahead.pop(), self._matching.problem.in_order[-1])
        kinds = ("extra", "missing", "argument")
        late = self._latest(c for c in self._live() if c.kind in kinds and c.node.phase == "after")
        return None if late is None else self.naming(late, self._matching.problem.in_order[-1], 0.0)

    def naming(self, change: Change, reader: TreeNode, score: float | None) -> Named:
        """How a change is named; `reader` is the first node behind it that differs."""
        node, facts = change.node, self._facts
        if change.kind == "argument":
            reason = facts.argument_reason(self.arguments(node)[0])
            return Named("argument_differs", node, reason, changes=(change,))
        if change.kind == "precision":
            return Named("precision", node, facts.precision_reason(node), changes=(change,))
        if change.kind == "gradient":
            return Named("argument_differs", node, self._gradient_reason(node), changes=(change,))
        back, change = change, self._going_forward(change)
        gradients = [] if back is change else self._run(back)
        run, instead = self._run(change), self._instead(change)
        moved = None if instead else self._moved(change, run, reader, score)
        if moved is not None:
            return moved
        over = self._passed_over(change, run, instead)
        inside = self._inside([*run, *instead])
        told = next((one.node for one in run if talks_to_ranks(one.node)), _called(node, run))
        return Named(
            "input_differs",
            self.outermost(told),
            over or self._calls_reason(change, run, instead),
            score,
            reader=None if change.kind == "extra" else reader,
            more=tuple(_inside_reasons(inside)),
            changes=(*run, *instead, *inside, *gradients),
        )

    def _going_forward(self, change: Change) -> Change:
        """Of a gradient the forward call, where one run alone makes that: it is what was written.

        What it puts out may agree by chance, as at zero, where its gradient does not.
        """
        forward = change.node.forward if change.node.direction == "backward" else None
        if forward is None or forward in self._matching.partner:
            return change
        alike = (c for c in self.listed if c.node is forward and c.kind == change.kind)
        return next((c for c in alike if not c.named), change)

    def _moved(
        self, change: Change, run: list[Change], reader: TreeNode, score: float | None
    ) -> Named | None:
        """How calls are named that the other run makes as well, behind the call that reads them."""
        calls = [one.node for one in run]
        twins = twins_behind(self._matching, calls, reader, change.scope)
        if not twins:
            return None
        is_extra = change.kind == "extra"
        kind: ChangeKind = "missing" if is_extra else "extra"
        told = (CalledEarlier if is_extra else CalledLater)(self._names(run), reader.name)
        return Named(
            "input_differs",
            change.node,
            told,
            score,
            reader=None if is_extra else reader,
            changes=(*run, *(Change(kind, n, reader.exec_order, change.scope) for n in twins)),
        )

    def _passed_over(
        self, change: Change, run: list[Change], instead: list[Change]
    ) -> CalledEarlier | CalledLater | None:
        """How the same calls of both runs are named that stand on another side of one of both."""
        sides = [one.node for one in run], [one.node for one in instead]
        is_extra = change.kind == "extra"
        found = passed_over(self._matching, *(sides if is_extra else reversed(sides)))
        if found is None:
            return None
        # A name is the problem's in what is told of it.
        names = self._names(run if is_extra else instead)
        return (CalledEarlier if found[1] else CalledLater)(names, found[0].name)

    def note(self, named: Named, finding: Finding) -> None:
        """Remember of changed calls that a finding tells of them."""
        for change in named.changes:
            change.named, change.finding = True, finding
            self._named.add(change.node)

    def _inside(self, changes: list[Change]) -> list[Change]:
        """What is called in whole modules of which one run alone has any of these calls."""
        outermost = {one: self.outermost(one.node) for one in self.listed if _is_unmatched(one)}
        modules = {outermost[one] for one in changes if outermost[one] is not one.node}
        return [one for one, module in outermost.items() if module in modules]

    def _calls_reason(
        self, change: Change, run: list[Change], instead: list[Change]
    ) -> CallsReason:
        """What one run alone calls, or calls where the other calls something else."""
        is_extra, names = change.kind == "extra", self._names(run)
        if instead:
            replaced = ExtraReplaced if is_extra else MissingReplaced
            return replaced(names, self._names(instead))
        return ExtraCalls(names) if is_extra else MissingCalls(names)

    def _names(self, changes: list[Change]) -> str:
        """The last few, each by the whole module where one run alone calls that.

        A gradient is its forward call's.
        """
        told = dict.fromkeys(_called(change.node, changes) for change in changes)
        names = dict.fromkeys(self.outermost(node).name for node in told)
        return ", ".join([*names][-5:])

    def requires_grad(self, node: TreeNode) -> list[int]:
        """The rows of an entry of which one run alone wants a gradient."""
        if not self.differs(node):
            return []
        differs = self._facts.comparison.differs
        return [
            row for row in self._facts.paired.rows(node) if "requires_grad" in differs.get(row, ())
        ]

    def cuts_off(self, node: TreeNode) -> bool:
        """Whether one run alone wants a gradient of what a call holds, or a module puts out.

        What a module reads its calls read as well, where they were recorded.
        """
        rows = self.requires_grad(node)
        is_output = self._facts.comparison.is_output
        holds_calls = node.kind != "api" and bool(node.children)
        return bool(rows) and (not holds_calls or all(is_output[row] for row in rows))

    def _gradient_reason(self, node: TreeNode) -> AttributeDiffers:
        row = self.requires_grad(node)[0]
        facts = self._facts
        sides = (facts.paired.ours, facts.paired.theirs)
        wanted = (str(side[row].requires_grad) for side in sides)
        return AttributeDiffers(facts.comparison.keys[row], "requires_grad", *wanted)

    def _run(self, change: Change) -> list[Change]:
        """The unbroken run of changes of the same kind that ends with one."""
        run = [change]
        for other in reversed(self.listed[: self.listed.index(change)]):
            if other.kind == change.kind:
                if other.node.exec_order != run[0].node.exec_order - 1:
                    break
                run.insert(0, other)
        return run

    def _instead(self, change: Change) -> list[Change]:
        """The other run's calls in the same place."""
        return [
            other
            for other in self._live()
            if _is_unmatched(other)
            and other.kind != change.kind
            and other.scope is change.scope
            and abs(other.order - change.order) < BESIDE
        ]

    def outermost(self, node: TreeNode) -> TreeNode:
        """The whole module where a whole module is on one side alone, else the call itself."""
        known = self._matching.partner
        while (
            node not in known
            and node.parent is not None
            and node.parent.kind == "module"
            and node.parent.entry is not None
            and node.parent not in known
        ):
            node = node.parent
        return node

    def is_beside(self, named: TreeNode, node: TreeNode) -> bool:
        """Whether a node of the problem stands in the module around a call, or holds the call.

        Of a call that the benchmark alone makes it is the partner of the module around it.
        """
        call, around = node.forward or node, scope_of(named)
        if not self._is_ours(named):
            while around is not None and around not in self._matching.partner:
                around = scope_of(around)
            around = self._matching.partner[around] if around is not None else None
        if around is None:
            return scope_of(call) is None
        return is_in(call, around) or is_in(around, call)

    def _is_ours(self, node: TreeNode) -> bool:
        """Whether a node is one of the problem's."""
        in_order = self._matching.problem.in_order
        return node.exec_order < len(in_order) and in_order[node.exec_order] is node

    def _live(self) -> list[Change]:
        return [change for change in self.listed if not change.named]

    @staticmethod
    def _latest(changes: Iterator[Change]) -> Change | None:
        usable = [change for change in changes if change.kind != "gradient"]
        return usable[-1] if usable else None


def scope_of(node: TreeNode) -> TreeNode | None:
    """The module around a node; None at the top."""
    up = node.parent
    while up is not None and up.kind == "collection":
        up = up.parent
    return None if up is None or up.kind == "root" else up


def are_of_one_run(node: TreeNode, partner: Mapping[TreeNode, TreeNode]) -> bool:
    """Whether a node holds gradients of parameters that the other run lacks, in part or all."""
    if not node.holds_gradients:
        return False
    other = partner.get(node)
    return other is None or len(range(*other.values)) < len(range(*node.values))


def is_in(inner: TreeNode | None, outer: TreeNode) -> bool:
    """Whether a node is another, or in it."""
    while inner is not None and inner is not outer:
        inner = inner.parent
    return inner is outer


def _is_bare_operator(node: TreeNode) -> bool:
    """Whether it is an operator of torch's own that left no values, as `Aten.detach.default`."""
    if node.entry is None or node.entry.prefix != _OPERATOR or node.values[0] != node.values[1]:
        return False
    return node.entry.type_name.count(".") == 1  # others are those of a library, with its name


def _is_unmatched(change: Change) -> bool:
    return change.kind in ("extra", "missing")


def _inside_reasons(inside: list[Change]) -> Iterator[ExtraInside | MissingInside]:
    """The calls in whole modules that one run alone calls, the first of each kind."""
    for kind, said in (("extra", ExtraInside), ("missing", MissingInside)):
        first: dict[str, str] = {}
        for change in inside:
            if change.kind == kind:
                first.setdefault(change.node.label, change.node.name)
        if first:
            yield said(", ".join(first.values()))


def _called(node: TreeNode, run: list[Change]) -> TreeNode:
    """The forward call of a gradient where it is one of the same run of changes, else the node."""
    forward = node.forward if node.direction == "backward" else None
    return node if forward is None or all(one.node is not forward for one in run) else forward
