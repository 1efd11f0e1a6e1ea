"""What a rule is asked about: a node with an excess, and the parameters of modules."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

import numpy as np
from msgspec import UNSET

from builder.compare.told_apart import common_factor, told_by
from builder.diagnosis.attribution import Attribution
from builder.diagnosis.changes import Changes
from builder.diagnosis.excess import PLAIN, Excess, Makers
from builder.diagnosis.facts import Facts
from builder.diagnosis.finding import Change, Finding
from builder.diagnosis.policies.by_excess.edges import Edges
from builder.diagnosis.verdicts import Cause, Named
from builder.evidence.distances import ESTIMATED, Evidence
from builder.flow.feeding import Flow
from builder.flow.fingerprints import Producers
from builder.match.tree import TreeNode
from builder.reasons import Explained, Reason

_FURTHEST = 2 * ESTIMATED


@dataclass(frozen=True, slots=True)
class Case:
    """A node with an excess, and all that a rule may ask about it.

    `has_read`: a node with values ran before.
    """

    node: TreeNode
    excess: Excess
    facts: Facts
    attribution: Attribution
    changes: Changes
    edges: Edges
    parameters: Parameters
    has_read: bool

    @property
    def known(self) -> Evidence:
        """What is known of distances."""
        return self.facts.known

    @property
    def key(self) -> str:
        """The name of the value that has the excess."""
        return self.facts.comparison.keys[self.excess.row]

    @property
    def score(self) -> float:
        """The score of that value; 0 where it has none."""
        return float(np.nan_to_num(self.facts.comparison.scores.score[self.excess.row]))

    @property
    def worst(self) -> tuple[str, float]:
        """The key of that value and its score, as reasons have them."""
        return self.facts.worst_score([self.excess.row])

    @property
    def is_gradient(self) -> bool:
        """Whether the node is part of the backward pass."""
        return self.node.direction == "backward"

    def of_input(self, reason: Reason) -> Named:
        """Name the node for what it reads; an earlier step may have left that behind."""
        return replace(
            self.with_evidence(Named("input_differs", self.node, reason)),
            inherits=self.attribution.keys_of([self.excess.row]),
        )

    def of_change(self, change: Change, *, traced: bool = False) -> Named:
        """Name a changed call; `traced`: what the node reads is known to be what that put out."""
        cut = self._cut_off(change)
        named = self.changes.naming(cut or change, self.node, self.score)
        # What is read in another layer tells nothing of this place, where the same may be wrong.
        beside = (traced and cut is None) or self.changes.is_beside(named.node, self.node)
        return self.with_evidence(named) if beside else named

    def maker_of_one_run(self) -> Cause | None:
        """The call that one run alone makes, and which put out the value."""
        makers = self.excess.makers
        alone = None if makers is None else self.edges.unmatched(makers)
        if alone is None:
            return None
        made = self.changes.made_by(alone, self.node)
        return made.finding or self.of_change(made, traced=True)

    def _cut_off(self, change: Change) -> Change | None:
        """Why one run alone goes back through a call of both: it wants a gradient of some value."""
        call, partner = change.node, self.facts.comparison.matching.partner
        if call.direction != "backward" or call in partner:
            return None
        if call.forward is None:  # it goes back once more
            return self.changes.cutting(change)
        return self.changes.of_gradient() if call.forward in partner else None

    def with_evidence(self, named: Named) -> Named:
        """Say how far a value is off, and how much of that its inputs explain.

        As tables have it, by the error that the score is made of: one number for one fact. Nothing
        where no distance is known or it is larger than two values can be apart (twice the larger
        norm; estimates err by as much again), and of integers, which are names, not sizes.
        """
        row, known, comparison = self.excess.row, self.known, self.facts.comparison
        apart = float(comparison.scores.error[row])
        if known.paired.is_integer(row) or not 0 < known.share[row] <= _FURTHEST:
            return named
        if not 0 < apart < inf:
            return named
        node = comparison.matching.problem.in_order[int(comparison.pairs.node[row])]
        factor, of = common_factor(comparison, row), None
        if factor is None and known.size[row] > 1:  # of one number nobody says its norm
            of = told_by(comparison, row)
        evidence = Explained(
            value=self.key,
            apart=apart,
            explained=apart * min(1.0, self.excess.came / known.distance[row]),
            of=of if factor is None else "factor",
            at=UNSET if node is named.node else node.name,
            factor=UNSET if factor is None else factor,
        )
        return replace(named, evidence=evidence)


class Parameters:
    """Modules whose own parameters differ, and what wrote these in this very step."""

    def __init__(
        self,
        facts: Facts,
        known: Attribution,
        changes: Changes,
        edges: Edges,
        flows: tuple[Flow, Flow],
    ) -> None:
        self._facts, self._attribution, self._changes, self._edges = facts, known, changes, edges
        self._producers = [Producers(flow.prints) for flow in flows]

    def wrong_of(self, node: TreeNode) -> list[int]:
        """The rows of a module's own parameters that are further apart than a rounding."""
        if node.direction != "forward" or node.kind != "module" or node.is_update:
            return []
        known = self._facts.known
        return [r for r in known.parameters(node) if known.distance[r] > PLAIN * known.noise[r]]

    def cause(self, owner: TreeNode, rows: list[int]) -> Cause:
        """What is to blame for parameters of a module: a call of one run alone, or the module."""
        if owner in self._attribution.source:
            return self._attribution.source[owner]
        for row in rows:
            written = self._written(owner, row)
            if written is not None:
                return written
        reason, more = self._facts.parameter_reasons(rows)
        inherits = self._attribution.keys_of(rows)
        return Named("parameter_differs", owner, reason, more=more, inherits=inherits)

    def supposed(self, owner: TreeNode, rows: list[int]) -> Finding | None:
        """What the call that wrote a parameter in this step may come of, if nothing is known."""
        writers = (self._writers(owner, row)[0] for row in rows)
        supposed = self._attribution.supposed
        found = (supposed.get(one) for one in writers if one is not None) if supposed else ()
        return next(filter(None, found), None)

    def _written(self, owner: TreeNode, row: int) -> Cause | None:
        """What is to blame where a call of this step wrote a parameter before it was read.

        A call that one run alone makes, or what led to the difference in what both runs write.
        """
        made = self._writers(owner, row)
        excess = Excess(inf, row, "changed", Makers(made[0], made[1]))
        writer, partner = made[0], self._facts.comparison.matching.partner
        if writer in partner and partner[writer] is made[1]:
            return self._attribution.source.get(writer)
        known = self._facts, self._attribution, self._changes, self._edges, self
        return Case(owner, excess, *known, has_read=True).maker_of_one_run()

    def _writers(self, owner: TreeNode, row: int) -> list[TreeNode | None]:
        """The calls of either run that wrote a parameter before it was read."""
        readers = owner, self._facts.comparison.matching.partner[owner]
        sides = zip(self._producers, readers, self._facts.paired.value_pair(row), strict=True)
        made: list[TreeNode | None] = []
        for producers, reader, value in sides:
            producers.reached = reader.exec_order
            made.append(producers.of(value))
        return made
