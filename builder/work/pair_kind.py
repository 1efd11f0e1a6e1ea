"""Which kind a pair is: one program, two versions of it, two of one model, or of its tokens.

The kind follows from what both runs share by name and by value; how sure it is, from how far that
is from what other kinds share. In samples sound pairs of one program share 81 % of their calls or
more, and ports whose layers have other names 30 % or less.
"""

from __future__ import annotations

from builder.match.nodes import Matching
from builder.match.shared_calls import ENOUGH_SHARED
from builder.reasons import (
    KindSure,
    OneProgram,
    Reason,
    SameTokens,
    TokensAligned,
    TwoImplementations,
    TwoPrograms,
    TwoVersions,
    UnknownKind,
)
from builder.work.options import Same

_SURELY_SHARED = 0.8  # calls by name, of two versions
_SURELY_FOUND = 0.9  # weights by value, of two programs of one model
_FOUND = 0.5  # below it values that both come by, or a person, say that the model is one


def kind_of(
    matching: Matching,
    by_name: tuple[float | None, int],
    weights: TwoImplementations | None,
    tokens: TokensAligned | None,
    asked: Same | None,
) -> Reason:
    """What both runs are, and how sure that is.

    `by_name` is the share of calls that pair by name, None where it was not counted, and how many
    nodes of both runs are left alone then.
    """
    shared, alone = by_name
    if tokens is not None and weights is not None:
        sure = _told(asked == "tokens", _by_weights(weights))
        return SameTokens(sure, tokens.tokens, tokens.requests, weights.found, weights.weights)
    if weights is not None:
        sure = _told(asked == "model", _by_weights(weights))
        return TwoPrograms(sure, shared, weights.found, weights.weights)
    if matching.across_frameworks or shared is None:
        return UnknownKind(shared)
    if asked in ("program", "versions"):
        return (
            OneProgram("told", shared) if asked == "program" else TwoVersions("told", shared, alone)
        )
    if shared < ENOUGH_SHARED:
        return UnknownKind(shared)
    if not alone and _are_in_one_order(matching):
        return OneProgram("certain" if _has_modules(matching) else "likely", shared)
    is_sure = shared >= _SURELY_SHARED and _has_modules(matching)
    return TwoVersions("certain" if is_sure else "likely", shared, alone)


def _told(is_asked: bool, sure: KindSure) -> KindSure:
    return "told" if is_asked else sure


def _by_weights(weights: TwoImplementations) -> KindSure:
    found = weights.found / max(weights.weights, 1)
    if found >= _SURELY_FOUND:
        return "certain"
    return "likely" if found >= _FOUND else "possible"


def _are_in_one_order(matching: Matching) -> bool:
    """Whether both make their forward calls in one order: norms may have changed their places."""
    partners = [
        matching.partner[node].exec_order
        for node in matching.problem.in_order
        if node.direction == "forward" and node in matching.partner
    ]
    return partners == sorted(partners)


def _has_modules(matching: Matching) -> bool:
    """Whether modules were recorded: calls alone share their names in any two programs."""
    return any(node.kind == "module" for node in matching.problem.in_order)
