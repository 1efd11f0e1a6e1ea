"""A state space model that scans in a loop; its port multiplies by one matrix of decays."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from evaluation.ports.port import Port, taken

WIDTH, STATE, LAYERS, STEPS, CLASSES = 24, 8, 2, 12, 6


class Scan(nn.Module):
    """h(t) = a h(t-1) + B x(t), y(t) = C h(t), with one decay a channel of the state."""

    def __init__(self) -> None:
        super().__init__()
        self.decay = nn.Parameter(torch.linspace(-1.0, 2.0, STATE))
        self.to_state = nn.Linear(WIDTH, STATE, bias=False)
        self.from_state = nn.Linear(STATE, WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a, given = torch.sigmoid(self.decay), self.to_state(x)
        state, states = torch.zeros_like(given[:, 0]), []
        for step in range(x.shape[1]):
            state = a * state + given[:, step]
            states.append(state)
        return self.from_state(torch.stack(states, 1))


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.scan = nn.LayerNorm(WIDTH), Scan()
        self.gate = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.norm(x)
        return x + self.scan(h) * torch.sigmoid(self.gate(h))


class StateSpace(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return self.head(x[:, -1])


# --- the port -----------------------------------------------------------------------------------


class Mixer(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.log_decay = nn.Parameter(torch.zeros(STATE))
        self.b, self.c = nn.Linear(WIDTH, STATE, bias=False), nn.Linear(STATE, WIDTH, bias=False)
        self.fault = fault

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        steps = torch.arange(x.shape[1])
        back = (steps[:, None] - steps[None]).clamp(min=0)
        if self.fault == "decays a step early":
            back = back + 1
        kernel = torch.exp(self.log_decay[:, None, None] * back).tril()
        mixed = torch.einsum("ntu,bun->btn", kernel.to(x.dtype), self.b(x))
        return self.c(mixed)


class GatedLayer(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.ln, self.mixer, self.g = nn.LayerNorm(WIDTH), Mixer(fault), nn.Linear(WIDTH, WIDTH)
        self.fault = fault

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        normed = self.ln(x)
        gate = self.g(x if self.fault == "gate reads the residual" else normed)
        gate = F.silu(gate) if self.fault == "another gate" else 1 / (1 + torch.exp(-gate))
        return torch.addcmul(x, self.mixer(normed), gate)


class ClosedForm(nn.Module):
    def __init__(self, fault: str | None) -> None:
        super().__init__()
        self.stack = nn.Sequential(*(GatedLayer(fault if n == 0 else None) for n in range(LAYERS)))
        self.out = nn.Linear(WIDTH, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.stack(x).select(1, -1))


def ported(was: nn.Module, fault: str | None) -> nn.Module:
    assert isinstance(was, StateSpace)
    port = ClosedForm(fault)
    for new, layer in zip(port.stack, was.layers):
        assert isinstance(new, GatedLayer) and isinstance(layer, Layer)
        taken(new.mixer.log_decay, torch.log(torch.sigmoid(layer.scan.decay)))
        taken(new.mixer.b.weight, layer.scan.to_state.weight)
        taken(new.mixer.c.weight, layer.scan.from_state.weight)
        for one, other in ((new.ln, layer.norm), (new.g, layer.gate)):
            taken(one.weight, other.weight)
            taken(one.bias, other.bias)
    taken(port.out.weight, was.head.weight)
    taken(port.out.bias, was.head.bias)
    return port


def loss(model: nn.Module) -> torch.Tensor:
    torch.manual_seed(8)
    return F.cross_entropy(model(torch.randn(5, STEPS, WIDTH)), torch.tensor([0, 3, 1, 5, 2]))


PORT = Port(
    "recurrent",
    StateSpace,
    ported,
    loss,
    {
        "decays a step early": "stack.0.mixer",
        "gate reads the residual": "stack.0",
        "another gate": "stack.0",
    },
    ("float32",),
)
