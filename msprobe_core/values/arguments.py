"""Arguments and results of a call as JSON text: containers, scalars, groups, tensors.

Text is appended as fragments; a fragment may be a record that is still on a device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import torch

from msprobe_core.values.groups import group_text, is_group, is_p2p_op, p2p_op_fields
from msprobe_core.values.tensors import PendingTensor, TensorBook
from msprobe_core.values.text import number, quoted, typed

Fragment = str | PendingTensor
_DEEPEST = 12


class ArgumentWriter:
    """Appends the JSON text of values to a list of fragments."""

    def __init__(self, book: TensorBook) -> None:
        self._book = book
        self._depth = 0

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
        if isinstance(value, torch.Tensor):
            out.append(self._book.record(value, path, key))
            return
        plain = _SCALARS.get(type(value))
        if plain is not None:
            out.append(plain(value))
        elif isinstance(value, (list, tuple, Mapping)) and not isinstance(value, torch.Size):
            self._nested(value, f"{path}.{key}", out)
        elif is_p2p_op(value):
            self._p2p_op(value, f"{path}.{key}", out)
        elif is_dataclass(value) and not isinstance(value, type):
            members = {member.name: getattr(value, member.name, None) for member in fields(value)}
            self._nested(members, f"{path}.{key}", out)
        else:
            out.append(_other(value))

    def _nested(self, values: Iterable[object], path: str, out: list[Fragment]) -> None:
        if self._depth == _DEEPEST:  # deeper means a container that holds itself
            out.append("null")
            return
        self._depth += 1
        if isinstance(values, Mapping):
            self.mapping({str(key): value for key, value in values.items()}, path, out)
        else:
            self.sequence(tuple(values), path, out)
        self._depth -= 1

    def _p2p_op(self, op: object, path: str, out: list[Fragment]) -> None:
        out.append('{"class_type": "torch.distributed.P2POp", "tensor": ')
        self.value(getattr(op, "tensor", None), path, "tensor", out)
        out.append(f", {p2p_op_fields(op)}}}")


def _other(value: object) -> str:
    if isinstance(value, torch.Size):
        return typed("torch.Size", str(list(value)))
    if is_group(value):
        return group_text(value)
    for kind, plain in _SCALARS.items():
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
    torch.dtype: lambda value: typed("torch.dtype", quoted(str(value))),
    torch.device: lambda value: typed("torch.device", quoted(str(value))),
    torch.memory_format: lambda value: typed("torch.memory_format", quoted(str(value))),
}
