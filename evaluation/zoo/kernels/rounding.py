"""Controls: every kernel of a run right, and rounded otherwise than in the benchmark.

Each output is computed again in float64 from the same inputs. A faithful kernel returns one of
the two neighbours of that result in its format, and the result itself where the format has it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

import torch
from torch import Tensor
from torch.utils._pytree import tree_map_only

from evaluation.zoo.experiment import Experiment
from evaluation.zoo.kernels.watch import PRODUCTS, KernelWatch, Site, floating

Rounding = Literal["nearest", "either neighbour", "toward zero", "other order"]
ROUNDINGS: tuple[Rounding, ...] = get_args(Rounding)
_BITS = {torch.float32: torch.int32, torch.bfloat16: torch.int16, torch.float16: torch.int16}
# A choice made in float64 is another one; memory of float64 handed to a kernel is not its own.
_AS_THEY_ARE = ("topk", "sort", "max_pool", "nonzero", "native_batch_norm", "index_put")


class OtherRounding(KernelWatch):
    """Rounds each kernel's output otherwise; `again` counts those that it could compute again."""

    def __init__(self, experiment: Experiment, rounding: Rounding, seed: int) -> None:
        super().__init__(experiment)
        self._rounding = rounding
        self._random = torch.Generator().manual_seed(seed)
        self.again = 0

    def before(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The inputs in float64, which no kernel writes into."""
        return tree_map_only(Tensor, _widened, (args, kwargs))

    def computed(
        self,
        site: Site,
        kernel: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        outputs: list[Tensor],
    ) -> None:
        """Replace what the kernel has written by the same, computed and rounded otherwise."""
        if site.operator.startswith(_AS_THEY_ARE):
            return
        if self._rounding == "other order":
            self._reorder(site, args, kwargs, kernel, outputs)
            return
        exacts = _exact(kernel, args, kwargs) or outputs
        for output, exact in zip(outputs, exacts, strict=True):
            if exact.shape == output.shape and output.dtype in _BITS:
                output.copy_(self._rounded(exact, output.dtype))
                self.again += 1

    def _reorder(
        self,
        site: Site,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        kernel: Callable[..., Any],
        outputs: list[Tensor],
    ) -> None:
        """Products summed from the last term to the first, in the format of the run."""
        if site.operator not in PRODUCTS:
            return
        left, right = PRODUCTS[site.operator]
        turned = list(args)
        turned[left], turned[right] = args[left].flip(-1), args[right].flip(-2)
        own = [a.to(outputs[0].dtype) if isinstance(a, Tensor) else a for a in turned]
        outputs[0].copy_(kernel(*own, **kwargs))
        self.again += 1

    def _rounded(self, exact: Tensor, dtype: torch.dtype) -> Tensor:
        nearest = exact.to(dtype)
        if self._rounding == "nearest":
            return nearest
        beyond = nearest.double().abs() > exact.abs()
        if self._rounding == "toward zero":
            return torch.where(beyond, _neighbour(nearest, -1), nearest)
        other = torch.where(beyond, _neighbour(nearest, -1), _neighbour(nearest, 1))
        taken = torch.rand(exact.shape, generator=self._random) < 0.5
        keep = (nearest.double() == exact) | ~exact.isfinite() | ~other.isfinite()
        return torch.where(taken & ~keep, other, nearest)


def _neighbour(values: Tensor, outward: int) -> Tensor:
    """The next number of the format, away from zero or towards it; zeros stay."""
    bits = values.contiguous().view(_BITS[values.dtype])
    return torch.where(values == 0, values, (bits + outward).view(values.dtype))


def _widened(tensor: Tensor) -> Tensor:
    return tensor.double() if tensor.is_floating_point() else tensor.clone()


def _exact(
    kernel: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[Tensor]:
    if "dtype" in kwargs:
        kwargs = kwargs | {"dtype": torch.float64}
    try:
        result = kernel(*args, **kwargs)
    except RuntimeError:  # kernels that know no float64 stay as they are
        return []
    if result is None:
        result = args[0]
    return floating(result)
