"""The first NaN or infinity among the statistics of an entry's tensors."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

_STATISTICS = ("Max", "Min", "Mean", "Norm")
_ROOT = 1.8446742974197924e19  # of the largest number of float32
_TEXTS = frozenset({"nan", "inf", "-inf", "NaN", "Infinity", "-Infinity"})
_ROLES = (
    ("input_args", "input"),
    ("input_kwargs", "input"),
    ("input", "input"),
    ("parameters", "parameters"),
    ("output", "output"),
)


@dataclass(frozen=True, slots=True)
class NonFinite:
    """A value by its full name (`<entry>.output.0`) and the statistic that shows it."""

    entry: str
    value: str
    statistic: str
    number: str


def first_nonfinite(name: str, entry: object) -> NonFinite | None:
    """Inputs come before parameters and outputs; scalars, as the fill of a mask, do not count."""
    if not isinstance(entry, dict):
        return None
    parts = [(f"{name}.{role}", entry.get(part)) for part, role in _ROLES]
    if "parameters_grad" in name:
        parts = [(f"{name}.{key}", content) for key, content in entry.items()]
    pending = parts[::-1]
    while pending:
        path, item = pending.pop()
        if isinstance(item, list):
            pending += [(f"{path}.{n}", each) for n, each in reversed(list(enumerate(item)))]
        elif isinstance(item, dict) and "dtype" in item:
            statistic = _statistic(item)
            if statistic is not None:
                return NonFinite(name, path, *statistic)
        elif isinstance(item, dict) and "type" not in item:
            pending += [(f"{path}.{key}", each) for key, each in reversed(item.items())]
    return None


def _statistic(tensor: dict[str, object]) -> tuple[str, str] | None:
    masked = _holds_huge_elements(tensor)
    for name in _STATISTICS[:2] if masked else _STATISTICS:
        number = tensor.get(name)
        if (isinstance(number, float) and not isfinite(number)) or number in _TEXTS:
            return name, str(number).lower().replace("infinity", "inf")
    return None


def _holds_huge_elements(tensor: dict[str, object]) -> bool:
    """Whether the extremes are finite and float32 cannot hold the sum of their squares."""
    extremes = [tensor.get("Max"), tensor.get("Min")]
    numbers = [abs(each) for each in extremes if isinstance(each, (int, float))]
    return len(numbers) == 2 and all(map(isfinite, numbers)) and max(numbers) > _ROOT
