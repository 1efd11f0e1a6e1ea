"""Turns the recorded arguments of a call back into Python values, tensors left as specifications.

What a dump does not hold (a function, a generator) is recorded as null and comes back as None.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from msprobe_core.format.bounded import parse_literal
from msprobe_core.format.frameworks import DTYPE_TYPES, TENSOR_TYPES, framework_of_tensors


class NotReproducible(Exception):  # noqa: N818 - an outcome: the call becomes a row with its reason
    """A call that the dump does not hold enough of; the text says what is missing."""


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """What the dump says of a tensor; the statistics are None where it has none.

    `requires_grad` is None where dumps of the framework do not say.
    """

    dtype: torch.dtype
    shape: tuple[int, ...]
    maximum: float | None = None
    minimum: float | None = None
    mean: float | None = None
    norm: float | None = None
    requires_grad: bool | None = False
    file: str | None = None
    nan_count: int = 0
    inf_count: int = 0


def decode(record: object) -> object:
    """Containers, scalars and TensorSpecs; raises NotReproducible."""
    if isinstance(record, list):
        return [decode(element) for element in record]
    if not isinstance(record, Mapping):
        return record
    kind = record.get("type")
    if kind in TENSOR_TYPES or (kind is None and "dtype" in record and "shape" in record):
        return _tensor(record)
    if isinstance(kind, str) and "value" in record:
        return _scalar(kind, record["value"])
    if isinstance(kind, str):
        raise NotReproducible(f"an argument of type {kind} is not held by the dump")
    return {str(key): decode(element) for key, element in record.items()}


def _tensor(record: Mapping[str, object]) -> TensorSpec:
    shape, name = record.get("shape"), record.get("data_name")
    return TensorSpec(
        dtype=_dtype(record.get("dtype")),
        shape=tuple(shape) if isinstance(shape, list) else (),
        maximum=_number(record.get("Max")),
        minimum=_number(record.get("Min")),
        mean=_number(record.get("Mean")),
        norm=_number(record.get("Norm")),
        requires_grad=_requires_grad(record),
        file=name if isinstance(name, str) else None,
        nan_count=_count(record.get("nan_count")),
        inf_count=_count(record.get("inf_count")),
    )


def _requires_grad(record: Mapping[str, object]) -> bool | None:
    said = record.get("requires_grad")
    framework = framework_of_tensors(record.get("type"))
    is_told = framework is None or framework.tells_requires_grad
    return None if said is None and not is_told else bool(said)


def _number(value: object) -> float | None:
    if value is None:
        return None
    try:
        return float(value)  # type: ignore[arg-type]  # what is no number raises
    except (TypeError, ValueError):
        return None  # a complex tensor's statistics are text of another kind


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def _dtype(name: object) -> torch.dtype:
    # Other frameworks' are those of PyTorch, some in other letters: Float32, BFloat16, Bool.
    dtype = getattr(torch, str(name).rpartition(".")[2].lower(), None)
    if not isinstance(dtype, torch.dtype):
        raise NotReproducible(f"this torch has no format {name}")
    return dtype


def _scalar(kind: str, value: object) -> object:
    if kind not in _SCALARS:
        raise NotReproducible(f"an argument of type {kind} cannot be made again")
    try:
        return _SCALARS[kind](value)
    except (TypeError, ValueError, SyntaxError) as error:
        raise NotReproducible(f"an argument of type {kind} reads {value!r}") from error


def _integers(value: object) -> list[int | None]:
    parsed = parse_literal(value) if isinstance(value, str) else value
    if not isinstance(parsed, (list, tuple)):
        raise TypeError(value)
    return list(parsed)


def _memory_format(value: object) -> object:
    return getattr(torch, str(value).rpartition(".")[2])


_SCALARS: dict[str, Callable[[Any], object]] = {
    "int": int,
    "float": float,
    "bool": bool,
    "str": str,
    "complex": lambda value: complex(str(value)),
    "slice": lambda value: slice(*_integers(value)),
    "ellipsis": lambda _: ...,
    "torch.Size": lambda value: torch.Size([size or 0 for size in _integers(value)]),
    **dict.fromkeys(DTYPE_TYPES, _dtype),
    "torch.device": lambda value: torch.device(str(value)),
    "torch.memory_format": _memory_format,
}
