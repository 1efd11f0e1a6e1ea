"""A small residual network: convolution, batch norm, pooling."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from evaluation.zoo.experiment import Experiment, images, tokens

CHANNELS, CLASSES = 8, 5


class ConvNorm(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int = 1) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(outputs)

    def forward(self, x: Tensor) -> Tensor:
        return self.activate(self.bn(self.conv(x)))

    def activate(self, x: Tensor) -> Tensor:
        return functional.relu(x)


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = ConvNorm(CHANNELS, CHANNELS)
        self.second = ConvNorm(CHANNELS, CHANNELS)

    def forward(self, x: Tensor) -> Tensor:
        return self.add(x, self.second(self.first(x)))

    def add(self, x: Tensor, branch: Tensor) -> Tensor:
        return x + branch


class Convolution(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = ConvNorm(3, CHANNELS)
        self.blocks = nn.Sequential(Residual(), Residual(), Residual())
        self.pool = nn.MaxPool2d(2)
        self.head = nn.Linear(CHANNELS, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        x = self.pool(self.blocks(self.stem(self.prepare(x))))
        return self.head(self.average(x))

    def prepare(self, x: Tensor) -> Tensor:
        return (x - 0.1) / 0.9

    def average(self, x: Tensor) -> Tensor:
        return functional.adaptive_avg_pool2d(x, 1).flatten(1)


def convolution(dtype: torch.dtype) -> Experiment:
    """Image classification with momentum and gradient clipping."""
    model = Convolution().to(dtype)
    return Experiment(
        model=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9),
        inputs=lambda step: (images(step, (8, 3, 12, 12), dtype),),
        labels=lambda step: tokens(step, (8,), CLASSES),
        clip=0.5,
    )
