"""MindSpore as the lifecycle sees it: rank, cells, and the recorder of a step."""

from __future__ import annotations

import os

import mindspore
from mindspore import communication, nn

from msprobe_core.capture.stacks import StackBook
from msprobe_core.capture.step_recording import StepRecording
from msprobe_core.config import Config
from msprobe_core.errors import ConfigError, LifecycleError
from msprobe_core.mindspore.mindspore_recording import open_recording

_UNAVAILABLE = {
    "slice": "parts of tensors",
    "request_id": "single requests",
    "load": "inputs of an earlier dump",
    "graft": "values of an earlier dump",
}


class MindSporeFramework:
    """Opens steps that record MindSpore's dynamic graph."""

    def close(self) -> None:
        """Nothing stays on a model between steps."""

    def rank(self) -> int | None:
        """The rank in `mindspore.communication`, None when there is none (yet)."""
        return int(communication.get_rank()) if communication.GlobalComm.INITED else None

    def is_module(self, value: object) -> bool:
        """Whether a value is one cell."""
        return isinstance(value, nn.Cell)

    def open_step(
        self, config: Config, step: int, rank: int | None, stacks: StackBook
    ) -> StepRecording:
        """Begin a step. Raises OSError when its folder cannot be made.

        Raises LifecycleError in graph mode: a static graph runs below Python.
        """
        if config.level == "L2":
            raise LifecycleError(
                "level L2 has MindSpore dump kernels and records no value of a script's own; set "
                "level debug for debugger.save"
            )
        if in_graph_mode():
            raise LifecycleError(
                f"level {config.level} records MindSpore's dynamic graph, and the mode is "
                "GRAPH_MODE; call mindspore.set_context(mode=mindspore.PYNATIVE_MODE), or set "
                "level L2, which has MindSpore dump the kernels of the static graph"
            )
        return open_recording(config, step, rank, stacks)


def check_available(config: Config) -> None:
    """Raise ConfigError for settings that are PyTorch's alone."""
    for name, what in _UNAVAILABLE.items():
        if getattr(config, name):
            raise ConfigError(f"{name}: {what} are recorded of PyTorch only", "remove it")
    if config.precision == "high":
        raise ConfigError(
            "precision is 'high', which is for PyTorch only",
            "remove it: sums are always taken in float64",
        )


def in_graph_mode() -> bool:
    """Whether cells are compiled whole."""
    mode = mindspore.get_context("mode")
    return bool(mode == mindspore.GRAPH_MODE and os.getenv("MS_JIT") != "0")
