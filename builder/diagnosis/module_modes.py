"""Modules that one run trains and the other evaluates, as both dumps tell of each call."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import UNSET

from builder.match.tree import TreeNode
from builder.reasons import ModeDiffers


def mode_differs(
    node: TreeNode, partner: Mapping[TreeNode, TreeNode], *, ours: bool
) -> ModeDiffers | None:
    """Whether the innermost module around a forward node runs in another mode; `ours` is its side.

    A module is its own innermost; one that has no partner, or whose mode is not told, hides no
    other: those around it are asked.
    """
    around: TreeNode | None = node if node.direction == "forward" else None
    while around is not None:
        twin = partner.get(around)
        if around.training is not None and twin is not None and twin.training is not None:
            if around.training is twin.training:
                return None
            name = (around if ours else twin).name
            return ModeDiffers(name, UNSET if around.training is ours else "evaluation")
        around = around.parent
    return None
