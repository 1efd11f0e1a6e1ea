"""A twin of a training: the same program, whose modules round their outputs otherwise.

Half of the elements of what each innermost module gives are moved by one last bit, others in every
call, and with them what comes back through it: as other kernels of the same formula would do.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map

FOLDER, STEPS, ROUNDS = (f"MSPROBE_TWIN_{what}" for what in ("FOLDER", "STEPS", "ROUNDS"))
"""What `msprobe trend noise` sets for the program that it starts."""
_SEED = 1


@dataclass(frozen=True, slots=True)
class Twin:
    """Trends go below `folder`, and the program ends when `steps` of them are there; `rounds` tells
    whether modules round otherwise.
    """

    folder: Path
    steps: int
    rounds: bool

    @classmethod
    def asked(cls) -> Twin | None:
        """What the environment asks for, if it does."""
        folder = os.environ.get(FOLDER)
        if not folder:
            return None
        return cls(Path(folder), int(os.environ[STEPS]), os.environ[ROUNDS] == "1")

    @property
    def environment(self) -> dict[str, str]:
        """The variables that ask for it."""
        return {
            FOLDER: str(self.folder.absolute()),
            STEPS: str(self.steps),
            ROUNDS: str(int(self.rounds)),
        }

    def place(self, directory: Path) -> Path:
        """Where trends go that the program means to write into a folder."""
        return self.folder / directory.name


@contextmanager
def rounded_otherwise() -> Iterator[None]:
    """All modules' outputs are off in their last bits while this lasts; no other random number is
    drawn than without it.
    """
    drawn = torch.Generator().manual_seed(_SEED)

    def move(module: nn.Module, _args: object, output: Any) -> Any:
        if next(module.children(), None) is not None or torch.compiler.is_compiling():
            return None
        return tree_map(lambda each: _moved(each, drawn), output)

    handle = nn.modules.module.register_module_forward_hook(move)
    try:
        yield
    finally:
        handle.remove()


def _moved(value: object, drawn: torch.Generator) -> object:
    """The value, of which half of the elements are one or two last bits larger.

    1 + eps is the number behind 1, and the product of x with it is rounded to one of the two
    numbers behind x.
    """
    if not isinstance(value, Tensor) or not value.is_floating_point():
        return value
    chosen = torch.rand(value.shape, generator=drawn) < 0.5
    factor = 1 + torch.finfo(value.dtype).eps * chosen.to(value.device, value.dtype)
    return value * factor
