"""Opens the finding that an excess calls for: what is named, and by which reason."""

from __future__ import annotations

from collections.abc import Hashable
from math import inf

import numpy as np
from msgspec import UNSET

from builder.compare.told_apart import told_by
from builder.diagnosis.edges import Edges
from builder.diagnosis.excess import Excess, Makers
from builder.diagnosis.facts import Facts
from builder.diagnosis.finding import Finding
from builder.diagnosis.ledger import Ledger
from builder.diagnosis.structure import Change, Changes, is_in, scope_of, silent_before
from builder.evidence.distances import ESTIMATED
from builder.flow.feeding import NOWHERE, Flow
from builder.flow.fingerprints import NO_PRINT
from builder.match.step_phases import phase_of
from builder.match.tree import TreeNode
from builder.reasons import (
    BatchDiffers,
    ElementsApart,
    ElementsDiffer,
    ElementsMoved,
    Explained,
    HandsOn,
    HiddenByInfinity,
    InputDiffers,
    Introduced,
    IntroducedBeyond,
    ParameterDiffers,
    Reason,
    Rewired,
    StatisticsAgree,
    UnrecordedDiffers,
)

_FURTHEST = 2 * ESTIMATED
# Behind a finding a guess has to be exceeded by so much: twice what a call alone is named from, for
# a guess is no bound, and a second finding that is none costs more trust than one that is missing.
BEHIND = 6.0


class Naming:
    """Says of an excess what is to blame: a changed call, a parameter, an edge, the call itself.

    Invariants: `_edges_named` maps the fingerprints of a value's two sides to the finding that
    named an edge it went over; `_moves` holds the maker and the reader of each value that was moved
    on its way, with the finding, and `_passed` the finding of a call without values. `has_read`: a
    node with values was passed.
    """

    def __init__(self, facts: Facts, flows: tuple[Flow, Flow]) -> None:
        self.facts = facts
        self.comparison = facts.comparison
        self.matching = facts.comparison.matching
        self.flows = flows
        self.known = facts.known
        self.ledger = Ledger(facts, flows)
        self.edges = Edges(facts, flows)
        self.changes = Changes(facts)
        self.has_read = False
        self._edges_named: dict[Hashable, Finding] = {}
        self._moves: list[tuple[TreeNode, TreeNode, Finding]] = []
        self._passed: dict[TreeNode, Finding] = {}

    # --- edges ------------------------------------------------------------------------------------

    def open_edge(self, node: TreeNode, excess: Excess) -> Finding:
        finding = self._edge_finding(node, excess)
        self._edges_named[self._edge_key(excess.row)] = finding
        if excess.way == "moved" and excess.makers is not None and excess.makers.ours is not None:
            self._moves.append((excess.makers.ours, node, finding))
        self.ledger.carry(finding, node)
        return finding

    def said_already(self, node: TreeNode, excess: Excess) -> Finding | None:
        """The finding that named this edge where the value went over it before."""
        known = self._edges_named.get(self._edge_key(excess.row))
        known = known or self._moved_forward(node, excess)
        if known is not None:
            return known
        scope, makers = scope_of(node), excess.makers
        traced = makers is not None and None not in (makers.ours, makers.theirs)
        if scope is not None and scope in self.ledger.source and not traced:
            return self.ledger.source[scope]
        # One wrong gradient changes the norm by which all are clipped, which leaves no entry.
        return self.ledger.latest() if phase_of(node) == "after" else None

    def _moved_forward(self, node: TreeNode, excess: Excess) -> Finding | None:
        """What moved the value on which a gradient goes back moves the gradient as well."""
        from_there = excess.makers.ours if excess.makers is not None else None
        if excess.way != "moved" or from_there is None:
            return None
        if node.forward is None or from_there.forward is None:
            return None
        return next(
            (
                finding
                for maker, reader, finding in self._moves
                if is_in(maker, node.forward) and is_in(reader, from_there.forward)
            ),
            None,
        )

    def _edge_finding(self, node: TreeNode, excess: Excess) -> Finding:
        row = excess.row
        score = float(np.nan_to_num(self.comparison.score[row]))
        named = {*map(id, self.ledger.findings)}
        made = self._made_by_one_run(node, excess, score)
        if made is not None and id(made) not in named:
            return made
        passed = self.passed(node, excess)
        if passed is not None and (made is None or id(passed) not in named):
            return passed
        if made is not None:
            return made
        owner = self._owner(node, row)
        if owner is not None:
            return self.open_parameter(owner, [row])
        change = self.changes.around(node)
        if change is None and node.direction == "backward":
            known = self.changes.finding_of(node.forward)
            if known is not None:
                return known
            change = self._returned_otherwise(node, row) or self.changes.of_gradient()
            change = change or self.changes.of(node.forward)
        if change is not None:
            return self._open_change(change, node, score, excess)
        return self._open_unexplained(node, excess)

    def passed(self, node: TreeNode, excess: Excess) -> Finding | None:
        """The call without values on the way of a value that one run alone makes, or otherwise."""
        score = float(np.nan_to_num(self.comparison.score[excess.row]))
        known: Finding | None = None
        for alone in filter(self.changes.is_change, self.edges.passed.alone(excess.row)):
            made = self.changes.made_by(alone, node)
            if made.finding is None:
                return self._open_change(made, node, score, excess, traced=True)
            known = known or made.finding
        otherwise = self.edges.passed.otherwise(excess.row)
        if otherwise is None:
            return known
        call, reason = otherwise
        if call not in self._passed:
            opened = self.ledger.open(call, "argument_differs", reason, score)
            self._passed[call] = self._with_evidence(opened, excess)
        return self._passed[call]

    def _returned_otherwise(self, node: TreeNode, row: int) -> Change | None:
        """The changed call that returned a gradient, though what it put out may agree by chance."""
        calls = self.edges.returned.returned_by(node, row)
        return next((c for call in calls if (c := self.changes.of(call)) is not None), None)

    def _open_unexplained(self, node: TreeNode, excess: Excess) -> Finding:
        """An input that no recorded call explains: moved, other data, or unrecorded work."""
        row, key = excess.row, self.comparison.keys[excess.row]
        maker = excess.makers.ours if excess.makers is not None else None
        is_data = not self.has_read or self.known.paired.is_integer(row)
        reason: Reason
        if excess.way == "moved" and maker is not None and excess.came <= self.known.noise[row]:
            reason = ElementsMoved(key, maker.name)
        elif excess.way == "outside" and phase_of(node) == "forward" and is_data:
            worst = self.facts.worst_score([row])
            if not self.has_read:
                reason = BatchDiffers(*worst)
            elif self._reads_more_moved(node, row):
                reason = UnrecordedDiffers(*worst)
            else:
                reason = UnrecordedDiffers(*worst, silent_before(node))
        elif (latest := self._explains(excess)) is not None:
            return latest
        elif (silent := self.edges.returned.silent_maker(node, row)) is not None:
            finding = self.ledger.open(silent, "introduced", HandsOn(key, node.name))
            finding.inherits = self._keys([row])
            return self._with_evidence(finding, excess)
        else:
            reason = self._read_otherwise(excess)
        finding = self.ledger.open(node, "input_differs", reason)
        finding.inherits = self._keys([row])
        return self._with_evidence(finding, excess)

    def _reads_more_moved(self, node: TreeNode, row: int) -> bool:
        """Whether a call reads other tensors that calls without values made, or moved.

        What runs right before it and left no values may as well have made one of those.
        """
        tensors = self.facts.paired.tensors[0]
        others = (r for r in self.known.inputs(node) if r != row and tensors[r])
        return any(self._is_moved(r) for r in others)

    def _is_moved(self, row: int) -> bool:
        """Whether a value is not as a recorded call put it out."""
        made = self.edges.makers(row).outputs[0]
        records = self.matching.problem.dump.values.records
        return made == NOWHERE or records[made].shape != self.facts.paired.ours[row].shape

    def _read_otherwise(self, excess: Excess) -> InputDiffers | Rewired:
        """What the two runs read, where different calls made it."""
        makers = excess.makers
        if excess.way != "rewired" or makers is None or None in (makers.ours, makers.theirs):
            return InputDiffers(*self.facts.worst_score([excess.row]))
        assert makers.ours is not None and makers.theirs is not None
        worst = self.facts.worst_score([excess.row])
        return Rewired(*worst, makers.ours.name, makers.theirs.name)

    def _explains(self, excess: Excess) -> Finding | None:
        """The latest finding, where it may have led to a value on ways that nobody recorded."""
        stands_out = excess.way == "outside" and BEHIND < excess.times < inf
        return None if excess.told or stands_out else self.ledger.latest()

    def _owner(self, node: TreeNode, row: int) -> TreeNode | None:
        """The module around a call whose parameter the call reads."""
        owner = scope_of(node)
        while owner is not None:
            own = self.known.parameters(owner) if owner in self.matching.partner else []
            if own and self.facts.paired.share_a_value(own, [row]):
                return owner
            owner = scope_of(owner)
        return None

    def open_module_output(self, node: TreeNode, excess: Excess) -> Finding:
        """Name what a module puts out, or the changed call inside it that it comes from."""
        made = None
        if excess.makers is not None:
            alone = self.edges.unmatched(excess.makers)
            made = self.changes.made_by(alone, node) if alone is not None else None
        passed = self.passed(node, excess) if made is None else None
        change = made or self.changes.inside(node)
        if change is None and node.direction == "backward":
            change = self.changes.of_gradient()
        if passed is not None:
            finding = passed
        elif change is not None:
            finding = self._open_change(change, node, None, excess, traced=made is not None)
        else:
            finding = self._open_introduced(node, excess)
        self._edges_named[self._edge_key(excess.row)] = finding
        self.ledger.carry(finding, node)
        return finding

    # --- calls and parameters ---------------------------------------------------------------------

    def open_output(
        self, node: TreeNode, excess: Excess, arguments: list[int], change: Change | None
    ) -> Finding:
        arguments = arguments or self.changes.given_by_one_run(node)
        if arguments:
            reason = self.facts.argument_reason(arguments[0])
            finding = self.ledger.open(node, "argument_differs", reason)
            if change is not None:
                change.named, change.finding = True, finding
            return self._with_evidence(finding, excess)
        if change is None and node.direction == "backward":
            known = self.changes.finding_of(node.forward)
            if known is not None:
                return known
            change = self.changes.of(node.forward) or self.changes.of_gradient()
        if change is None and node.kind == "module":
            change = self.changes.inside(node)
        if change is not None:
            return self._open_change(change, node, None, excess)
        return self._behind_infinity(node, excess) or self._open_introduced(node, excess)

    def _behind_infinity(self, node: TreeNode, excess: Excess) -> Finding | None:
        """The call that made the infinities in which nothing behind could be compared."""
        hidden = (r for r in self.known.inputs(node) if self.known.hidden[r])
        row = next((r for r in hidden if self.edges.makers(r).ours is not None), None)
        if row is None:
            return None
        maker = self.edges.makers(row).ours
        assert maker is not None
        if maker in self.ledger.source:
            return self.ledger.source[maker]
        key = self.comparison.keys[row]
        reason = HiddenByInfinity(key, node.name)
        score = float(np.nan_to_num(self.comparison.score[excess.row]))
        return self.ledger.open(maker, "introduced", reason, score)

    def _open_introduced(self, node: TreeNode, excess: Excess) -> Finding:
        otherwise = self.changes.given_otherwise(node)
        if otherwise:
            given = self.facts.argument_reason(otherwise[0])
            return self._with_evidence(self.ledger.open(node, "argument_differs", given), excess)
        before = self.facts.reads(node)
        said = IntroducedBeyond if before > self.facts.threshold else Introduced
        reason = said(*self.facts.worst_score([excess.row]), before)
        finding = self.ledger.open(node, "introduced", reason)
        return self._with_evidence(finding, excess)

    def open_parameter(self, owner: TreeNode, rows: list[int]) -> Finding:
        if owner in self.ledger.source:
            return self.ledger.source[owner]
        written = self._written_by_one_run(owner, rows)
        if written is not None:
            return written
        reason = ParameterDiffers(*self.facts.worst_score(rows))
        finding = self.ledger.open(owner, "parameter_differs", reason)
        finding.inherits = self._keys(rows)
        return finding

    def _written_by_one_run(self, owner: TreeNode, rows: list[int]) -> Finding | None:
        """The call that one run alone makes and that wrote a parameter in this very step."""
        run = self.ledger.producers, self.ledger.benchmark_producers
        for producers, reader in zip(run, (owner, self.matching.partner[owner])):
            producers.reached = reader.exec_order
        for row in rows:
            values = self.facts.paired.value_pair(row)
            ours, theirs = (p.of(value) for p, value in zip(run, values))
            excess = Excess(inf, row, "changed", Makers(ours, theirs, (NOWHERE, NOWHERE)))
            score = float(np.nan_to_num(self.comparison.score[row]))
            made = self._made_by_one_run(owner, excess, score)
            if made is not None:
                return made
        return None

    def _made_by_one_run(self, node: TreeNode, excess: Excess, score: float) -> Finding | None:
        """The finding of the call that one run alone makes and that put out what a node reads."""
        assert excess.makers is not None
        alone = self.edges.unmatched(excess.makers)
        if alone is None:
            return None
        made = self.changes.made_by(alone, node)
        return made.finding or self._open_change(made, node, score, excess, traced=True)

    # --- how a finding is opened ------------------------------------------------------------------

    def _open_change(
        self,
        change: Change,
        node: TreeNode,
        score: float | None,
        excess: Excess,
        *,
        traced: bool = False,
    ) -> Finding:
        """`traced`: what the node reads is known to be what the changed call put out."""
        cut = self._cut_off(change.node)
        named = cut or change
        finding = named.finding = self.changes.open(named, node, self.ledger, score)
        # What is read in another layer tells nothing of this place, where the same may be wrong.
        beside = (traced and cut is None) or self.changes.is_beside(finding.node, node)
        return self._with_evidence(finding, excess) if beside else finding

    def _cut_off(self, call: TreeNode) -> Change | None:
        """Why one run alone goes back through a call of both: it wants a gradient of some value."""
        partner = self.matching.partner
        is_alone = call.direction == "backward" and call not in partner and call.forward in partner
        return self.changes.of_gradient() if is_alone else None

    def _with_evidence(self, finding: Finding, excess: Excess) -> Finding:
        """Keep with a finding how far a value is off, and how much of that its inputs explain.

        As tables have it, by the error that the score is made of: one number for one fact. Nothing
        where no distance is known or it is larger than two values can be apart (twice the larger
        norm; estimates err by as much again), and of integers, which are names, not sizes.
        """
        row, known = excess.row, self.known
        apart = float(self.comparison.error[row])
        told = any(isinstance(reason, Explained) for reason in finding.reasons)
        if told or known.paired.is_integer(row) or not 0 < known.share[row] <= _FURTHEST:
            return finding
        if not 0 < apart < inf:
            return finding
        node = self.matching.problem.in_order[int(self.comparison.pairs.node[row])]
        evidence = Explained(
            value=self.comparison.keys[row],
            apart=apart,
            explained=apart * min(1.0, excess.came / known.distance[row]),
            # Of one number nobody says its norm.
            of=told_by(self.comparison, row) if known.size[row] > 1 else None,
            at=UNSET if node is finding.node else node.name,
        )
        if node is finding.node:
            finding.reasons[:] = _without_number(finding.reasons, evidence.value)
        finding.reasons.insert(1, evidence)
        return finding

    def _edge_key(self, row: int) -> Hashable:
        sides = zip(self.flows, self.facts.paired.value_pair(row))
        numbers = tuple(flow.prints.numbers[index] for flow, index in sides)
        return row if NO_PRINT in numbers else numbers

    def _keys(self, rows: list[int]) -> frozenset[Hashable]:
        values = self.facts.paired.problem_values(rows)
        return self.flows[0].prints.keys(self.ledger.fingerprints(values))


def _without_number(reasons: list[Reason], value: str) -> list[Reason]:
    """What is said of the elements of a value, of which the evidence says how far it is off."""
    known = [r for r in reasons if not isinstance(r, ElementsApart) or r.value != value]
    return [
        StatisticsAgree(value) if isinstance(r, ElementsDiffer) and r.value == value else r
        for r in known
    ]
