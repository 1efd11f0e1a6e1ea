"""PyTorch as the lifecycle sees it: rank, modules, and the recorder of a step."""

from __future__ import annotations

import torch

from msprobe_core.capture.stacks import StackBook
from msprobe_core.capture.step_recording import StepRecording
from msprobe_core.config import Config
from msprobe_core.errors import LifecycleError
from msprobe_core.report import say
from msprobe_core.torch.graph.graph_capture import GraphCapture
from msprobe_core.torch.graph.graph_recorder import GraphStepRecorder, new_capture
from msprobe_core.torch.intervene.graft import Graft
from msprobe_core.torch.intervene.isolation import Isolation
from msprobe_core.torch.rank import current_rank
from msprobe_core.torch.torch_recording import open_recording
from msprobe_core.torch.watch.custom_functions import CustomApis


class TorchFramework:
    """Opens steps that record PyTorch; `custom` are the functions that the user registered."""

    def __init__(self) -> None:
        self.custom = CustomApis()
        self._has_loaded = False
        self._graphs: GraphCapture | None = None

    def close(self) -> None:
        """Take off what stays on a model between steps."""
        if self._graphs is not None:
            self._graphs.close()
            self._graphs = None

    def rank(self) -> int | None:
        """The rank in torch.distributed, None when there is none (yet)."""
        return current_rank()

    def is_module(self, value: object) -> bool:
        """Whether a value is one module of torch."""
        return isinstance(value, torch.nn.Module)

    def open_step(
        self, config: Config, step: int, rank: int | None, stacks: StackBook
    ) -> StepRecording | GraphStepRecorder:
        """Begin a step. Raises OSError when its folder cannot be made.

        Raises LifecycleError when the first step finds nothing to load; a later one only says so.
        """
        if config.capture == "graph":
            if self._graphs is None:
                self._graphs = new_capture(config)
            return GraphStepRecorder(config, step, rank, self._graphs)
        isolation = self._isolation(config, step, rank)
        graft = None if config.graft is None else Graft(config.graft, step, rank)
        return open_recording(config, step, rank, stacks, self.custom, isolation, graft)

    def _isolation(self, config: Config, step: int, rank: int | None) -> Isolation | None:
        if config.load is None:
            return None
        try:
            isolation = Isolation(config.load, step, rank)
        except LifecycleError as error:
            if not self._has_loaded:
                raise
            say(f"step {step} runs on its own inputs: {error}")
            return None
        self._has_loaded = True
        return isolation
