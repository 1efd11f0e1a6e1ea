"""What a walk over one compared (step, rank) has established."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from builder.diagnosis.change_kinds import Sighting
from builder.diagnosis.finding import Finding
from builder.match.tree import TreeNode


@dataclass(frozen=True, slots=True)
class Walked:
    """The findings of one (step, rank), in order, and what the next step is told.

    `tolerated` are fingerprints of values that differ without a finding, which the next step may
    inherit; `late` is a call of the optimizer that only the next step can confirm; `ties` are
    the calls in which rounding decided what was picked, `untold` those that picked otherwise and of
    which nothing recorded tells whether rounding decided it; `sightings` are the nodes that show
    changes, which may be places of a cause that is named elsewhere; it `heals` where all that the
    step puts out agrees and nothing of its findings is left behind; `by_scores` where no distances
    were seen, so that scores decided.
    """

    findings: list[Finding]
    tolerated: frozenset[Hashable]
    late: Finding | None
    ties: tuple[TreeNode, ...] = ()
    sightings: tuple[Sighting, ...] = ()
    heals: bool = False
    untold: tuple[TreeNode, ...] = ()
    by_scores: bool = True
