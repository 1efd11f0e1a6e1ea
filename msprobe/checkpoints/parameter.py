"""One parameter of a saved model, and the saved model: names and shapes now, values when asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import torch

Layout = Literal["megatron", "safetensors", "state_dict", "dcp", "torch_dist"]


def _nothing() -> None:
    """What a layout has to give back that maps no file."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """Shape (elements a dimension) and dtype of a whole, unsharded parameter.

    `read` brings its values into memory each time it is called; nobody keeps what it returns.
    `release` is called when they are no longer needed: it gives back what was mapped for them.
    """

    name: str
    shape: tuple[int, ...]
    dtype: torch.dtype
    read: Callable[[], torch.Tensor]
    release: Callable[[], None] = _nothing

    @property
    def numel(self) -> int:
        """Number of elements."""
        count = 1
        for size in self.shape:
            count *= size
        return count


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A saved model.

    `renamed` holds the same values under the names of other families of models, by the family,
    where the layout knows them.
    `notes` are sentences about what could not be taken as it stands; reading may add some.
    `left_out` names the tensors that were taken for no weights.
    """

    path: Path
    layout: Layout
    parameters: dict[str, Parameter]
    renamed: dict[str, dict[str, Parameter]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
