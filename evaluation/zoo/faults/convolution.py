"""Bugs in a convolutional network: batch norm, pooling, kernels, data."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from evaluation.zoo.experiment import Experiment, images
from evaluation.zoo.fault import Fault, backward, call, module, owner, update


class _ReluStraightThrough(torch.autograd.Function):
    """ReLU whose gradient forgets the mask."""

    @staticmethod
    def forward(context: Any, x: Tensor) -> Tensor:
        del context
        return x.clamp(min=0)

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> Tensor:
        del context
        return gradients[0]


def _norm_evaluates(e: Experiment) -> None:
    e.model.blocks[1].first.bn.eval()


def _norm_momentum(e: Experiment) -> None:
    e.model.blocks[0].second.bn.momentum = 0.9


def _reflect_padding(e: Experiment) -> None:
    conv = e.model.blocks[1].first.conv
    conv.forward = lambda x: functional.conv2d(
        functional.pad(x, (1, 1, 1, 1), mode="reflect"), conv.weight
    )


def _leaky(e: Experiment) -> None:
    e.model.blocks[0].first.activate = lambda x: functional.leaky_relu(x, 0.2)


def _wrong_scaling(e: Experiment) -> None:
    e.model.prepare = lambda x: (x - 0.1) / 0.5


def _residual_missing(e: Experiment) -> None:
    e.model.blocks[2].add = lambda x, branch: branch


def _average_pooling(e: Experiment) -> None:
    e.model.pool = nn.AvgPool2d(2)


def _kernel_transposed(e: Experiment) -> None:
    conv = e.model.blocks[1].second.conv
    with torch.no_grad():
        conv.weight.copy_(conv.weight.transpose(2, 3).clone())


def _other_images_later(e: Experiment) -> None:
    original = e.inputs
    dtype = next(e.model.parameters()).dtype
    e.inputs = lambda step: original(step) if step == 0 else (images(7, (8, 3, 12, 12), dtype),)


def _no_momentum(e: Experiment) -> None:
    e.optimizer.param_groups[0]["momentum"] = 0.0


def _no_clipping(e: Experiment) -> None:
    e.clip = None


def _root_of_negative(e: Experiment) -> None:
    e.model.stem.activate = lambda x: torch.sqrt(x)


def _relu_gradient(e: Experiment) -> None:
    e.model.blocks[0].second.activate = _ReluStraightThrough.apply


FAULTS = (
    Fault(
        "batch norm in evaluation mode", "forward", _norm_evaluates,
        call("blocks.1.first.bn", "Functional.batch_norm"),
    ),
    Fault(
        "batch norm momentum 0.9", "forward", _norm_momentum,
        (
            *call("blocks.0.second.bn", "Functional.batch_norm"),
            *owner("blocks.0.second.bn", "Functional.batch_norm", step=1),
        ),
    ),
    Fault(
        "reflecting padding", "extra", _reflect_padding,
        call("blocks.1.first.conv", "Functional.pad", "Functional.conv2d"),
    ),
    Fault(
        "relu became leaky", "forward", _leaky,
        call("blocks.0.first", "Functional.leaky_relu", "Functional.relu"),
    ),
    Fault("inputs scaled by 0.5", "data", _wrong_scaling, call("", "Tensor.__truediv__")),
    Fault(
        "residual missing", "missing", _residual_missing,
        (*module("blocks.2"), *call("blocks.2", "Tensor.__add__")),
    ),
    Fault(
        "average for maximum pooling", "forward", _average_pooling,
        (*module("pool"), *call("pool", "Functional.avg_pool2d", "Functional.max_pool2d")),
    ),
    Fault(
        "kernel transposed", "parameter", _kernel_transposed,
        owner("blocks.1.second.conv", "Functional.conv2d"),
    ),
    Fault(
        "other images in the second step", "data", _other_images_later,
        call("", "Tensor.__sub__", step=1),
    ),
    Fault(
        "momentum off", "optimizer", _no_momentum,
        # The first step makes the buffers that the second reads.
        (*call("optimizer", "Tensor.detach", "Tensor.clone"), *update(step=1)),
    ),
    Fault(
        "gradient clipping off", "optimizer", _no_clipping,
        (*module("clip_grad"), *call("clip_grad", "*"), *update()),
    ),
    Fault(
        "root of negative numbers", "nan", _root_of_negative,
        call("stem", "Torch.sqrt", "Functional.relu"),
    ),
    Fault(
        "gradient of relu unmasked", "backward", _relu_gradient,
        (
            *module("blocks.0.second"),
            *call("blocks.0.second", "Functional.relu"),
            *backward(module("blocks.0.second")),
            *backward(call("blocks.0.second", "Functional.relu")),
        ),
    ),
)  # fmt: skip
