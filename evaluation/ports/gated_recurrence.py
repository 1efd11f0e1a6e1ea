"""A recurrent cell of eight weights, run in a loop; its port has one kernel in another gate order.

The port multiplies input and state, side by side, by one weight of [input + state, gates], as other
frameworks do, with one bias that is the sum of two.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from evaluation.ports.port import Port, taken

VOCABULARY, WIDTH, STATE, LENGTH, CLASSES = 50, 20, 28, 9, 6


class Cell(nn.Module):
    """Long short-term memory as torch has it: gates in, forget, cell, out; two biases."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight_ih = nn.Parameter(torch.randn(4 * STATE, width) / width**0.5)
        self.weight_hh = nn.Parameter(torch.randn(4 * STATE, STATE) / STATE**0.5)
        self.bias_ih = nn.Parameter(torch.zeros(4 * STATE))
        self.bias_hh = nn.Parameter(torch.zeros(4 * STATE))

    def forward(
        self, x: torch.Tensor, h: torch.Tensor, c: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        gates = F.linear(x, self.weight_ih, self.bias_ih) + F.linear(
            h, self.weight_hh, self.bias_hh
        )
        i, f, g, o = gates.chunk(4, -1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c


class Layer(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.cell = Cell(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = c = torch.zeros(len(x), STATE, dtype=x.dtype)
        states = []
        for step in range(x.shape[1]):
            h, c = self.cell(x[:, step], h, c)
            states.append(h)
        return torch.stack(states, 1)


class Reader(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList((Layer(WIDTH), Layer(STATE)))
        self.norm, self.head = nn.LayerNorm(STATE), nn.Linear(STATE, CLASSES)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x[:, -1]))


# --- the port -----------------------------------------------------------------------------------


class FusedRecurrence(nn.Module):
    def __init__(self, width: int, fault: str | None) -> None:
        super().__init__()
        self.kernel = nn.Parameter(torch.zeros(width + STATE, 4 * STATE))
        self.bias = nn.Parameter(torch.zeros(4 * STATE))
        self.fault = fault

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state = memory = x.new_zeros(x.shape[0], STATE)
        made = []
        for given in x.unbind(1):
            i, j, f, o = (torch.cat((given, state), 1) @ self.kernel + self.bias).split(STATE, 1)
            if self.fault == "forget gate plus one":
                f = f + 1.0
            new = F.silu(j) if self.fault == "another activation" else j.tanh()
            memory = memory * f.sigmoid() + i.sigmoid() * new
            state = memory.tanh() * o.sigmoid()
            made.append(state)
        return torch.stack(made).transpose(0, 1)


class FusedReader(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.rnn = nn.Sequential(FusedRecurrence(WIDTH, None), FusedRecurrence(STATE, fault))
        self.out = nn.Sequential(nn.LayerNorm(STATE), nn.Linear(STATE, CLASSES))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.out(self.rnn(self.words(tokens)).select(1, -1))


def _reordered(weight: torch.Tensor) -> torch.Tensor:
    """Gates in, forget, cell, out as in, cell, forget, out."""
    i, f, g, o = weight.chunk(4)
    return torch.cat((i, g, f, o))


def ported(was: nn.Module, fault: str | None) -> nn.Module:
    assert isinstance(was, Reader)
    port = FusedReader(fault).to(was.head.weight.dtype)
    for new, layer in zip(port.rnn, was.layers):
        assert isinstance(new, FusedRecurrence) and isinstance(layer, Layer)
        old = layer.cell
        columns = torch.cat((_reordered(old.weight_ih), _reordered(old.weight_hh)), 1)
        taken(new.kernel, columns.T)
        taken(new.bias, _reordered(old.bias_ih.float() + old.bias_hh.float()))
    taken(port.words.weight, was.embed.weight)
    for one, other in zip(port.out, (was.norm, was.head)):
        one.load_state_dict(other.state_dict())
    return port


def loss(model: nn.Module) -> torch.Tensor:
    torch.manual_seed(15)
    tokens = torch.randint(0, VOCABULARY, (5, LENGTH))
    return F.cross_entropy(model(tokens).float(), torch.tensor([0, 2, 5, 1, 3]))


PORT = Port(
    "gated-recurrence",
    Reader,
    ported,
    loss,
    {"forget gate plus one": "rnn.1", "another activation": "rnn.1"},
)
