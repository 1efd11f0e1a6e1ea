"""A convolutional network with channels in front; its port has them last, in weights and values.

Kernels are [height, width, in, out], as other frameworks store them, and applied as products of
windows. What is flattened for the first linear layer stands in another order, so its columns do.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from evaluation.ports.port import Port, taken

CHANNELS, GROUPS, BLOCKS, SIZE, CLASSES, HIDDEN = 16, 4, 2, 8, 7, 32
POOLED = SIZE // 2


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1)
        self.norm = nn.GroupNorm(GROUPS, CHANNELS)
        self.conv2 = nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.conv2(F.silu(self.norm(self.conv1(x))))


class Plain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, CHANNELS, 3, padding=1)
        self.blocks = nn.Sequential(*(Block() for _ in range(BLOCKS)))
        self.fc1 = nn.Linear(CHANNELS * POOLED**2, HIDDEN)
        self.fc2 = nn.Linear(HIDDEN, CLASSES)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(self.blocks(self.stem(images)), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


# --- the port -----------------------------------------------------------------------------------


class Convolution(nn.Module):
    """Windows of [batch, height, width, channels] times a kernel of [height, width, in, out]."""

    def __init__(self, into: int, fault: str | None = None) -> None:
        super().__init__()
        self.kernel = nn.Parameter(torch.zeros(3, 3, into, CHANNELS))
        self.bias = nn.Parameter(torch.zeros(CHANNELS))
        self.fault = fault

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        padded = F.pad(x, (0, 0, 1, 1, 1, 1))
        windows = padded.unfold(1, 3, 1).unfold(2, 3, 1)  # [b, h, w, c, 3, 3]
        order = "bhwcji" if self.fault == "kernel turned" else "bhwcij"
        return torch.einsum(f"{order},ijco->bhwo", windows, self.kernel) + self.bias


class GroupNorm(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.zeros(CHANNELS))
        self.beta = nn.Parameter(torch.zeros(CHANNELS))
        self.groups = GROUPS // 2 if fault == "half the groups" else GROUPS

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        grouped = x.float().unflatten(-1, (self.groups, -1))
        mean = grouped.mean((1, 2, 4), keepdim=True)
        spread = grouped.var((1, 2, 4), keepdim=True, unbiased=False)
        normed = (grouped - mean) / torch.sqrt(spread + 1e-5)
        return normed.flatten(-2).to(x.dtype) * self.gamma + self.beta


class LastBlock(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.first, self.second = Convolution(CHANNELS), Convolution(CHANNELS, fault)
        self.group_norm = GroupNorm(fault)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.group_norm(self.first(x))
        return x + self.second(h * torch.sigmoid(h))


class ChannelsLast(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.entry = Convolution(3)
        self.body = nn.ModuleList(LastBlock(fault if n == 1 else None) for n in range(BLOCKS))
        self.dense = nn.Linear(CHANNELS * POOLED**2, HIDDEN)
        self.classes = nn.Linear(HIDDEN, CLASSES)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = self.entry(images.permute(0, 2, 3, 1))
        for block in self.body:
            x = block(x)
        pooled = x.unflatten(1, (POOLED, 2)).unflatten(3, (POOLED, 2)).amax((2, 4))
        return self.classes(F.relu(self.dense(pooled.flatten(1))))


def _take(new: Convolution, old: nn.Conv2d) -> None:
    assert old.bias is not None
    taken(new.kernel, old.weight.permute(2, 3, 1, 0))
    taken(new.bias, old.bias)


def ported(was: nn.Module, fault: str | None) -> nn.Module:
    assert isinstance(was, Plain)
    port = ChannelsLast(fault).to(was.fc1.weight.dtype)
    _take(port.entry, was.stem)
    for new, old in zip(port.body, was.blocks):
        assert isinstance(new, LastBlock) and isinstance(old, Block)
        _take(new.first, old.conv1)
        _take(new.second, old.conv2)
        taken(new.group_norm.gamma, old.norm.weight)
        taken(new.group_norm.beta, old.norm.bias)
    columns = was.fc1.weight.unflatten(1, (CHANNELS, POOLED, POOLED))
    taken(port.dense.weight, columns.permute(0, 2, 3, 1).flatten(1))
    taken(port.dense.bias, was.fc1.bias)
    port.classes.load_state_dict(was.fc2.state_dict())
    return port


def loss(model: nn.Module) -> torch.Tensor:
    torch.manual_seed(9)
    weight = next(model.parameters())
    images = torch.randn(3, 3, SIZE, SIZE).to(weight.dtype)
    return F.cross_entropy(model(images).float(), torch.tensor([1, 5, 2]))


PORT = Port(
    "channels-last",
    Plain,
    ported,
    loss,
    {"kernel turned": "body.1.second", "half the groups": "body.1.group_norm"},
)
