"""Of what kind a change is: what a fault that repeats has in common wherever it shows.

Nodes of one kind are of one line of source, make the same call and differ in the same way: the same
call that one run alone makes, the same argument, the same input that another call made.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

from builder.diagnosis.causes import calling_lines
from builder.diagnosis.finding import Finding
from builder.match.tree import Tree, TreeNode
from builder.reasons import Reason
from msprobe_core.format import NameSyntaxError, parse_entry

Side = Literal["problem", "benchmark"]


@dataclass(frozen=True, slots=True)
class Sighting:
    """A node that shows changes of some kinds; equal kinds are equal in every step and rank."""

    node: TreeNode
    side: Side
    kinds: tuple[str, ...]


def kinds_of(tree: Tree, finding: Finding) -> tuple[str, ...]:
    """What a finding shares with all places of its cause; nothing where no stack tells its line."""
    return Kinds(tree).all_of(finding.node, _changes_of(finding))


def _changes_of(finding: Finding) -> Iterator[tuple[Hashable, ...]]:
    """What a finding says of its node, as sightings have it."""
    reason = finding.reasons[0]
    code, value = reason["code"], reason.get("value")
    yield from changes_of_reason(reason)
    if code in ("extra_calls", "extra_replaced", "missing_calls", "missing_replaced"):
        yield (str(code).partition("_")[0],)
    elif code == "attribute_differs" and reason["attribute"] == "requires_grad":
        yield ("requires_grad", value)
    elif code == "precision_differs":
        yield ("precision", reason["problem"], reason["benchmark"])
    elif code == "rewired":
        yield ("rewired", value, type_of(reason["maker"]), type_of(reason["instead"]))
    elif code == "elements_moved":
        yield ("moved", value, type_of(reason["maker"]))
    elif code in ("unrecorded_differs", "batch_differs", "input_differs", "integers_differ"):
        yield ("outside", value)
        yield from (("outside", value, print_) for print_ in finding.inherits if print_ is not None)
    elif code in ("introduced", "introduced_beyond"):
        yield ("introduced",)
    elif code == "nonfinite_made":
        yield ("non_finite",)


def changes_of_reason(reason: Reason) -> Iterator[tuple[Hashable, ...]]:
    """What a reason says of what a call was given: another number, or what another call made."""
    if reason["code"] == "argument_differs":
        yield ("argument", reason["value"])
    elif reason["code"] == "fed_otherwise":
        yield ("fed", reason["value"], type_of(reason["maker"]), type_of(reason["instead"]))


class Kinds:
    """Says in a short text what a node shows, at which line of source, in which call."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._lines: dict[int, tuple[str, str] | None] = {}

    def __call__(self, node: TreeNode, change: tuple[Hashable, ...]) -> str | None:
        """The kind of a change at a node; None where no stack tells its line."""
        if node.stack is None or node.holds_gradients:
            return None
        if node.stack not in self._lines:
            self._lines[node.stack] = calling_lines(self._tree, node)
        lines = self._lines[node.stack]
        if lines is None:
            return None
        # What is computed again for the gradients is no other place of what was computed before.
        call = (type_of(node.name), node.direction, node.recomputed)
        text = repr((*lines, *call, *change))
        return blake2b(text.encode(), digest_size=12).hexdigest()

    def all_of(self, node: TreeNode, changes: Iterable[tuple[Hashable, ...]]) -> tuple[str, ...]:
        """The kinds of several changes at a node; none where no stack tells its line."""
        kinds = (self(node, change) for change in changes)
        return tuple(kind for kind in kinds if kind is not None)


def type_of(name: object) -> str:
    """`Tensor.add.7.forward` is one of `add`."""
    try:
        return parse_entry(str(name)).type_name
    except NameSyntaxError:
        return str(name)
