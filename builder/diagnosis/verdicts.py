"""What a policy says of a node: it begins there, it follows from what is known, or it may pass."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from builder.diagnosis.excess import Excess
from builder.diagnosis.finding import Change, Finding, FindingKind
from builder.match.tree import TreeNode
from builder.reasons import Explained, Reason


@dataclass(frozen=True, slots=True)
class Named:
    """A node at which a difference begins, which is no finding yet.

    `reader` is the problem's node that a call of the benchmark alone matters to, `evidence` how far
    off a value is, `changes` are the changed calls that this tells of. What `stands_alone` nothing
    that was named before can explain.
    """

    kind: FindingKind
    node: TreeNode
    reason: Reason
    score: float | None = None
    reader: TreeNode | None = None
    inherits: frozenset[Hashable] = frozenset()
    evidence: Explained | None = None
    more: tuple[Reason, ...] = ()
    changes: tuple[Change, ...] = ()
    stands_alone: bool = False


Cause: TypeAlias = Named | Finding


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is said of a node: its `cause`, and which of its `values` differ without one.

    The node counts under its cause, or `under` another finding where one is named that it only
    leads to. `excess` is the one that the cause is of. It `may_have_chosen` where nothing says why
    it picked other elements. `perhaps` it comes of a finding on ways that nobody recorded: then it
    counts under none, and names none.
    """

    node: TreeNode
    cause: Cause | None = None
    under: Finding | None = None
    excess: Excess | None = None
    values: Sequence[int] = ()
    may_have_chosen: bool = False
    perhaps: Finding | None = None
