"""Draws a tensor of which all recorded statistics hold: maximum, minimum, mean and norm.

A beta distribution between minimum and maximum has the mean and the variance that the statistics
ask for; it is U-shaped for masks, even for uniform data and narrow where few elements lie far out.
"""

from __future__ import annotations

import math

import torch

from msprobe.acc_check.values import TensorSpec

_ROUNDS = 12
_IGNORED = -100  # the label that losses leave out
_INFINITE_SHARE = 4
_MASK = 1e-3  # by how much less than the most that is possible a mask may vary


def draw(spec: TensorSpec, seed: int) -> torch.Tensor:
    """A tensor of the recorded format and shape on the CPU; equal seeds give equal tensors."""
    generator = torch.Generator().manual_seed(seed)
    count = math.prod(spec.shape)
    if spec.dtype == torch.bool:
        flat = _booleans(spec, count, generator)
    elif spec.dtype.is_complex:
        flat = _complex(spec, count, generator)
    elif spec.dtype.is_floating_point:
        flat = _floats(spec, count, generator)
    else:
        flat = _integers(spec, count, generator)
    return flat.to(spec.dtype).reshape(spec.shape)


def _booleans(spec: TensorSpec, count: int, generator: torch.Generator) -> torch.Tensor:
    if spec.minimum is not None and spec.minimum == spec.maximum:
        return torch.full((count,), bool(spec.minimum))
    flat = torch.rand(count, generator=generator) < 0.5
    if spec.minimum is not None and count > 1:
        _plant(flat, [False, True], generator)
    return flat


def _integers(spec: TensorSpec, count: int, generator: torch.Generator) -> torch.Tensor:
    info = torch.iinfo(spec.dtype)
    low = int(spec.minimum) if spec.minimum is not None else 0
    high = int(spec.maximum) if spec.maximum is not None else max(low, 1)
    low, high = max(low, info.min), min(high, info.max)
    floor = 0 if low == _IGNORED and high >= 0 else low
    flat = torch.randint(floor, high, (count,), generator=generator) if high > floor else None
    if flat is None:
        flat = torch.full((count,), floor)
    else:
        flat += torch.rand(count, generator=generator) < 0.5  # randint leaves out its upper end
    _plant(flat, [low, high], generator)
    return flat


def _complex(spec: TensorSpec, count: int, generator: torch.Generator) -> torch.Tensor:
    # A dump has statistics of a complex tensor's parts at best, so only their size is kept.
    scale = 1.0
    if spec.norm is not None and math.isfinite(spec.norm) and count:
        scale = spec.norm / math.sqrt(count)
    parts = torch.randn((count, 2), generator=generator, dtype=torch.float64) * scale / math.sqrt(2)
    return torch.view_as_complex(parts)


def _floats(spec: TensorSpec, count: int, generator: torch.Generator) -> torch.Tensor:
    low, high = _finite_range(spec)
    mean, norm = _finite(spec.mean), _finite(spec.norm)
    if count == 0:
        return torch.empty(0, dtype=torch.float64)
    if low == high:
        flat = torch.full((count,), low, dtype=torch.float64)
    elif mean is None or norm is None:
        flat = _uniform(low, high, count, generator)
    else:
        flat = _with_moments(low, high, mean, norm * norm / count, count, generator)
    _plant_nonfinite(flat, spec, generator)
    return flat


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _finite_range(spec: TensorSpec) -> tuple[float, float]:
    low, high = _finite(spec.minimum), _finite(spec.maximum)
    if low is None and high is None:
        return -1.0, 1.0
    if low is None:
        assert high is not None
        return min(-1.0, high - 1.0), high
    return low, high if high is not None else max(1.0, low + 1.0)


def _uniform(low: float, high: float, count: int, generator: torch.Generator) -> torch.Tensor:
    flat = torch.rand(count, generator=generator, dtype=torch.float64) * (high - low) + low
    _plant(flat, [low, high], generator)
    return flat


def _with_moments(
    low: float, high: float, mean: float, square: float, count: int, generator: torch.Generator
) -> torch.Tensor:
    """`square` is the mean square; the extremes stand at random places, the others are adjusted."""
    span = high - low
    middle = min(max((mean - low) / span, 0.0), 1.0)
    variance = max(square - mean * mean, 0.0) / span**2
    if variance >= middle * (1 - middle) * (1 - _MASK):
        return _mask(low, high, round(middle * count), count, generator)
    flat = low + span * _beta(middle, variance, count, generator)
    if count <= 2:
        _plant(flat, [low, high], generator)
        return flat
    places = torch.randperm(count, generator=generator)
    flat[places[0]], flat[places[1]] = low, high
    rest = places[2:]
    wanted_mean = (mean * count - low - high) / (count - 2)
    wanted_square = (square * count - low * low - high * high) / (count - 2)
    flat[rest] = _adjusted(flat[rest], (low, high), wanted_mean, wanted_square)
    return flat


def _mask(
    low: float, high: float, raised: int, count: int, generator: torch.Generator
) -> torch.Tensor:
    """All elements at one end or the other."""
    flat = torch.full((count,), low, dtype=torch.float64)
    chosen = min(max(raised, 1), count - 1) if count > 1 else 0
    flat[torch.randperm(count, generator=generator)[:chosen]] = high
    return flat


def _beta(middle: float, variance: float, count: int, generator: torch.Generator) -> torch.Tensor:
    largest = middle * (1 - middle)
    strength = largest / max(variance, 1e-12 * largest) - 1
    parts = [
        torch._standard_gamma(
            torch.full((count,), max(share * strength, 1e-6), dtype=torch.float64), generator
        )
        for share in (middle, 1 - middle)
    ]
    return torch.nan_to_num(parts[0] / (parts[0] + parts[1]), nan=middle)


def _adjusted(
    values: torch.Tensor, bounds: tuple[float, float], mean: float, square: float
) -> torch.Tensor:
    """Shift and stretch until mean and mean square hold; what leaves the range is cut."""
    spread = math.sqrt(max(square - mean * mean, 0.0))
    for _ in range(_ROUNDS):
        centred = values - values.mean()
        deviation = float(centred.square().mean().sqrt())
        stretch = spread / deviation if deviation > 0 else 0.0
        values = (mean + centred * stretch).clamp(*bounds)
    return values


def _plant(flat: torch.Tensor, values: list[float], generator: torch.Generator) -> None:
    places = torch.randperm(flat.numel(), generator=generator)
    for place, value in zip(places.tolist(), values):
        flat[place] = value


def _plant_nonfinite(flat: torch.Tensor, spec: TensorSpec, generator: torch.Generator) -> None:
    """NaN and infinities where the extremes say that there were some, never in a whole row."""
    kinds = [
        value
        for value in (spec.minimum, spec.maximum)
        if value is not None and not math.isfinite(value)
    ]
    for kind in dict.fromkeys("nan" if math.isnan(value) else str(value) for value in kinds):
        known = spec.nan_count if kind == "nan" else spec.inf_count
        count = known or (1 if kind == "nan" else max(1, flat.numel() // _INFINITE_SHARE))
        allowed = _not_first_of_row(flat.numel(), spec.shape)
        chosen = allowed[torch.randperm(allowed.numel(), generator=generator)[:count]]
        flat[chosen] = float(kind)


def _not_first_of_row(count: int, shape: tuple[int, ...]) -> torch.Tensor:
    places = torch.arange(count)
    row = shape[-1] if shape else 1
    return places[places % row != 0] if row > 1 else places
