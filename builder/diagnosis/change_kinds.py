"""Of what kind a change is: what a fault that repeats has in common wherever it shows.

Nodes of one kind are of one line of source, make the same call and differ in the same way: the same
call that one run alone makes, the same argument, the same input that another call made.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal, TypeAlias

from msgspec import UNSET

from builder.diagnosis.causes import calling_lines, is_users_own
from builder.diagnosis.finding import Finding
from builder.dump.stack_frames import is_of_framework
from builder.match.tree import Tree, TreeNode
from builder.operators.argument_names import argument_name
from builder.reasons import (
    ArgumentDiffers,
    AttributeDiffers,
    BatchDiffers,
    BatchRows,
    BatchShaped,
    CalledEarlier,
    CalledLater,
    ElementsMoved,
    Explained,
    ExtraCalls,
    ExtraReplaced,
    FedOtherwise,
    InputDiffers,
    IntegersDiffer,
    Introduced,
    IntroducedBeyond,
    IntroducedInside,
    LeavesValues,
    MissingCalls,
    MissingReplaced,
    ModeDiffers,
    NonfiniteMade,
    PrecisionDiffers,
    ReadBefore,
    Reason,
    Rewired,
    UnrecordedDiffers,
    UpdatedAlone,
    assert_never,
)
from msprobe_core.format import NameSyntaxError, parse_entry

Side = Literal["problem", "benchmark"]
# A frame of a stack without its number and its text.
_FUNCTION = re.compile(r"(File .*?), line \d+, (in [^,]+)")
OTHER_DATA = "data"  # the kind of all data of a run, wherever they are read
# Arguments by which modules tell their calls that they are trained.
_OF_MODE = frozenset(("training", "train", "use_input_stats", "dropout_p"))
# What a line that somebody wrote anew shows as.
_WRITTEN_ANEW = (
    ArgumentDiffers,
    ExtraCalls,
    ExtraReplaced,
    MissingCalls,
    MissingReplaced,
    PrecisionDiffers,
)


@dataclass(frozen=True, slots=True)
class Sighting:
    """A node that shows changes of some kinds; equal kinds are equal in every step and rank."""

    node: TreeNode
    side: Side
    kinds: tuple[str, ...]


def kinds_of(tree: Tree, finding: Finding) -> tuple[str, ...]:
    """What a finding shares with all places of its cause; nothing where no stack tells its line.

    Of calls that a line of the user's own makes otherwise it is the line, too: whoever wrote it
    anew added a call, left one out or gave another argument, and their gradients follow. Calls of
    one kind to which one function gives another argument, here and there the same, it gives what it
    has worked out once. Modules that are in another mode are so by one call of `train` or `eval`.
    """
    kinds, reason = Kinds(tree), finding.reasons[0]
    found = kinds.all_of(finding.node, _changes_of(finding))
    line = kinds.of_line(finding.node) if isinstance(reason, _WRITTEN_ANEW) else None
    given = kinds.of_function(finding.node, reason) if isinstance(reason, ArgumentDiffers) else None
    data = OTHER_DATA if isinstance(reason, BatchDiffers) else None
    other = (line, given, data, _mode_of(finding))
    return (*found, *(kind for kind in other if kind is not None))


def _mode_of(finding: Finding) -> str | None:
    """The mode that a module runs in, where that is what the finding comes of."""
    first = finding.reasons[0]
    mode = next((one for one in finding.reasons if isinstance(one, ModeDiffers)), None)
    is_told = mode is first
    if isinstance(first, ArgumentDiffers):
        is_told = argument_name(finding.node.name, first.value) in _OF_MODE
    return None if mode is None or not is_told else f"mode {mode.of is UNSET}"


def _changes_of(finding: Finding) -> Iterator[tuple[Hashable, ...]]:
    """What a finding says of its node, as sightings have it."""
    reason = finding.reasons[0]
    match reason:
        case ArgumentDiffers() | FedOtherwise():
            yield from changes_of_reason(reason)
        case CalledEarlier() | CalledLater():
            yield from _called_otherwise(reason)
            # Where both runs make the call it reads what is written before or behind it.
            yield from (("read", r.value) for r in finding.reasons[1:] if isinstance(r, Explained))
        case Rewired() | ReadBefore() | ElementsMoved() | InputDiffers() | UnrecordedDiffers():
            yield from _read_otherwise(reason, finding.inherits)
        case BatchDiffers() | BatchRows() | BatchShaped() | IntegersDiffer():
            yield from _read_otherwise(reason, finding.inherits)
        case Introduced() | IntroducedBeyond() | IntroducedInside() | LeavesValues():
            yield ("introduced",)
        case NonfiniteMade():
            yield ("non_finite",)
        case _:
            yield from _called_otherwise(reason)


def _called_otherwise(reason: Reason) -> Iterator[tuple[Hashable, ...]]:
    """What one run alone calls, or calls in another format or for gradients."""
    match reason:
        case ExtraCalls() | ExtraReplaced() | CalledEarlier() | UpdatedAlone(side="problem"):
            yield ("extra",)
        case MissingCalls() | MissingReplaced() | CalledLater() | UpdatedAlone():
            yield ("missing",)
        case AttributeDiffers(value=value, attribute="requires_grad"):
            yield ("requires_grad", value)
        case PrecisionDiffers(problem=problem, benchmark=benchmark):
            yield ("precision", problem, benchmark)


_Reading: TypeAlias = (
    Rewired
    | ReadBefore
    | ElementsMoved
    | InputDiffers
    | UnrecordedDiffers
    | BatchDiffers
    | BatchRows
    | BatchShaped
    | IntegersDiffer
)


def _read_otherwise(
    reason: _Reading, inherits: Iterable[Hashable]
) -> Iterator[tuple[Hashable, ...]]:
    """What a node reads otherwise; `inherits` are the fingerprints of what no call made.

    Of one line it is one cause, whatever the value shows of itself from turn to turn: elements in
    other places here, another value where these have been mixed.
    """
    yield ("read", reason.value)
    match reason:
        case Rewired():
            yield ("rewired", reason.value, type_of(reason.maker), type_of(reason.instead))
        case ElementsMoved():
            yield ("moved", reason.value, type_of(reason.maker))
        case (
            InputDiffers()
            | ReadBefore()
            | UnrecordedDiffers()
            | IntegersDiffer()
            | BatchDiffers()
            | BatchRows()
            | BatchShaped()
        ):
            yield ("outside", reason.value)
            yield from (("outside", reason.value, one) for one in inherits if one is not None)
        case _:
            assert_never(reason)


def changes_of_reason(reason: ArgumentDiffers | FedOtherwise) -> Iterator[tuple[Hashable, ...]]:
    """What a reason says of what a call was given: another number, or what another call made."""
    match reason:
        case ArgumentDiffers(value=value):
            yield ("argument", value)
        case FedOtherwise(value=value, maker=maker, instead=instead):
            yield ("fed", value, type_of(maker), type_of(instead))
        case _:
            assert_never(reason)


class Kinds:
    """Says in a short text what a node shows, at which line of source, in which call."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._lines: dict[int, tuple[str, str] | None] = {}

    def __call__(self, node: TreeNode, change: tuple[Hashable, ...]) -> str | None:
        """The kind of a change at a node; None where no stack tells its line."""
        lines = self._lines_of(node)
        if lines is None:
            return None
        # What is computed again for the gradients is no other place of what was computed before.
        call = (type_of(node.name), node.direction, node.recomputed)
        return _short((*lines, *call, *change))

    def of_line(self, node: TreeNode) -> str | None:
        """The line of a call that no code of the framework makes; None of all others."""
        lines = self._lines_of(node)
        return _short(("line", lines[0])) if lines is not None and is_users_own(lines) else None

    def of_function(self, node: TreeNode, given: ArgumentDiffers) -> str | None:
        """What the function of the user's that makes a call gives it otherwise, on any line.

        The module around tells functions of one name apart, as `forward` is.
        """
        lines = self._lines_of(node)
        function = lines and _FUNCTION.match(lines[1])
        if not function or is_of_framework(function[0]):
            return None
        around = node.parent.entry.type_name if node.parent and node.parent.entry else None
        told = (around, type_of(node.name), given.value, given.problem, given.benchmark)
        return _short(("given", *function.groups(), *told))

    def _lines_of(self, node: TreeNode) -> tuple[str, str] | None:
        if node.stack is None or node.holds_gradients:
            return None
        if node.stack not in self._lines:
            self._lines[node.stack] = calling_lines(self._tree, node)
        return self._lines[node.stack]

    def all_of(self, node: TreeNode, changes: Iterable[tuple[Hashable, ...]]) -> tuple[str, ...]:
        """The kinds of several changes at a node; none where no stack tells its line."""
        kinds = (self(node, change) for change in changes)
        return tuple(kind for kind in kinds if kind is not None)


def _short(facts: tuple[Hashable, ...]) -> str:
    return blake2b(repr(facts).encode(), digest_size=12).hexdigest()


def type_of(name: object) -> str:
    """`Tensor.add.7.forward` is one of `add`."""
    try:
        return parse_entry(str(name)).type_name
    except NameSyntaxError:
        return str(name)
