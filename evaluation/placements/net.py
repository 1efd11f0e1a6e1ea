"""A small residual network over tokens, whole or with parts that programs replace."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from evaluation.placements.run import VOCABULARY

WIDTH, INNER, LAYERS = 32, 48, 2
Change = Callable[[Tensor], Tensor]


class Layer(nn.Module):
    """A norm, a projection up, an activation, one down, added to what came in."""

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up: nn.Module = nn.Linear(WIDTH, INNER)
        self.down: nn.Module = nn.Linear(INNER, WIDTH)
        self.dropout = dropout

    def forward(self, x: Tensor) -> Tensor:
        inner = self.down(functional.gelu(self.up(self.norm(x))))
        if self.dropout:
            inner = functional.dropout(inner, self.dropout, self.training)
        return x + inner


class Net(nn.Module):
    """Tokens to logits."""

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.embedding: nn.Module = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Layer(dropout) for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        self.head: nn.Module = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def net(dtype: torch.dtype, seed: int = 0, dropout: float = 0.0) -> Net:
    """The same weights for every process that gives the same seed; norms and biases trained."""
    torch.manual_seed(seed)
    made = Net(dropout)
    with torch.no_grad():
        for name, parameter in made.named_parameters():
            if "norm" in name or name.endswith("bias"):
                parameter.add_(0.1 * torch.randn_like(parameter))
    return made.to(dtype)


def with_layers(model: Net, wrapped: Callable[[Layer, int], nn.Module]) -> Net:
    """The network with each of its layers as a wrapper makes it, of the layer and its number."""
    layers = [layer for layer in model.layers if isinstance(layer, Layer)]
    model.layers = nn.ModuleList(wrapped(layer, at) for at, layer in enumerate(layers))
    return model


def loss_of(logits: Tensor, labels: Tensor) -> Tensor:
    """The mean over this process's tokens."""
    return functional.cross_entropy(logits.flatten(0, -2).float(), labels.flatten())


def summed_loss_of(logits: Tensor, labels: Tensor) -> Tensor:
    """The sum over this process's tokens."""
    return functional.cross_entropy(
        logits.flatten(0, -2).float(), labels.flatten(), reduction="sum"
    )
