"""The outcome of a pair as bytes, for another process on another machine."""

from __future__ import annotations

from collections.abc import Hashable

import msgspec

from builder.work.outcome import PairOutcome


def outcome_bytes(outcome: PairOutcome) -> bytes:
    """An outcome as msgpack, which keeps NaN and infinity apart, as JSON does not."""
    return msgspec.msgpack.encode(outcome, enc_hook=_plain)


def outcome_of_bytes(content: bytes) -> PairOutcome:
    """The outcome behind bytes; raises msgspec.DecodeError for others."""
    return msgspec.msgpack.decode(content, type=PairOutcome, dec_hook=_hashable)


def _plain(value: object) -> object:
    item = getattr(value, "item", None)  # a number of numpy
    if item is None:
        raise NotImplementedError(f"no {type(value).__name__} in an outcome")
    return item()


def _hashable(kind: type, value: object) -> object:
    if kind is not Hashable:
        raise NotImplementedError(f"no {kind} in an outcome")
    return tuple(value) if isinstance(value, list) else value
