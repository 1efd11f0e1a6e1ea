"""Names where a difference begins in one compared (step, rank): the one loop over its nodes.

The problem's nodes are gone through in execution order. A policy says of each what its difference
comes of; only the loop makes a finding of that, and lays what follows to it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from builder.compare.comparison import Comparison
from builder.compare.score import THRESHOLD
from builder.diagnosis.attribution import Attribution
from builder.diagnosis.calls_beside import say_calls_beside
from builder.diagnosis.change_kinds import Sighting
from builder.diagnosis.changes import Changes
from builder.diagnosis.choice_margins import ChoiceMargin
from builder.diagnosis.facts import Facts
from builder.diagnosis.finding import Change, Finding
from builder.diagnosis.handed_data import handed_data
from builder.diagnosis.nonfinite import (
    say_first_nonfinite,
    unmatched_nonfinite,
)
from builder.diagnosis.policies.by_excess.excess_policy import ByExcess
from builder.diagnosis.policies.by_scores.score_policy import ByScores
from builder.diagnosis.sightings import Sightings
from builder.diagnosis.verdicts import Named, Verdict
from builder.flow.feeding import Flow, flow_of
from builder.match.tree import TreeNode
from builder.reasons import InputDiffers, UnrecordedDiffers

Flows: TypeAlias = tuple[Flow, Flow]
MakePolicy: TypeAlias = "Callable[[Facts, Attribution, Changes, Flows], Policy]"


@dataclass(frozen=True, slots=True)
class Walked:
    """The findings of one (step, rank), in order, and what the next step is told.

    `tolerated` are fingerprints of values that differ without a finding, which the next step may
    inherit, `handed` of those that it may be fed as its data; `late` is a call of the optimizer
    that only the next step can confirm; `ties` are the calls in which rounding decided what was
    picked, `untold` those that picked otherwise and of
    which nothing recorded tells whether rounding decided it; `sightings` are the nodes that show
    changes, which may be places of a cause that is named elsewhere; it `heals` where all that the
    step puts out agrees and nothing of its findings is left behind; `by_scores` where no distances
    were seen, so that scores decided. `amplified` are calls that chose otherwise of numbers nearer
    than the runs are apart, `unjudged` those of them behind which nothing was judged.
    """

    findings: list[Finding]
    tolerated: frozenset[Hashable]
    late: Finding | None
    ties: tuple[TreeNode, ...] = ()
    sightings: tuple[Sighting, ...] = ()
    heals: bool = False
    untold: tuple[TreeNode, ...] = ()
    by_scores: bool = True
    amplified: tuple[ChoiceMargin, ...] = ()
    unjudged: tuple[TreeNode, ...] = ()
    handed: frozenset[Hashable] = frozenset()


def walk(
    comparison: Comparison, threshold: float = THRESHOLD, flows: Flows | None = None
) -> Walked:
    """The findings of one comparison in order; carriers stand in each finding's `carriers`.

    Distances need elements, as tensors or by sketches. Of dumps without, statistics tell a least
    distance only, and scores decide; so they do of single saved values, which no call leads to.
    `flows` are those of both sides where they are known.
    """
    is_saved = comparison.matching.problem.dump.level == "debug"
    unseen = is_saved or (comparison.elements.estimates is None and not comparison.elements.tensors)
    policy: MakePolicy = ByScores if unseen else ByExcess
    walked = Blame(comparison, threshold, flows, policy).walked()
    say_first_nonfinite(comparison, walked.findings)
    say_calls_beside(comparison.matching, walked.findings)
    return walked


def walk_by_scores(
    comparison: Comparison, threshold: float = THRESHOLD, flows: Flows | None = None
) -> Walked:
    """What scores alone tell, as of a merged run, on whose joined values no gain was measured."""
    return Blame(comparison, threshold, flows, ByScores).walked()


def flows_of(comparison: Comparison) -> Flows:
    """Which output fed which input, on either side."""
    forms, matching = comparison.forms.listed(), comparison.matching
    ours, theirs = comparison.columns
    return flow_of(matching.problem, ours, forms), flow_of(matching.benchmark, theirs, forms)


class Policy(Protocol):
    """What counts as a beginning; it opens nothing and lays nothing to a finding itself."""

    by_scores: bool
    sightings: Sightings

    def judge(self, node: TreeNode) -> Iterator[Verdict]:
        """What is said of a matched node, and of modules that begin with it; each is acted on
        before the next is asked for.
        """

    def settled(self, verdict: Verdict, finding: Finding, *, is_new: bool) -> None:
        """Hear which finding came of a verdict with a cause."""

    def behind(self, node: TreeNode) -> Finding | None:
        """The finding that an unmatched node follows from."""

    def passed(self, node: TreeNode) -> None:
        """Hear that a node is done with, matched or not."""

    def mistaken(self) -> Iterator[tuple[Finding, Sequence[int]]]:
        """Findings that turn out to be none at the end, and the values that may pass instead."""

    def at_the_end(self) -> Iterator[Verdict]:
        """What is said when all nodes were passed."""

    def maker(self, row: int) -> TreeNode | None:
        """The problem's call that put out the problem's value of a row."""

    def heal(self, findings: Iterable[Finding]) -> bool:
        """Say of findings whether they heal by themselves; returns whether all of them do."""


class Blame:
    """The loop: it asks its policy and acts on what that says."""

    def __init__(
        self, comparison: Comparison, threshold: float, flows: Flows | None, make: MakePolicy
    ) -> None:
        flows = flows or flows_of(comparison)
        self._facts, self._matching = Facts(comparison, threshold), comparison.matching
        self._prints = tuple(flow.prints for flow in flows)
        self._changes = Changes(self._facts)
        self._known = Attribution(self._facts, self._prints[0])
        self._policy = make(self._facts, self._known, self._changes, flows)

    def walked(self) -> Walked:
        """Go through all nodes, and say what came of it."""
        known, policy = self._known, self._policy
        for node in self._matching.problem.in_order:
            if node.kind != "root":
                self._visit(node)
        for finding, values in policy.mistaken():
            known.take_back(finding)
            known.tolerate(values)
        self._name_lost_gradients()
        late = None if known.findings else self._changes.late()
        for verdict in policy.at_the_end():
            self._settle(verdict)
        for finding in known.findings:
            finding.propagated_to = len(finding.carriers)
            finding.leaves = known.left_by(finding)
        findings = sorted(known.findings, key=Finding.sort_key)
        return Walked(
            findings,
            known.prints.keys(known.tolerated),
            None if late is None else known.made_of(late),
            tuple(known.ties),
            policy.sightings.listed((self._prints[0], self._prints[1]), policy.maker),
            policy.heal(findings),
            tuple(known.untold),
            policy.by_scores,
            handed=handed_data(self._facts, known) if findings else frozenset(),
        )

    def _is_leaf(self, row: int) -> bool:
        """Whether a value is read that is a parameter of the module around."""
        node = self._matching.problem.in_order[int(self._facts.comparison.pairs.node[row])]
        return not self._facts.comparison.is_output[row] and bool(self._facts.owner_of(node, row))

    def _name_lost_gradients(self) -> None:
        """Name what cuts gradients off: beside a finding of something else only leaves.

        What follows from that is none: without a gradient the calls that clip it and update by it
        are not made, or read other sums. What runs before all that was named comes of nothing of
        it, and explains no value of the forward pass.
        """
        known = self._known
        named = [*known.findings]
        wanted = self._changes.wanted_by_one_run
        following = [one for one in named if self._may_follow(one, wanted)]
        follow = len(following) == len(named)
        is_first = wanted is not None and not any(
            one.order <= wanted.order or self._changes.is_cut_before(one.node, wanted)
            for one in named
        )
        gone = self._changes.lost_gradients(None if follow or is_first else self._is_leaf)
        if gone is None and follow and named:
            gone = self._changes.lone_backward()
        if gone is None:
            return
        for finding in following if follow or is_first else ():
            known.take_back(finding)
        if is_first and not follow and named[0] not in following:
            named[0].stands_alone = named[0].stands_alone or named[0].node.phase == "forward"
        opened = self._opened(gone)
        opened.score = opened.score or None  # nothing that it puts out differs

    def _may_follow(self, finding: Finding, wanted: Change | None) -> bool:
        """Whether a finding reads, or is, a gradient that sums what one run alone handed back.

        `wanted` is the first value of which one run alone wants a gradient. What cuts a value off
        itself, before that one, follows from nothing.
        """
        gone_back = self._changes.gone_back
        if wanted is not None and self._changes.is_cut_before(finding.node, wanted):
            return False
        if gone_back.adds_to(finding.node):
            return True
        if wanted is not None and gone_back.lies_before(finding.node, wanted.order):
            return True
        alone = finding.node not in self._matching.partner
        unexplained = isinstance(finding.reasons[0], InputDiffers | UnrecordedDiffers)
        return finding.node.phase == "after" and (alone or unexplained)

    def _visit(self, node: TreeNode) -> None:
        partner = self._matching.partner.get(node)
        if partner is None:
            self._visit_unmatched(node)
        else:
            self._changes.follow(node, partner)
            if self._changes.cuts_off(node):
                self._changes.add("gradient", node)
            for verdict in self._policy.judge(node):
                self._settle(verdict)
        self._policy.passed(node)

    # Unmatched nodes have no score: they matter as makers of NaN and as causes of what follows.
    def _visit_unmatched(self, node: TreeNode) -> None:
        cause = self._policy.behind(node)
        if cause is not None:
            self._known.carry(cause, node)
        elif made := unmatched_nonfinite(self._facts, node):
            self._known.open(made)
        if self._changes.is_change(node):
            self._changes.add("extra", node)

    def _settle(self, verdict: Verdict) -> None:
        self._known.tolerate(verdict.values)
        if verdict.may_have_chosen:
            self._known.note_choice(verdict.node)
        if verdict.perhaps is not None:
            self._known.supposed[verdict.node] = verdict.perhaps
        if verdict.cause is None:
            return
        is_new = isinstance(verdict.cause, Named)
        finding = self._opened(verdict.cause) if isinstance(verdict.cause, Named) else verdict.cause
        self._policy.settled(verdict, finding, is_new=is_new)
        self._known.carry(verdict.under or finding, verdict.node)

    def _opened(self, named: Named) -> Finding:
        finding = self._known.open(named)
        self._changes.note(named, finding)
        return finding
