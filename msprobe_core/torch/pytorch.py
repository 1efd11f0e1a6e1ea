"""PyTorch as the lifecycle sees it: rank, modules, and the recorder of a step."""

from __future__ import annotations

import torch

from msprobe_core.capture.stacks import StackBook
from msprobe_core.config import Config
from msprobe_core.torch.rank import current_rank
from msprobe_core.torch.recorder import StepRecorder
from msprobe_core.torch.watch.custom_functions import CustomApis


class TorchFramework:
    """Opens steps that record PyTorch; `custom` are the functions that the user registered."""

    def __init__(self) -> None:
        self.custom = CustomApis()

    def rank(self) -> int | None:
        """The rank in torch.distributed, None when there is none (yet)."""
        return current_rank()

    def is_module(self, value: object) -> bool:
        """Whether a value is one module of torch."""
        return isinstance(value, torch.nn.Module)

    def open_step(
        self, config: Config, step: int, rank: int | None, stacks: StackBook
    ) -> StepRecorder:
        """Begin a step. Raises OSError when its folder cannot be made."""
        return StepRecorder(config, step, rank, self.custom, stacks)
