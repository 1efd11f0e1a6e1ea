"""A graph network over a dense matrix of neighbours; its port adds along a list of edges."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from evaluation.ports.port import Port, taken

NODES, WIDTH, LAYERS, CLASSES = 20, 16, 3, 4


def neighbours() -> torch.Tensor:
    """Who is whose neighbour, itself included."""
    torch.manual_seed(4)
    drawn = torch.rand(NODES, NODES) < 0.15
    return (drawn | drawn.T | torch.eye(NODES, dtype=torch.bool)).float()


class Convolution(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor, adjacency: torch.Tensor) -> torch.Tensor:
        degrees = adjacency.sum(1)
        scaled = adjacency / (degrees[:, None] * degrees[None]).sqrt()
        return F.relu(self.linear(scaled @ x))


class Dense(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(Convolution() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        adjacency = neighbours()
        for convolution in self.convolutions:
            x = x + convolution(x, adjacency)
        return self.head(x.mean(0, keepdim=True))


# --- the port -----------------------------------------------------------------------------------


class Messages(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(WIDTH, WIDTH))
        self.bias = nn.Parameter(torch.zeros(WIDTH))
        self.fault = fault

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        target, source = edges
        degrees = torch.zeros(NODES).index_add(0, target, torch.ones(len(target)))
        root = degrees.rsqrt()
        share = root[target] if self.fault == "one degree left out" else root[target] * root[source]
        sent = (x @ self.weight)[source] * share[:, None]
        if self.fault == "largest taken":
            index = target[:, None].expand_as(sent)
            made = torch.zeros_like(x).scatter_reduce(0, index, sent, "amax", include_self=False)
        else:
            made = torch.zeros_like(x).index_add(0, target, sent)
        return torch.relu(made if self.fault == "bias forgotten" else made + self.bias)


class Sparse(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.hops = nn.ModuleList(Messages(fault if n == 1 else None) for n in range(LAYERS))
        self.classify = nn.Linear(WIDTH, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        edges = neighbours().nonzero().T
        for hop in self.hops:
            x = hop(x, edges) + x
        return self.classify(x.sum(0, keepdim=True) / len(x))


def ported(was: nn.Module, fault: str | None) -> nn.Module:
    assert isinstance(was, Dense)
    port = Sparse(fault)
    for hop, convolution in zip(port.hops, was.convolutions):
        assert isinstance(hop, Messages) and isinstance(convolution, Convolution)
        taken(hop.weight, convolution.linear.weight.T)
        taken(hop.bias, convolution.linear.bias)
    taken(port.classify.weight, was.head.weight)
    taken(port.classify.bias, was.head.bias)
    return port


def loss(model: nn.Module) -> torch.Tensor:
    torch.manual_seed(8)
    return F.cross_entropy(model(torch.randn(NODES, WIDTH)), torch.tensor([2]))


PORT = Port(
    "graphs",
    Dense,
    ported,
    loss,
    {
        "one degree left out": "hops.1",
        "largest taken": "hops.1",
        "bias forgotten": "hops.1",
    },
    ("float32",),
)
