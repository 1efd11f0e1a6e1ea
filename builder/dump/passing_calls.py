"""Calls that left no values, as flow.json tells of them: what each was given, and from whom.

The file is ours; a dump of another tool, or of an earlier release, has none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

import msgspec

from builder.dump.json_files import read_json

Leaf: TypeAlias = tuple[str, dict[str, object] | None]
"""The key of an argument as values have it (`input.0`), and what is told of it: `source` of a
tensor, `type` and `value` of anything else, None of nothing.
"""


class PassingCall(msgspec.Struct, dict=True):
    """A call without values.

    `after` says behind how many entries it ran, of construct.json or at level L1 of dump.json, in
    `parent`; it is None of a call that construct.json has itself.
    """

    input_args: list[object] = []
    input_kwargs: dict[str, object] = {}
    after: int | None = None
    parent: str | None = None

    @cached_property
    def sources(self) -> list[tuple[str, str | None]]:
        """The keys of the tensors, each with the value name of the output that it is, if any."""
        leaves = [(key, told) for key, told in self._leaves() if told and "source" in told]
        return [(key, _text(told["source"])) for key, told in leaves if told is not None]

    @cached_property
    def arguments(self) -> dict[str, tuple[str, object]]:
        """What is no tensor, by key: its type and its value."""
        return {
            key: ("null", None) if told is None else (str(told.get("type")), _value(told))
            for key, told in self._leaves()
            if told is None or "source" not in told
        }

    def _leaves(self) -> Iterator[Leaf]:
        pending: list[tuple[str, object]] = [
            *((f"input.{at}", one) for at, one in enumerate(self.input_args)),
            *((f"input.{name}", one) for name, one in self.input_kwargs.items()),
        ][::-1]
        while pending:
            key, item = pending.pop()
            if isinstance(item, list):
                pending += [(f"{key}.{at}", one) for at, one in enumerate(item)][::-1]
            elif isinstance(item, dict) and not ("source" in item or "type" in item):
                pending += [(f"{key}.{name}", one) for name, one in item.items()][::-1]
            else:
                yield key, item if isinstance(item, dict) else None


def call_of(source: str) -> str:
    """The call that puts out a value of such a name.

    >>> call_of("Tensor.chunk.0.forward.output.1")
    'Tensor.chunk.0.forward'
    """
    return source[: source.rfind(".output")]


PassingCalls: TypeAlias = Mapping[str, PassingCall]
_decoder = msgspec.json.Decoder(dict[str, PassingCall])


def read_passing(path: Path) -> dict[str, PassingCall] | None:
    """The calls without values by name; None where the dump does not tell of them."""
    return read_json(path, _decoder) if path.exists() else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _value(told: Mapping[str, object]) -> object:
    """The value of an argument; a process group has none but its ranks."""
    return told.get("value", told.get("group_ranks"))
