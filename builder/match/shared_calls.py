"""Whether two runs share enough of their calls by name to be two versions of one program."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a diagnosis is read without them
    from builder.match.nodes import Matching

# Below this share most calls are compared with nothing, and what diverges first is what happens to
# have a partner. Of the samples, sound pairs share 81 % or more (recomputation, a renamed MLP) and
# ports whose layers have other names 30 % or less; between them the value is free.
ENOUGH_SHARED = 0.6
# Of modules alone: of a version with a renamed part most still have their names (72 % of a sample
# with another MLP), of a port none but the outermost (0.4 % of a GPT under other names).
_ENOUGH_MODULES = 0.5


def share(matched: int, *alone: int) -> float | None:
    """The share of calls that have a partner, of the run that has fewer; None without any.

    Of the run that has fewer, for one that recorded a single module can be matched whole. `alone`
    are those of each run that have none.
    """
    fewer = min(alone)
    return matched / (matched + fewer) if matched + fewer else None


def shared_by_name(matching: Matching) -> tuple[float | None, int]:
    """The share of calls that have a partner, of the run that has fewer, and all that have none."""
    matched = len(matching.partner) // 2 - 1
    trees = (matching.problem, matching.benchmark)
    alone = [len(tree.in_order) - 1 - matched for tree in trees]
    return share(matched, *alone), sum(alone)


def are_versions(matching: Matching) -> bool:
    """Whether two runs share enough calls and modules to be compared call by call.

    The calls of an optimizer are many, and the same whatever they update.
    """
    shared, _ = shared_by_name(matching)
    modules = _share_of_modules(matching)
    if modules is not None and modules < _ENOUGH_MODULES:
        return False
    return shared is None or shared >= ENOUGH_SHARED


def _share_of_modules(matching: Matching) -> float | None:
    """The share of modules that have a partner; None where a run recorded none."""
    sides = [
        [node for node in tree.in_order if node.kind == "module"]
        for tree in (matching.problem, matching.benchmark)
    ]
    if not all(sides):
        return None
    matched = sum(node in matching.partner for node in sides[0])
    return share(matched, *(len(side) - matched for side in sides))
