"""Parts of tensors that are recorded in place of the whole: of a dimension, or of one request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Slice:
    """A part of every tensor whose dimension `dim` has `size` elements (None: of any size).

    It reaches from `begin` up to before `end`, as slices of Python do.
    """

    dim: int
    size: int | None = None
    begin: int | None = None
    end: int | None = None


def slice_of_request(request: str, scheduled_tokens: Mapping[str, int]) -> Slice | None:
    """Where the tokens of a request lie in a step's batch; None when the step does not have it.

    Engines put the tokens of all requests one after the other along the first dimension.
    """
    if request not in scheduled_tokens:
        return None
    names = list(scheduled_tokens)
    counts = list(scheduled_tokens.values())
    begin = sum(counts[: names.index(request)])
    return Slice(0, sum(counts), begin, begin + scheduled_tokens[request])


def is_schedule(value: object) -> bool:
    """Whether a value says how many tokens each request has."""
    return (
        isinstance(value, Mapping)
        and bool(value)
        and all(isinstance(name, str) for name in value)
        and all(type(count) is int and count > 0 for count in value.values())
    )
