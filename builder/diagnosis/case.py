"""What a rule of the diagnosis is asked about: a divergent node, and all that is known of it."""

from __future__ import annotations

from dataclasses import dataclass

from builder.diagnosis.candidates import Candidates
from builder.diagnosis.facts import DivergentRows, Facts
from builder.diagnosis.ledger import Ledger
from builder.diagnosis.score_facts import ScoreFacts
from builder.match.nodes import Matching
from builder.match.tree import TreeNode


@dataclass(frozen=True, slots=True)
class Case:
    """A matched node whose values diverge, and all that a rule may ask about it."""

    node: TreeNode
    rows: DivergentRows
    facts: Facts
    scored: ScoreFacts
    ledger: Ledger
    candidates: Candidates

    @property
    def matching(self) -> Matching:
        """The two trees."""
        return self.facts.comparison.matching

    @property
    def is_gradient(self) -> bool:
        """Whether the node is part of the backward pass."""
        return self.node.direction == "backward"

    def score_of_worst(self, rows: list[int]) -> float:
        """The highest score among some rows."""
        return float(self.facts.comparison.score[self.facts.worst(rows)])
