"""Controls: the same mathematics, differently rounded; the diagnosis must stay silent."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.checkpoint import checkpoint

from evaluation.zoo.experiment import Experiment
from evaluation.zoo.fault import Change
from evaluation.zoo.faults import TWINS
from evaluation.zoo.models import ARCHITECTURES


def _nothing(_experiment: Experiment) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Setting:
    """How one side computes."""

    dtype: torch.dtype = torch.float32
    onednn: bool = True
    threads: int = 1
    plain_attention: bool = False
    deterministic: bool = False
    change: Change = _nothing
    seed: int = 0  # of the weights, and with them of the data
    sketch: bool = True  # whether its dump holds sketches

    def entered(self) -> AbstractContextManager[object]:
        """The setting in force; for a process that records and then ends."""
        torch.set_num_threads(self.threads)
        torch.use_deterministic_algorithms(self.deterministic)
        stack = ExitStack()
        # The public context manager warns of TF32, which it sets as well.
        torch._C._set_mkldnn_enabled(self.onednn)
        if self.plain_attention:
            stack.enter_context(sdpa_kernel(SDPBackend.MATH))
        return stack


@dataclass(frozen=True, slots=True)
class Control:
    """Two settings of one architecture that must count as equal."""

    name: str
    architecture: str
    problem: Setting
    benchmark: Setting = Setting()


def _nudge_weights(e: Experiment) -> None:
    """Move every weight away from zero to the next number of its format; zeros stay."""
    with torch.no_grad():
        for parameter in e.model.parameters():
            outward = torch.full_like(parameter, torch.inf).copysign(parameter)
            nudged = torch.nextafter(parameter, outward)
            parameter.copy_(torch.where(parameter == 0, parameter, nudged))


def _channels_last(e: Experiment) -> None:
    e.model.to(memory_format=torch.channels_last)


def _foreach(e: Experiment) -> None:
    e.optimizer.param_groups[0]["foreach"] = True


def _checkpointed(e: Experiment) -> None:
    for layer in e.model.layers:
        _checkpoint(layer)


def _checkpoint(layer: nn.Module) -> None:
    original = layer.forward
    layer.forward = lambda *inputs: checkpoint(original, *inputs, use_reentrant=False)


_BF16, _FP64 = Setting(torch.bfloat16), Setting(torch.float64)

CONTROLS = (
    *(Control("other kernels, fp32", name, Setting(onednn=False)) for name in ARCHITECTURES),
    *(
        Control("other kernels, bf16", name, Setting(torch.bfloat16, onednn=False), _BF16)
        for name in ARCHITECTURES
    ),
    *(Control("fp32 against fp64", name, Setting(), _FP64) for name in ARCHITECTURES),
    *(Control("bf16 against fp32", name, _BF16) for name in ARCHITECTURES),
    *(
        Control("weights one ulp up, fp32", name, Setting(change=_nudge_weights))
        for name in ARCHITECTURES
    ),
    Control(
        "weights one ulp up, bf16", "gpt", Setting(torch.bfloat16, change=_nudge_weights), _BF16
    ),
    Control("two threads", "convolution", Setting(threads=2)),
    Control("two threads", "gpt", Setting(threads=2)),
    Control("plain for fused attention", "bert", Setting(plain_attention=True)),
    Control("plain for fused attention", "vision", Setting(plain_attention=True)),
    Control("deterministic algorithms", "mixture", Setting(deterministic=True)),
    Control("channels last", "convolution", Setting(change=_channels_last)),
    Control("foreach optimizer", "gpt", Setting(change=_foreach)),
    Control("activation checkpointing", "gpt", Setting(change=_checkpointed)),
    *(
        Control(
            f"right: {found.name}",
            found.architecture,
            Setting(dtype, onednn=False, change=found.right),
            Setting(dtype),
        )
        for found in TWINS
        for dtype in (torch.float32, torch.bfloat16)
    ),
)
