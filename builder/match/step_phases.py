"""The parts of a training step: forward, backward, and what comes after."""

from __future__ import annotations

from typing import Literal

from builder.match.tree import TreeNode

StepPhase = Literal["forward", "backward", "after"]
_PHASES: tuple[StepPhase, ...] = ("forward", "backward", "after")


def phase_key(node: TreeNode, order: int) -> tuple[int, int]:
    """Sorts nodes of one step by the part of it that they run in, then by their order.

    Micro-steps have their parts together, up to an update: what runs behind it comes behind it.
    """
    turn = (node.top or node).turn
    return (len(_PHASES) * turn + _PHASES.index(phase_of(node)), order)


def is_after(key: tuple[int, int]) -> bool:
    """Whether what a `phase_key` sorts runs after the backward pass of its turn."""
    return _PHASES[key[0] % len(_PHASES)] == "after"


def phase_of(node: TreeNode) -> StepPhase:
    """The part of a step that a node runs in.

    Recomputed calls run during the backward pass; gradient synchronisation, clipping and the
    optimizer come after it.
    """
    if node.recomputed or node.direction == "backward":
        return "backward"
    top = node.top or node
    return "after" if top.entry is None or top.after_backward else "forward"
