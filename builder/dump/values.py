"""The values of a dump's entries: one flat list with a range per entry.

A value keeps its record as decoded; statistics become arrays only where they are compared.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

import msgspec


class Record(msgspec.Struct, gc=False):
    """A value as dump.json holds it; a tensor when it has a dtype, else an argument."""

    type: str = ""
    dtype: str | None = None
    shape: tuple[int, ...] | None = None
    Max: float | bool | str | None = None
    Min: float | bool | str | None = None
    Mean: float | bool | str | None = None
    Norm: float | bool | str | None = None
    requires_grad: bool | None = None
    data_name: str | None = None
    md5: str | None = None
    value: object = None
    group_ranks: list[int] | None = None


Item: TypeAlias = "Record | list[object] | None"


class Entry(msgspec.Struct, gc=False):
    """A forward or backward entry; absent parts are None."""

    input_args: list[Item] | None = None
    input_kwargs: dict[str, Item] | None = None
    parameters: dict[str, Item] | None = None
    input: list[Item] | None = None
    output: list[Item] | None = None


_to_entry = msgspec.json.Decoder(Entry)
_to_gradients = msgspec.json.Decoder(dict[str, list[Record | list[object] | None]])
_to_object = msgspec.json.Decoder()


@dataclass(slots=True)
class Values:
    """Keys and records of all values, in the order inputs, parameters, outputs per entry."""

    keys: list[str] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)

    def add_entry(self, raw: msgspec.Raw) -> tuple[int, int]:
        """Append the values of a forward or backward entry; returns their range."""
        start = len(self.keys)
        entry = _to_entry.decode(raw)
        if not self._add_flat(entry):
            del self.keys[start:]
            del self.records[start:]
            self._add_nested(_to_object.decode(raw))
        return start, len(self.keys)

    def add_gradients(self, raw: msgspec.Raw) -> tuple[int, int]:
        """Append the values of a parameters_grad entry; returns their range."""
        start = len(self.keys)
        for name, items in _to_gradients.decode(raw).items():
            for item in items:
                self._add(_named("parameters_grad", name), msgspec.to_builtins(item))
        return start, len(self.keys)

    def _add_flat(self, entry: Entry) -> bool:
        """Append an entry whose values are all plain; False when some of them nest."""
        for items, keys in (
            (entry.input_args, _INPUT),
            (entry.input_kwargs, "input"),
            (entry.input, _INPUT),
            (entry.parameters, "parameters"),
            (entry.output, _OUTPUT),
        ):
            if not items:
                continue
            if isinstance(items, dict):
                names: Iterable[str] = [_named(str(keys), name) for name in items]
                content: Iterable[Item] = items.values()
            else:
                names, content = keys, items
                if len(items) > len(keys):
                    return False
            for key, item in zip(names, content, strict=False):
                if type(item) is Record and item.type:
                    self.keys.append(key)
                    self.records.append(item)
                elif item is not None:
                    return False
        return True

    def _add_nested(self, entry: dict[str, object]) -> None:
        for part, role in _ROLES:
            content = entry.get(part)
            if content is not None:
                self._add(role, content)

    def _add(self, key: str, content: object) -> None:
        pending: list[tuple[str, object]] = [(key, content)]
        while pending:
            key, content = pending.pop()
            if isinstance(content, dict) and content.get("type"):
                self.keys.append(key)
                self.records.append(_record(content))
            elif isinstance(content, dict):
                pending += [(f"{key}.{k}", v) for k, v in reversed(content.items())]
            elif isinstance(content, list):
                pending += [(f"{key}.{i}", v) for i, v in reversed(list(enumerate(content)))]
            elif content is not None:
                self.keys.append(key)
                self.records.append(Record(type=type(content).__name__, value=content))


_ROLES = (
    ("input_args", "input"),
    ("input_kwargs", "input"),
    ("input", "input"),
    ("parameters", "parameters"),
    ("output", "output"),
)
_INPUT = tuple(f"input.{position}" for position in range(64))
_OUTPUT = tuple(f"output.{position}" for position in range(64))
_KNOWN = frozenset(Record.__struct_fields__)


@lru_cache(maxsize=4096)
def _named(role: str, name: str) -> str:
    return f"{role}.{name}"


def _record(content: dict[str, object]) -> Record:
    return msgspec.convert({key: v for key, v in content.items() if key in _KNOWN}, Record)
