"""A convolutional network with batch norms; in its port they are folded into the convolutions."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from evaluation.ports.port import Port, taken

CHANNELS, BLOCKS, CLASSES = 16, 3, 5


class Unit(nn.Module):
    def __init__(self, given: int, made: int, stride: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(given, made, 3, stride, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(made)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.bn(self.conv(x)))


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = (Unit(CHANNELS, CHANNELS, 1) for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.second(self.first(x))


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = Unit(3, CHANNELS, 2)
        self.blocks = nn.Sequential(*(Residual() for _ in range(BLOCKS)))
        self.fc = nn.Linear(CHANNELS, CLASSES)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.fc(self.blocks(self.stem(images)).mean((2, 3)))


def original() -> nn.Module:
    """In use, as folding asks; what the norms know of their inputs is drawn."""
    network = Network().eval()
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.running_mean, -0.5, 0.5)
            nn.init.uniform_(module.running_var, 0.3, 2.0)
    return network


# --- the port -----------------------------------------------------------------------------------


class Folded(nn.Module):
    def __init__(self, given: int, made: int, stride: int, slope: float = 0.0) -> None:
        super().__init__()
        self.conv = nn.Conv2d(given, made, 3, stride, padding=1)
        self.slope = slope

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.conv(x)
        return F.leaky_relu(x, self.slope) if self.slope else x.clamp(min=0)


class Block(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.c1 = Folded(CHANNELS, CHANNELS, 1)
        self.c2 = Folded(CHANNELS, CHANNELS, 1, 0.2 if fault == "leaky" else 0.0)
        self.fault = fault

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        made = self.c2(self.c1(x))
        return made if self.fault == "no residual" else made + x


class FoldedNetwork(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.entry = Folded(3, CHANNELS, 2)
        self.body = nn.ModuleList(Block(fault if n == 1 else None) for n in range(BLOCKS))
        self.head = nn.Linear(CHANNELS, CLASSES)
        self.fault = fault

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = self.entry(images)
        for block in self.body:
            x = block(x)
        pooled = x.amax((2, 3)) if self.fault == "largest pooled" else x.mean((2, 3))
        return self.head(pooled)


def _fold(folded: Folded, unit: Unit, epsilon: float) -> None:
    bn = unit.bn
    assert bn.running_var is not None and bn.running_mean is not None
    scale = bn.weight * torch.rsqrt(bn.running_var + epsilon)
    taken(folded.conv.weight, unit.conv.weight * scale[:, None, None, None])
    assert folded.conv.bias is not None
    taken(folded.conv.bias, bn.bias - bn.running_mean * scale)


def ported(was: nn.Module, fault: str | None) -> nn.Module:
    assert isinstance(was, Network)
    port = FoldedNetwork(fault)
    _fold(port.entry, was.stem, 0.1 if fault == "epsilon" else 1e-5)
    for block, residual in zip(port.body, was.blocks):
        assert isinstance(block, Block) and isinstance(residual, Residual)
        _fold(block.c1, residual.first, 1e-5)
        _fold(block.c2, residual.second, 1e-5)
    taken(port.head.weight, was.fc.weight)
    taken(port.head.bias, was.fc.bias)
    return port


def loss(model: nn.Module) -> torch.Tensor:
    torch.manual_seed(6)
    return F.cross_entropy(model(torch.randn(4, 3, 16, 16)), torch.tensor([0, 3, 1, 2]))


PORT = Port(
    "convolutions",
    original,
    ported,
    loss,
    {
        "epsilon": "entry",
        "leaky": "body.1.c2",
        "no residual": "body.1",
        "largest pooled": "Tensor.amax or head",
    },
    ("float32",),
)
