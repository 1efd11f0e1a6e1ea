"""How far each element of a correct result may lie from the exact one.

`tolerance = eps |exact| + 4 deviation + smallest number of the format`, where `deviation` is the
largest that runs of the reference under random rounding show for that element. Few samples pass
most results; a result that they do not explain is judged again with more, with the operators taken
apart, and at last as if they rounded in between, which is worth a warning.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from msprobe.acc_check.framework import Results
from msprobe.acc_check.rounding import Format, Rounding

FACTOR = 4.0
COARSE = 4  # the last level
_KINDS = ("outputs", "changed", "gradients")
_EXACTLY = Format(0.0, 0.0)
_SAME = 1e-9
FIRST_SAMPLES, MORE_SAMPLES = 3, 8
Kind = str  # "outputs", "changed" or "gradients" of Results
Sample = Callable[[Rounding], Results]


def unit(dtype: torch.dtype) -> float:
    """Half a unit in the last place, relative; 0 for what is no floating format."""
    if not (dtype.is_floating_point or dtype.is_complex):
        return 0.0
    return float(torch.finfo(dtype).eps) / 2


def call_format(dtypes: list[torch.dtype], *, shortens: tuple[float, float]) -> Format:
    """The format that a call stores in: the coarsest of its floating inputs and outputs.

    16-bit formats and narrower ones are summed in float32. `shortens` are the units to which the
    device rounds the inputs of products of matrices and of convolutions in float32.
    """
    floating = [dtype for dtype in dtypes if unit(dtype)]
    coarsest = max(floating, key=unit, default=None)
    if coarsest is None:
        return Format(0.0, 0.0, *shortens)
    store, normal = unit(coarsest), float(torch.finfo(coarsest).tiny)
    return Format(store, min(store, unit(torch.float32)), *shortens, normal)


class Deviation:
    """Draws samples as they are asked for; `exact` is the unperturbed wide run.

    Each level holds the samples of those before it: 1 few samples, 2 more, 3 with the operators
    taken apart, 4 as if all but products and sums of matrices rounded to the format of the call in
    between. Level 0 is none.
    """

    def __init__(
        self,
        exact: Results,
        sample: Sample,
        format: Format,
        terms: list[tuple[str, int]],
        seed: int,
    ) -> None:
        self.exact = exact
        self._sample = sample
        self._format = format
        self._terms = terms
        self._seed = seed
        self._drawn = 0
        self._levels: list[dict[tuple[Kind, str], torch.Tensor]] = [{}]

    def of(self, kind: Kind, path: str, level: int) -> torch.Tensor | None:
        """The largest deviation of each element of a value, None where nothing was measured."""
        while len(self._levels) <= level:
            self._levels.append(self._with_level(len(self._levels)))
        return self._levels[level].get((kind, path))

    def _with_level(self, level: int) -> dict[tuple[Kind, str], torch.Tensor]:
        largest = dict(self._levels[-1])
        if level == 3 and not self._parts_agree():
            return largest
        for _ in range(FIRST_SAMPLES if level == 1 else MORE_SAMPLES):
            self._drawn += 1
            sample = self._run(self._format, self._seed + self._drawn, level)
            for key, distance in _distances(self.exact, sample).items():
                known = largest.get(key)
                largest[key] = distance if known is None else torch.fmax(known, distance)
        return largest

    def _run(self, format: Format, seed: int, level: int) -> Results | None:
        rounding = Rounding(format, seed, self._terms, in_parts=level == 3, coarse=level == 4)
        try:
            return self._sample(rounding)
        except Exception:  # a perturbed input that the call refuses tells nothing
            return None

    def _parts_agree(self) -> bool:
        """Whether the operators taken apart compute the same: not all of torch's parts do."""
        distances = _distances(self.exact, self._run(_EXACTLY, self._seed, 3))
        return bool(distances) and all(
            float(distance.nan_to_num(posinf=0.0).max()) <= _SAME * _size(self.exact, key)
            for key, distance in distances.items()
            if distance.numel()
        )


def _distances(exact: Results, other: Results | None) -> dict[tuple[Kind, str], torch.Tensor]:
    """How far each element of each floating value lies from the exact one."""
    distances: dict[tuple[Kind, str], torch.Tensor] = {}
    for kind in _KINDS if other is not None else ():
        for path, value in getattr(exact, kind).items():
            sample = getattr(other, kind).get(path)
            tensors = isinstance(value, torch.Tensor) and isinstance(sample, torch.Tensor)
            if tensors and value.shape == sample.shape and _is_float(value):
                distances[kind, path] = (sample - value).abs().double()
    return distances


def _size(results: Results, key: tuple[Kind, str]) -> float:
    value: torch.Tensor = getattr(results, key[0])[key[1]]
    return float(value.abs().double().nan_to_num(posinf=0.0).max())


def tolerance(
    exact: torch.Tensor, dtype: torch.dtype, deviation: torch.Tensor | None
) -> torch.Tensor:
    """The tolerance of each element (float64) of a result of the format `dtype`.

    An element whose samples are not finite has no tolerance: any value is explained.
    """
    info = torch.finfo(dtype)
    smallest = info.tiny * info.eps
    allowed = 2 * unit(dtype) * exact.abs().double() + smallest
    if deviation is not None:
        allowed = allowed + FACTOR * torch.nan_to_num(deviation, nan=math.inf)
    return allowed


def _is_float(tensor: torch.Tensor) -> bool:
    return tensor.dtype.is_floating_point or tensor.dtype.is_complex
