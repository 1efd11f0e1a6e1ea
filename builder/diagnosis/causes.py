"""Findings that say the same of the same line of source are one cause, found in several places.

A wrong kernel shows in every layer, step and rank that calls it; nobody wants to read that twice.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from builder.dump.stack_frames import is_of_framework
from builder.match.tree import Tree, TreeNode
from builder.reasons import Reason


@dataclass(frozen=True, slots=True)
class Place:
    """Where else a cause showed: a node by its id in the result and by its name."""

    step: int
    rank: int
    node: int
    name: str


class Grouped(Protocol):
    """What is asked of a finding to group it."""

    @property
    def kind(self) -> str:
        """What the finding is."""

    @property
    def reasons(self) -> list[Reason]:
        """Why; the first one counts."""

    @property
    def line(self) -> str | None:
        """The line of source that the node was called from."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of its change, which nodes of the same cause share."""


AnyFinding = TypeVar("AnyFinding", bound=Grouped)


def source_line(tree: Tree, node: TreeNode) -> str | None:
    """The innermost frame of a node's call outside the framework; None without a stack.

    A stack inside the framework alone gives its innermost frame. A call without a stack is known
    by its name and the module around it, layers alike.
    """
    if node.holds_gradients:
        return "gradients of parameters"  # no call made them: what is wrong with one is with many
    if node.stack is None:
        return _kind_of_place(node)
    lines = calling_lines(tree, node)
    return None if lines is None else lines[1]


def calling_lines(tree: Tree, node: TreeNode) -> tuple[str, str] | None:
    """The innermost frame of a node's call, and the innermost outside the framework.

    They are one where there is none outside. None without a stack.
    """
    if node.stack is None:
        return None
    frames = [" ".join(line.split()) for line in tree.dump.frames[node.stack].splitlines()]
    frames = [frame for frame in frames if frame.startswith("File ")]
    # Every linear layer shares the frames of the framework itself.
    own = (frame for frame in frames if not is_of_framework(frame))
    return (frames[0], next(own, frames[0])) if frames else None


def is_users_own(lines: tuple[str, str] | None) -> bool:
    """Whether the innermost frame of a call, by its `calling_lines`, is no code of the framework.

    What modules and optimizers of the framework call has the line of many calls.
    """
    return lines is not None and lines[0] == lines[1] and not is_of_framework(lines[0])


def _kind_of_place(node: TreeNode) -> str | None:
    if node.entry is None or node.parent is None or node.parent.entry is None:
        return None
    path = ".".join("*" if part.isdigit() else part for part in node.parent.entry.path.split("."))
    return f"{node.entry.type_name} in {path}"


def by_cause(findings: Iterable[AnyFinding]) -> list[list[AnyFinding]]:
    """Findings of one cause each, in the order of their first ones.

    They say the same of the same line, or share a kind of change.
    """
    groups: list[list[AnyFinding]] = []
    group_of: dict[Hashable, list[AnyFinding]] = {}
    for finding in findings:
        cause = _cause(finding)
        shared = (*finding.kinds, *(() if cause is None else (cause,)))
        group = next((group_of[one] for one in shared if one in group_of), None)
        if group is None:
            groups.append(group := [])
        group.append(finding)
        for one in shared:
            group_of.setdefault(one, group)
    return groups


def _cause(finding: Grouped) -> Hashable:
    """What findings of one cause share; None for one that stands for itself."""
    if finding.line is None or not finding.reasons:
        return None
    return (finding.kind, type(finding.reasons[0]), finding.line)


__all__: Sequence[str] = ("AnyFinding", "Grouped", "Place", "by_cause", "source_line")
