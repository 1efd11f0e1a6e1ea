"""What a walk has established so far: findings, what belongs to them, what is let pass.

Rules read it and open findings in it; it decides nothing itself.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import cached_property
from typing import Literal

from builder.compare.told_apart import told_by_elements
from builder.diagnosis.choices import Choices
from builder.diagnosis.facts import Facts
from builder.diagnosis.finding import Finding, FindingKind
from builder.diagnosis.scaling import ScaledGradients
from builder.diagnosis.walked import Walked
from builder.flow.feeding import Flow
from builder.flow.fingerprints import NO_PRINT, Producers
from builder.match.step_phases import phase_of
from builder.match.tree import TreeNode
from builder.match.value_pairing import SURPLUS
from builder.reasons import Reason


class Ledger:
    """The state of a walk.

    Invariants: `source` maps a node to the one finding that it belongs to, and never changes for a
    node. `tolerated` holds fingerprints, by number, of values that differ without a finding;
    `rounding` those of them that differ by rounding alone. `reselected_at`: where in execution
    order rounding first picked other elements, so that gradients of other elements follow.
    `ties`: the calls that ranked numbers which rounding put in another order, `untold` those of
    which no record tells whether that is so. `compared`: a node with values was seen.
    """

    def __init__(self, facts: Facts, flows: tuple[Flow, Flow] | None = None) -> None:
        self.facts, self.choices = facts, Choices(facts)
        self.findings: list[Finding] = []
        self.source: dict[TreeNode, Finding] = {}
        self._first_inside: dict[TreeNode, TreeNode] = {}
        self.tolerated: set[int] = set()
        self.rounding: set[int] = set()
        self.scaled = ScaledGradients()
        self.reselected_at: int | None = None
        self.ties: list[TreeNode] = []
        self.untold: list[TreeNode] = []
        self.compared = False
        self.latest_nonfinite: Finding | None = None
        self._latest_strong: Finding | None = None
        self._first_in_forward: dict[int, Finding] = {}
        comparison, forms = facts.comparison, facts.comparison.forms.listed()
        ours, theirs = comparison.columns
        self.producers = Producers(comparison.matching.problem, ours, forms)
        self.benchmark_producers = Producers(comparison.matching.benchmark, theirs, forms)
        if flows is not None:
            self.producers.prints, self.benchmark_producers.prints = (f.prints for f in flows)
        self._values = comparison.matching.problem.dump.values

    @property
    def reselected(self) -> bool:
        """Whether rounding has picked other elements."""
        return self.reselected_at is not None

    def open(
        self,
        node: TreeNode,
        kind: FindingKind,
        reason: Reason,
        score: float | None = None,
        affected: TreeNode | None = None,
    ) -> Finding:
        """Name a node; `affected` is the problem node that a benchmark-only call matters to."""
        side: Literal["problem", "benchmark"] = "benchmark" if affected else "problem"
        own, before = (None, None) if affected else self.facts.scores(node)
        order = (affected or node).exec_order
        own = score if score is not None else own
        finding = Finding(kind, node, side, order, [reason], own, before)
        if kind in ("parameter_differs", "input_differs") and affected is None:
            rows = self.facts.divergent(node)
            indices = self.facts.paired.problem_values(rows.parameters or rows.inputs)
            inherits = self.fingerprints(indices) - self.tolerated
            finding.inherits = self.producers.prints.keys(inherits)
        if affected is None:
            finding.reasons += self._seen_in_elements(node)
        if kind == "parameter_differs":
            finding.is_weak = not self.facts.divergent(node).outputs
        self.findings.append(finding)
        if affected is None:
            self._belongs(node, finding)
        self._remember(finding)
        return finding

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

    def inside(self, node: TreeNode) -> Finding | None:
        """The finding that the first call directly inside a node belongs to, of those that do."""
        first = self._first_inside.get(node)
        return None if first is None else self.source[first]

    def tolerate(self, indices: list[int], rounding: bool = False) -> None:
        """Let a difference pass that is rounding, or grew too slowly to have begun here."""
        if not indices:
            return
        keys = self.fingerprints(indices) - {NO_PRINT}
        self.tolerated |= keys
        if rounding:
            self.rounding |= keys
        for index in indices:
            if index != SURPLUS and self._values.keys[index].startswith("parameters_grad"):
                self.scaled.add(self._values.records[index])

    def note_choice(self, node: TreeNode) -> None:
        """Note a call without a finding that picked other elements, and whether that is a tie."""
        if self.choices.picked_otherwise(node):
            (self.ties if self.choices.is_tie(node) else self.untold).append(node)

    def are_let_pass(self, rows: list[int]) -> bool:
        """Whether the problem side's values of rows were let pass where they were made."""
        return self.fingerprints(self.facts.paired.problem_values(rows)) <= self.tolerated

    def discard(self) -> None:
        """Forget all findings: the one that was opened last waits for the next step."""
        self.findings.clear()
        self.source.clear()
        self._first_inside.clear()

    def walked(self, late: Finding | None) -> Walked:
        """What the walk has established; `late` waits for the next step."""
        for finding in self.findings:
            finding.propagated_to = len(finding.carriers)
        ordered = sorted(self.findings, key=Finding.sort_key)
        ties, untold = tuple(self.ties), tuple(self.untold)
        return Walked(ordered, self._tolerated_keys(), late, ties, untold=untold)

    def take_back(self, finding: Finding) -> None:
        """Forget one finding and what it explains; only for the end of a walk."""
        self.findings.remove(finding)
        kept = [(node, cause) for node, cause in self.source.items() if cause is not finding]
        self.source.clear()
        self._first_inside.clear()
        for node, cause in kept:
            self._belongs(node, cause)

    def latest(self, weak: bool = False) -> Finding | None:
        """The latest finding that may explain others; with `weak` any, where there is none."""
        return self._latest_strong or (self.findings[-1] if weak and self.findings else None)

    def first_in_forward(self, micro_step: int) -> Finding | None:
        """The first finding of a forward pass that may explain others."""
        return self._first_in_forward.get(micro_step)

    def fingerprints(self, indices: Iterable[int]) -> set[int]:
        """The fingerprints, by number, of the problem side's values."""
        numbers = self.producers.prints.numbers
        return {numbers[index] for index in indices if index != SURPLUS}

    def _tolerated_keys(self) -> frozenset[Hashable]:
        """The fingerprints of all that was let pass, which mean the same in the next step."""
        return self.producers.prints.keys(self.tolerated)

    def is_made_by_partners(self, row: int) -> bool:
        """Whether partners made both sides of a value; small integers share theirs by chance."""
        ours, theirs = self.facts.paired.value_pair(row)
        made = self.producers.of(ours)
        return made is not None and self._partner(made) is self.benchmark_producers.of(theirs)

    def is_made(self, row: int) -> bool:
        """Whether a call put out the problem side's value of a row, as far as the dump tells."""
        return self.producers.of(self.facts.paired.value_pair(row)[0]) is not None

    def is_foreign(self, row: int) -> bool:
        """Whether an integer is data of the run: token ids, labels, masks that no call made.

        Masks and indices behind a finding were computed, so that there it has to be certain.
        """
        if not self.facts.paired.is_integer(row) or self.is_made_by_partners(row):
            return False
        return not self.findings or self._is_from_outside(row)

    def _is_from_outside(self, row: int) -> bool:
        """Whether a value of the problem side could be traced to a call, and no call made it.

        A constant has no fingerprint. Of one, a dump that names the makers of inputs says that
        nothing recorded made it by naming none.
        """
        ours, theirs = self.facts.paired.value_pair(row)
        if SURPLUS in (ours, theirs) or self.facts.paired.ours[row].source or self.is_made(row):
            return False
        if self.producers.prints.numbers[ours] != NO_PRINT:
            return True
        return self._names_makers and not self.facts.paired.theirs[row].source

    @cached_property
    def _names_makers(self) -> bool:
        """Whether the problem side's dump says of inputs which output they are."""
        return any(record.source for record in self._values.records)

    def moved_from(self, row: int) -> TreeNode | None:
        """The call whose two sides agree on a value that differs here: elements were moved.

        Only where elements were compared, as tensors or by sketches, at the call and here.
        """
        facts, (ours, theirs) = self.facts, self.facts.paired.value_pair(row)
        made = self.producers.of(ours)
        if made is None or theirs == SURPLUS or not facts.sees_elements(row):
            return None
        if self._partner(made) is not self.benchmark_producers.of(theirs):
            return None
        numbers = self.producers.prints.numbers
        same = [
            r
            for r in facts.paired.rows(made)
            if facts.comparison.is_output[r]
            and facts.sees_elements(r)
            and numbers[facts.paired.value_pair(r)[0]] == numbers[ours]
        ]
        scores = facts.comparison.score
        before = max((float(scores[r]) for r in same), default=1.0)
        return made if float(scores[row]) - before > facts.threshold + before else None

    def _seen_in_elements(self, node: TreeNode) -> list[Reason]:
        """That statistics alone would not have shown a node's difference, in words."""
        rows = self.facts.divergent(node)
        shown = rows.parameters or rows.inputs or rows.outputs
        comparison = self.facts.comparison
        if not shown or not all(comparison.unseen[row] for row in shown):
            return []
        said = told_by_elements(comparison, self.facts.worst(shown))
        return [] if said is None else [said]

    def _partner(self, node: TreeNode) -> TreeNode | None:
        return self.facts.comparison.matching.partner.get(node)

    def _remember(self, finding: Finding) -> None:
        # There may be a finding per parameter and a question per node: nobody searches the list.
        if not finding.is_weak:
            self._latest_strong = finding
            if phase_of(finding.node) == "forward":
                self._first_in_forward.setdefault(finding.node.micro_step, finding)
        if finding.kind == "non_finite":
            self.latest_nonfinite = finding
