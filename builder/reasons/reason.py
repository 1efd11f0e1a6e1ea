"""All reasons as one type, and as files have them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import msgspec

from builder.reasons.fact import NotUnderstood
from builder.reasons.of_comparisons import ComparisonReason
from builder.reasons.of_findings import DefaultDiffers, FindingReason, SameOf
from builder.reasons.of_ranks import RankReason
from builder.reasons.of_values import ValueReason
from msprobe_core.format.bounded import parse_json
from msprobe_core.format.frameworks import PYTORCH, translated_frameworks

# All reasons of comparisons; type checkers hold every place that decides by one against this list.
Reason: TypeAlias = NotUnderstood | ValueReason | FindingReason | ComparisonReason

# json.dumps would make an encoder each time. It keeps NaN, which msgspec would write as null.
_encode = json.JSONEncoder(ensure_ascii=False).encode
_SHOWN = 3  # names of a longer list
_MOST_TEXT = 200  # characters of what is not understood


def same_of(names: Sequence[str]) -> list[Reason]:
    """That the same is true of others, the first few by name; nothing of none."""
    if not names:
        return []
    shown = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
    return [SameOf(len(names), shown)]


def encode(reasons: Iterable[Reason | RankReason]) -> str | None:
    """The JSON text that the database stores; None when there is nothing to say."""
    listed = [msgspec.to_builtins(reason, enc_hook=_number) for reason in reasons]
    return _encode(listed) if listed else None


def _number(value: object) -> object:
    item = getattr(value, "item", None)  # a number of numpy
    if item is None:
        raise NotImplementedError(f"no {type(value).__name__} in a reason")
    return item()


def decode(text: str | None) -> list[Reason]:
    """The reasons in a cell, of this release or of another.

    What is not known, or cannot be read, becomes one that says so: nothing is left out in silence.
    """
    if not text:
        return []
    try:
        listed = parse_json(text)
    except ValueError:
        listed = None
    if not isinstance(listed, list):
        return [NotUnderstood(str(text)[:_MOST_TEXT])]
    return [_understood(facts) for facts in listed]


class _Cell(msgspec.Struct):
    # msgspec keeps what it worked out for a Struct; a bare union is worked out at each call.
    reason: Reason


# msgspec learns a type when it is first used, and crashes when two threads do so at once.
msgspec.json.Decoder(_Cell)


def _understood(facts: object) -> Reason:
    try:
        return msgspec.convert({"reason": _as_now(facts)}, _Cell).reason
    except msgspec.ValidationError:
        return NotUnderstood(_encode(facts)[:_MOST_TEXT])


def _as_now(facts: object) -> object:
    """A fact in the form that it has now: earlier, defaults stood by their frameworks' names."""
    if not isinstance(facts, dict) or facts.get("code") != "default_differs":
        return facts
    own = next((each for each in translated_frameworks() if each.name in facts), None)
    if own is None or not {"what", PYTORCH.name} <= facts.keys():
        return facts
    told = DefaultDiffers(
        facts["what"], facts[own.name], own.display, facts[PYTORCH.name], PYTORCH.display
    )
    return msgspec.to_builtins(told)


def value_of(reason: Reason | RankReason) -> str | None:
    """The key of the value that a reason is about; None where it is about none."""
    value = getattr(reason, "value", None)
    return value if isinstance(value, str) else None
