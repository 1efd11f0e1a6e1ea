"""Arguments and results of a call as JSON text: containers, scalars, and a framework's values.

Text is appended as fragments; a fragment may be a record that is still on a device.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple, Protocol

from msprobe_core.values.text import number, quoted, typed

_DEEPEST = 12
Scalars = Mapping[type, Callable[[Any], str]]


class PendingRecord(Protocol):
    """A record whose numbers are read later; its text is right once they are."""

    @property
    def abnormal(self) -> bool: ...

    def __str__(self) -> str: ...


Fragment = str | PendingRecord


class Enclosed(NamedTuple):
    """A value that holds another: the text before it, its key, itself, and the text after."""

    before: str
    key: str
    value: object
    after: str


class Records(Protocol):
    """What a framework knows of its own values."""

    tensor_type: type
    scalars: Scalars

    def record(self, tensor: Any, path: str, key: object = None) -> Fragment:  # noqa: ANN401 - a tensor of either framework
        """The record of a tensor at `path`, or at `path.key`; never raises."""
        ...

    def special(self, value: object) -> str | Enclosed | None:
        """A value that is neither tensor, scalar nor container, such as a process group."""
        ...


class _Nesting(threading.local):
    depth = 0
    """How deep in containers a thread is; several may write at once."""


class ArgumentWriter:
    """Appends the JSON text of values to a list of fragments."""

    def __init__(self, records: Records) -> None:
        self._records, self._tensor = records, records.tensor_type
        self._scalars: Scalars = {**_SCALARS, **records.scalars}
        self._nesting = _Nesting()

    def sequence(self, values: Sequence[object], path: str, out: list[Fragment]) -> None:
        """A JSON list; element n stands at `<path>.<n>`."""
        out.append("[")
        for position, value in enumerate(values):
            if position:
                out.append(", ")
            self.value(value, path, position, out)
        out.append("]")

    def mapping(self, values: Mapping[str, object], path: str, out: list[Fragment]) -> None:
        """A JSON object; element k stands at `<path>.<k>`."""
        out.append("{")
        for position, (key, value) in enumerate(values.items()):
            out.append(f"{', ' if position else ''}{quoted(str(key))}: ")
            self.value(value, path, key, out)
        out.append("}")

    def value(self, value: object, path: str, key: object, out: list[Fragment]) -> None:
        """One value, which stands at `<path>.<key>`."""
        if isinstance(value, self._tensor):
            out.append(self._records.record(value, path, key))
            return
        plain = self._scalars.get(type(value))
        if plain is not None:
            out.append(plain(value))
        elif isinstance(value, (list, tuple, Mapping)):
            self._nested(value, f"{path}.{key}", out)
        else:
            self._other(value, f"{path}.{key}", out)

    def _other(self, value: object, path: str, out: list[Fragment]) -> None:
        special = self._records.special(value)
        if isinstance(special, str):
            out.append(special)
        elif special is not None:
            out.append(special.before)
            self.value(special.value, path, special.key, out)
            out.append(special.after)
        elif is_dataclass(value) and not isinstance(value, type):
            members = {member.name: getattr(value, member.name, None) for member in fields(value)}
            self._nested(members, path, out)
        else:
            out.append(self._scalar(value))

    def _nested(self, values: Iterable[object], path: str, out: list[Fragment]) -> None:
        if self._nesting.depth == _DEEPEST:  # deeper means a container that holds itself
            out.append("null")
            return
        self._nesting.depth += 1
        try:
            if isinstance(values, Mapping):
                self.mapping({str(key): value for key, value in values.items()}, path, out)
            else:
                self.sequence(tuple(values), path, out)
        finally:
            self._nesting.depth -= 1

    def _scalar(self, value: object) -> str:
        for kind, plain in self._scalars.items():  # such as an enumeration of integers
            if isinstance(value, kind):
                return plain(value)
        return "null"


def _slice(value: object) -> str:
    assert isinstance(value, slice)
    bounds = [
        part if isinstance(part, int) else None for part in (value.start, value.stop, value.step)
    ]
    return typed("slice", "[" + ", ".join(number(bound) for bound in bounds) + "]")


def _complex(value: object) -> str:
    assert isinstance(value, complex)
    return typed("complex", quoted(str(value)))


_SCALARS: dict[type, Callable[[Any], str]] = {
    type(None): lambda _: "null",
    bool: lambda value: typed("bool", "true" if value else "false"),
    int: lambda value: typed("int", int.__repr__(value)),
    float: lambda value: typed("float", number(value)),
    str: lambda value: typed("str", quoted(value)),
    complex: _complex,
    slice: _slice,
    type(...): lambda _: typed("ellipsis", '"..."'),
}
