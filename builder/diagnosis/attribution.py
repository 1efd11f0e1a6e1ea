"""Which finding each node belongs to, and what differs without one: all that the loop keeps."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from msgspec import UNSET

from builder.compare.told_apart import told_by_elements
from builder.diagnosis.choices import Choices
from builder.diagnosis.facts import Facts
from builder.diagnosis.finding import Finding
from builder.diagnosis.module_modes import mode_differs
from builder.diagnosis.verdicts import Named
from builder.flow.fingerprints import NO_PRINT, Fingerprints
from builder.match.tree import TreeNode
from builder.match.value_pairing import SURPLUS
from builder.reasons import ElementsApart, ElementsDiffer, Reason, StatisticsAgree


class Attribution:
    """Findings and what is laid to them; the loop alone writes it, policies read it.

    Invariants: `source` maps a node to the one finding that it belongs to, and never changes for a
    node. `tolerated` holds fingerprints, by number, of values that differ without a finding.
    `ties`: the calls that ranked numbers which rounding put in another order, `untold` those of
    which no record tells whether that is so. `prints` are those of the problem's values.
    """

    def __init__(self, facts: Facts, prints: Fingerprints) -> None:
        self.prints, self.choices = prints, Choices(facts)
        self.findings: list[Finding] = []
        self.source: dict[TreeNode, Finding] = {}
        self.tolerated: set[int] = set()
        self.ties: list[TreeNode] = []
        self.untold: list[TreeNode] = []
        self.latest_nonfinite: Finding | None = None
        self._facts = facts
        self._first_inside: dict[TreeNode, TreeNode] = {}
        self._latest_strong: Finding | None = None
        self.supposed: dict[TreeNode, Finding] = {}
        """What nodes may come of on ways that nobody recorded: it is told of none of them."""
        self._first_in_forward: dict[int, Finding] = {}

    def open(self, named: Named) -> Finding:
        """Make a finding of what was named."""
        finding = self.made_of(named)
        self.findings.append(finding)
        if finding.side == "problem":
            self._belongs(finding.node, finding)
        # There may be a finding per parameter and a question per node: nobody searches the list.
        if not finding.is_weak:
            self._latest_strong = finding
            if finding.node.phase == "forward":
                self._first_in_forward.setdefault(finding.node.micro_step, finding)
        if finding.kind == "non_finite":
            self.latest_nonfinite = finding
        return finding

    def made_of(self, named: Named) -> Finding:
        """The finding that something named is, which is listed nowhere yet."""
        node, is_ours = named.node, named.reader is None
        own, before = self._facts.scores(node) if is_ours else (None, None)
        seen = self._seen_in_elements(node) if is_ours else []
        if named.evidence is not None:
            if named.evidence.at is UNSET:
                seen = _without_number(seen, named.evidence.value)
            seen.insert(0, named.evidence)
        return Finding(
            named.kind,
            node,
            "problem" if is_ours else "benchmark",
            (named.reader or node).exec_order,
            [named.reason, *seen, *named.more, *self._mode_of(named)],
            own if named.score is None else named.score,
            before,
            is_weak=named.kind == "parameter_differs" and not self._facts.divergent(node).outputs,
            inherits=named.inherits,
            stands_alone=named.stands_alone,
        )

    def _mode_of(self, named: Named) -> list[Reason]:
        """In which mode the module of a changed call runs, where its run alone is in that."""
        if all(change.kind not in ("extra", "missing", "argument") for change in named.changes):
            return []
        partner = self._facts.comparison.matching.partner
        mode = mode_differs(named.node, partner, ours=named.reader is None)
        return [] if mode is None else [mode]

    def carry(self, cause: Finding, node: TreeNode) -> None:
        """Note that a node differs because of a finding, unless it belongs to one already."""
        if cause.node is not node and node not in self.source:
            self._belongs(node, cause)
            cause.carriers.append(node)

    def _belongs(self, node: TreeNode, finding: Finding) -> None:
        self.source[node] = finding
        if node.parent is not None:
            first = self._first_inside.get(node.parent)
            if first is None or node.exec_order < first.exec_order:
                self._first_inside[node.parent] = node

    def take_back(self, finding: Finding) -> None:
        """Forget one finding and what it explains; only for the end of a walk."""
        self.findings.remove(finding)
        kept = [(node, cause) for node, cause in self.source.items() if cause is not finding]
        self.source.clear()
        self._first_inside.clear()
        for node, cause in kept:
            self._belongs(node, cause)

    def tolerate(self, values: Iterable[int]) -> None:
        """Let the problem side's values differ without a finding."""
        self.tolerated |= self.fingerprints(values) - {NO_PRINT}

    def note_choice(self, node: TreeNode) -> None:
        """Note a call without a finding that picked other elements, and whether that is a tie."""
        if self.choices.picked_otherwise(node):
            (self.ties if self.choices.is_tie(node) else self.untold).append(node)

    # --- what policies ask ------------------------------------------------------------------------

    def inside(self, node: TreeNode) -> Finding | None:
        """The finding that the first call directly inside a node belongs to, of those that do."""
        first = self._first_inside.get(node)
        return None if first is None else self.source[first]

    def latest(self, weak: bool = False) -> Finding | None:
        """The latest finding that may explain others; with `weak` any, where there is none."""
        return self._latest_strong or (self.findings[-1] if weak and self.findings else None)

    def first_in_forward(self, micro_step: int) -> Finding | None:
        """The first finding of a forward pass that may explain others."""
        return self._first_in_forward.get(micro_step)

    def fingerprints(self, values: Iterable[int]) -> set[int]:
        """The fingerprints, by number, of the problem side's values."""
        return {self.prints.numbers[value] for value in values if value != SURPLUS}

    def keys_of(self, rows: list[int], but: Iterable[int] = ()) -> frozenset[Hashable]:
        """What rows are known by in other steps, without some fingerprints."""
        values = self._facts.paired.problem_values(rows)
        return self.prints.keys(self.fingerprints(values).difference(but))

    def left_by(self, finding: Finding) -> frozenset[Hashable]:
        """What a finding of inherited values leaves for the step behind, by its optimizer.

        Nothing more of it is off than what it explains: an excess beside it is another finding.
        """
        if not finding.inherits:
            return frozenset()
        updates = [node for node in finding.carriers if node.phase == "after"]
        return self.keys_of([r for node in updates for r in self._facts.known.outputs(node)])

    def _seen_in_elements(self, node: TreeNode) -> list[Reason]:
        """That statistics alone would not have shown a node's difference, in words."""
        rows = self._facts.divergent(node)
        shown = rows.parameters or rows.inputs or rows.outputs
        comparison = self._facts.comparison
        if not shown or not all(comparison.distances.unseen[row] for row in shown):
            return []
        said = told_by_elements(comparison, self._facts.worst(shown))
        return [] if said is None else [said]


def _without_number(reasons: list[Reason], value: str) -> list[Reason]:
    """What is said of the elements of a value, of which the evidence says how far it is off."""
    known = [r for r in reasons if not isinstance(r, ElementsApart) or r.value != value]
    return [
        StatisticsAgree(value) if isinstance(r, ElementsDiffer) and r.value == value else r
        for r in known
    ]
